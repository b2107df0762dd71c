use taste_choice::Choice;

use super::{Better, Measure, Metric};

pub(super) const METRIC: Metric = Metric {
    choice: Choice {
        name: "flagged",
        usage: "flagged",
        about: "share of samples that the detector flags at its alpha; interval by Clopper and Pearson",
    },
    better: Better::AsAsked,
    measure: Measure::Share,
};
