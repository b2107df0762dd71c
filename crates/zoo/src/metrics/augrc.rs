use taste_choice::Choice;
use taste_stats::rank::Ranked;

use super::{Better, Measure, Metric, Way};

pub(super) const METRIC: Metric = Metric {
    choice: Choice {
        name: "augrc",
        usage: "augrc",
        about: "mean chance of a mistake that is not noticed, over all coverages (Traub et al.)",
    },
    better: Better::Smaller,
    measure: Measure::Failure(Ranked::generalised_risk_coverage, Way::Bootstrap),
};
