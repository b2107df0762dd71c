use taste_choice::Choice;
use taste_stats::rank::Ranked;

use super::{Better, Measure, Metric, Way};

pub(super) const METRIC: Metric = Metric {
    choice: Choice {
        name: "auroc",
        usage: "auroc",
        about: "the chance that a shifted sample scores higher than a clean one, ties counted half; interval by DeLong",
    },
    better: Better::Larger,
    measure: Measure::Separation(Ranked::auroc, Way::DeLong),
};
