//! One file and one line in [`DETECTORS`] each; see `docs/adding-a-detector.md`.

use taste_detector::Family;

taste_choice::table! {
    /// Every detector of this crate.
    pub DETECTORS: [&dyn Family] = {
        msp::FAMILY,
        knn::FAMILY,
    }
}
