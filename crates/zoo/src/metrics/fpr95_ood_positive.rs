use taste_choice::Choice;
use taste_stats::rank::Convention;

use super::{Better, Measure, Metric, Way};

pub(super) const METRIC: Metric = Metric {
    choice: Choice {
        name: "fpr95-ood-positive",
        usage: "fpr95-ood-positive",
        about: "share of clean samples flagged where 95 % of shifted ones are (OOD positive: OpenOOD 1.5, pytorch-ood)",
    },
    better: Better::Smaller,
    measure: Measure::Separation(
        |r| r.false_positive_rate(0.95, Convention::OutsidePositive),
        Way::Bootstrap,
    ),
};
