//! The method: score models, Stein residuals, calibration, decisions, the detector file.

mod error;
pub mod score;
pub mod stats;

pub use error::Error;
