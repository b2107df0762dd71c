//! One file and one line in [`DETECTORS`] each; see `docs/adding-a-detector.md`.

mod gaussians;
mod of_logits;
mod shaped;
mod shared;

use taste_detector::Family;

taste_choice::table! {
    /// Every detector of this crate.
    pub DETECTORS: [&dyn Family] = {
        msp::FAMILY,
        max_logit::FAMILY,
        energy::FAMILY,
        entropy::FAMILY,
        gen_entropy::FAMILY,
        kl_matching::FAMILY,
        odin::FAMILY,
        mahalanobis::FAMILY,
        mahalanobis_odin::FAMILY,
        relative_mahalanobis::FAMILY,
        gmm::FAMILY,
        knn::FAMILY,
        nnguide::FAMILY,
        vim::FAMILY,
        react::FAMILY,
        ash::FAMILY,
        scale::FAMILY,
        she::FAMILY,
        dice::FAMILY,
        fdbd::FAMILY,
        gradnorm::FAMILY,
        gsc::FAMILY,
    }
}
