use taste_choice::Choice;

use super::{Better, Measure, Metric};

pub(super) const METRIC: Metric = Metric {
    choice: Choice {
        name: "accuracy",
        usage: "accuracy",
        about: "share of samples that the model is right about; interval by Clopper and Pearson",
    },
    better: Better::Larger,
    measure: Measure::Share,
};
