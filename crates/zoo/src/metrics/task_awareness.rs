use taste_choice::Choice;

use super::{Better, Measure, Metric};

pub(super) const METRIC: Metric = Metric {
    choice: Choice {
        name: "task-awareness",
        usage: "task-awareness",
        about: "rank correlation over shifted sets of AUROC with the accuracy that is lost; interval over sets",
    },
    better: Better::Larger,
    measure: Measure::Correlation,
};
