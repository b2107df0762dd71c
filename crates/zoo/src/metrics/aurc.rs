use taste_choice::Choice;
use taste_stats::rank::Ranked;

use super::{Better, Measure, Metric, Way};

pub(super) const METRIC: Metric = Metric {
    choice: Choice {
        name: "aurc",
        usage: "aurc",
        about: "mean share of mistakes among the samples with the smallest scores, over all coverages (Geifman and El-Yaniv)",
    },
    better: Better::Smaller,
    measure: Measure::Failure(Ranked::risk_coverage, Way::Bootstrap),
};
