//! Numbers that say how good a detector is, each with an interval at 95 %. One file and one line in [`METRICS`] each.

mod measure;

pub use measure::{Better, Measure, Measured, Metric, Way, correlation, metric, share};

taste_choice::table! {
    /// Every metric.
    pub METRICS: [Metric] = {
        auroc::METRIC,
        aupr::METRIC,
        aupr_id::METRIC,
        fpr95::METRIC,
        fpr95_ood_positive::METRIC,
        tpr_at_fpr1::METRIC,
        tpr_at_fpr5::METRIC,
        flagged::METRIC,
        accuracy::METRIC,
        failure::METRIC,
        aurc::METRIC,
        augrc::METRIC,
        task_awareness::METRIC,
        pixel_auroc::METRIC | UP_TO_30,
        pixel_ap::METRIC | UP_TO_30,
        aupro::METRIC,
    }
}

#[cfg(test)]
mod tests;
