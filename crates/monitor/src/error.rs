//! What can go wrong.

/// Why a stream can't be watched.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Too few calibration scores.
    #[error("a stream is held against at least {least} calibration scores, but there are {found}")]
    TooFew {
        /// How many there are.
        found: usize,
        /// How many are needed.
        least: usize,
    },
    /// A setting out of its range.
    #[error("the {name} must be {wanted}, but is {found}")]
    Setting {
        /// What it is called.
        name: &'static str,
        /// What it may be.
        wanted: &'static str,
        /// What was given.
        found: f64,
    },
}
