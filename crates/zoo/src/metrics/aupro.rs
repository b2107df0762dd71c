use taste_choice::Choice;
use taste_stats::rank::PixelMetric;

use super::{Better, Measure, Metric};

pub(super) const METRIC: Metric = Metric {
    choice: Choice {
        name: "aupro",
        usage: "aupro",
        about: "of maps: mean share of a marked region that is found, up to a share of 0.3 of wrongly found pixels, divided by 0.3 (Bergmann et al. 2021); regions touch at corners",
    },
    better: Better::Larger,
    measure: Measure::Pixels(PixelMetric::RegionOverlap(0.3)),
};
