use taste_choice::Choice;
use taste_stats::rank::Ranked;

use super::{Better, Measure, Metric, Way};

pub(super) const METRIC: Metric = Metric {
    choice: Choice {
        name: "failure",
        usage: "failure",
        about: "failure prediction: AUROC of the score for the samples that the model is wrong about; interval by DeLong",
    },
    better: Better::Larger,
    measure: Measure::Failure(Ranked::auroc, Way::DeLong),
};
