//! What can't be computed, and why.

/// A number that lies outside of what a statistic is defined for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

pub(crate) fn refused(message: impl Into<String>) -> Error {
    Error(message.into())
}
