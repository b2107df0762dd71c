use taste_choice::Choice;
use taste_stats::rank::PixelMetric;

use super::{Better, Measure, Metric};

pub(super) const METRIC: Metric = Metric {
    choice: Choice {
        name: "pixel-ap",
        usage: "pixel-ap",
        about: "of maps: average precision of the pixels of all images together; interval over images",
    },
    better: Better::Larger,
    measure: Measure::Pixels(PixelMetric::AveragePrecision(1.0)),
};

pub(super) const UP_TO_30: Metric = Metric {
    choice: Choice {
        name: "pixel-ap-30",
        usage: "pixel-ap-30",
        about: "the same up to a share of 0.3 of wrongly found pixels, divided by 0.3 (the code of the TASTE paper): it can exceed 1",
    },
    better: Better::Larger,
    measure: Measure::Pixels(PixelMetric::AveragePrecision(0.3)),
};
