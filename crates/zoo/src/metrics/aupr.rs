use taste_choice::Choice;
use taste_stats::rank::Ranked;

use super::{Better, Measure, Metric, Way};

pub(super) const METRIC: Metric = Metric {
    choice: Choice {
        name: "aupr",
        usage: "aupr",
        about: "area under precision and recall, shifted samples positive: average precision, the steps of scikit-learn and not the trapezoids of pytorch-ood",
    },
    better: Better::Larger,
    measure: Measure::Separation(Ranked::average_precision, Way::Bootstrap),
};
