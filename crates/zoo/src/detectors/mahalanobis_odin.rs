//! The Mahalanobis distance of a sample that was moved toward the mean of its class (Lee, Lee, Lee and Shin 2018), as
//! ODIN moves samples.

use taste_choice::Choice;
use taste_detector::Family;

use super::mahalanobis::Mahalanobis;

pub(super) const FAMILY: &dyn Family = &Mahalanobis { choice: &CHOICE, eps: 0.002, unit: false };

const CHOICE: Choice = Choice {
    name: "mahalanobis-odin",
    usage: "mahalanobis-odin[:eps=0.002][,unit]",
    about: "the Mahalanobis distance after a step of eps in every entry toward the mean of the nearest class",
};
