//! One file and one line in [`DETECTORS`] each; see `docs/adding-a-detector.md`.

mod knn;
mod msp;

use taste_detector::Family;

/// Every detector of this crate.
pub const DETECTORS: &[&dyn Family] = &[&msp::FAMILY, &knn::FAMILY];
