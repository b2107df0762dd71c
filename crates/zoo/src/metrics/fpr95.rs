use taste_choice::Choice;
use taste_stats::rank::Convention;

use super::{Better, Measure, Metric, Way};

pub(super) const METRIC: Metric = Metric {
    choice: Choice {
        name: "fpr95",
        usage: "fpr95",
        about: "share of shifted samples accepted where 95 % of clean ones are (ID positive: ODIN, OpenOOD 1.0, the TASTE paper)",
    },
    better: Better::Smaller,
    measure: Measure::Separation(
        |r| r.false_positive_rate(0.95, Convention::InsidePositive),
        Way::Bootstrap,
    ),
};
