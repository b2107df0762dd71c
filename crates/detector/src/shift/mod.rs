//! Whether batches differ from the calibration data in a way that matters to the model.
//!
//! A [`Batch`] gathers the scores of samples and compares them with the calibration samples that the detector keeps; a
//! [`Session`] tests many batches and corrects for their number.

mod batch;
mod session;

pub use batch::{Batch, Entry, Quantity, Shift};
pub use session::{Session, TestSettings, Tested};
