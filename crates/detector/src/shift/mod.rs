//! Whether batches differ from the calibration data in a way that matters to the model.
//!
//! A [`Batch`] gathers samples and their scores and compares them with the calibration samples that the detector keeps; a
//! [`Session`] tests many batches and corrects for their number. One number decides, for every method: the mean
//! evidence of the score ([`taste_stats::evidence`]). What else is computed is information and decides nothing.

mod batch;
mod by;
mod columns;
mod entries;
mod flagged;
mod information;
mod reasons;
mod session;
mod verdict;

pub use batch::{Batch, Shift};
pub use by::{By, DatePart};
pub use columns::{MovedColumn, StuckColumn};
pub use entries::{Entries, EntriesOf, Entry};
pub use information::{Information, Kind, Quantity};
pub use reasons::Reason;
pub use session::{Session, TestSettings, Tested, Tests, TooSmall};
pub use verdict::{Note, Size, Verdict};
