use taste_choice::Choice;

use super::{Better, Measure, Metric, Way};

pub(super) const METRIC: Metric = Metric {
    choice: Choice {
        name: "tpr-at-fpr1",
        usage: "tpr-at-fpr1",
        about: "share of shifted samples flagged where 1 % of clean ones are, without interpolation",
    },
    better: Better::Larger,
    measure: Measure::Separation(|r| r.true_positive_rate(0.01), Way::Bootstrap),
};
