//! The detectors of the field, as methods: each comes out as the same kind of file as TASTE does, calibrated, with p-values
//! and tests. Defaults are those of pytorch-ood 0.4.0. Larger scores are further out, for every method. And what says how
//! good a detector is: metrics, evaluations on data with a known shift, and attacks and corruptions that make such data.

pub mod attacks;
pub mod benchmark;
pub mod corruptions;
pub mod detectors;
pub mod evaluation;
pub mod metrics;

pub use attacks::ATTACKS;
pub use corruptions::CORRUPTIONS;
pub use detectors::DETECTORS;
pub use metrics::METRICS;
