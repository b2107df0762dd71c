//! What paths answer.

pub(crate) mod infer;
pub(crate) mod metadata;
pub(crate) mod metrics;
pub(crate) mod monitors;
pub(crate) mod score;
