//! How far the work is, and whether it goes on.

use std::ops::ControlFlow;

use crate::Error;

/// How far a part of the work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage<'a> {
    /// What is counted: `calibration samples`.
    pub purpose: &'a str,
    /// How many are done.
    pub done: usize,
    /// Of how many, if that is known.
    pub total: Option<usize>,
}

/// Hears how far the work is, and may stop it.
pub type Progress<'a> = dyn Fn(Stage<'_>) -> ControlFlow<()> + Send + Sync + 'a;

/// Tells how far the work is; an error if it is to stop.
pub(crate) fn report(progress: &Progress<'_>, stage: Stage<'_>) -> Result<(), Error> {
    match progress(stage) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    }
}
