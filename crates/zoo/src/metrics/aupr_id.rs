use taste_choice::Choice;

use super::{Better, Measure, Metric, Way};

pub(super) const METRIC: Metric = Metric {
    choice: Choice {
        name: "aupr-id",
        usage: "aupr-id",
        about: "the same with clean samples positive",
    },
    better: Better::Larger,
    measure: Measure::Separation(|r| r.reversed().average_precision(), Way::Bootstrap),
};
