//! Numbers about the service, in the text format of Prometheus: base units, counters that end in `_total`, histograms whose
//! buckets are few.

mod exposition;
mod process;

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use taste_detector::{Detector, Scores};

pub(crate) use exposition::{Exposition, Kind};
pub(crate) use process::{process, resident};

use crate::refusal::Outcome;

/// A number that grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often values were at most each of some bounds.
#[derive(Debug)]
pub(crate) struct Histogram {
    bounds: Vec<f64>,
    inner: Mutex<Observed>,
}

#[derive(Debug, Clone)]
struct Observed {
    /// One more than there are bounds: the last is beyond all.
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    pub(crate) fn new(bounds: Vec<f64>) -> Self {
        let counts = vec![0; bounds.len() + 1];
        Self { bounds, inner: Mutex::new(Observed { counts, sum: 0.0 }) }
    }

    /// For durations from a tenth of a millisecond to half a minute.
    pub(crate) fn seconds() -> Self {
        Self::new(vec![0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
    }

    /// What is no number counts as beyond all bounds, and not for the sum.
    pub(crate) fn observe(&self, value: f64) {
        self.observe_all([value]);
    }

    pub(crate) fn observe_all(&self, values: impl IntoIterator<Item = f64>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        for value in values {
            let at = self.bounds.partition_point(|bound| value > *bound || value.is_nan());
            inner.counts[at] += 1;
            inner.sum += if value.is_finite() { value } else { 0.0 };
        }
    }

    /// Bounds with how many values are at most that, how many there are, and their sum.
    pub(crate) fn read(&self) -> (Vec<(f64, u64)>, u64, f64) {
        let Observed { counts, sum } =
            self.inner.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut total = 0;
        let below = self.bounds.iter().zip(&counts).map(|(bound, count)| {
            total += count;
            (*bound, total)
        });
        let below: Vec<(f64, u64)> = below.collect();
        (below, counts.iter().sum(), sum)
    }

    /// The value that a share of all lies below, as far as the buckets tell.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        let (below, total, _) = self.read();
        let wanted = share * total as f64;
        let (mut low, mut under) = (0.0, 0.0);
        for (bound, count) in below {
            let count = count as f64;
            if count >= wanted && count > under {
                return Some(low + (bound - low) * (wanted - under) / (count - under));
            }
            (low, under) = (bound, count);
        }
        (total > 0).then_some(low)
    }
}

/// Shares of the calibration scores that lie at most at the bounds of the buckets of scores.
pub(crate) const SCORE_SHARES: [f64; 6] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999];

/// Numbers about one detector.
#[derive(Debug)]
pub(crate) struct DetectorMetrics {
    requests: [Counter; Outcome::ALL.len()],
    pub(crate) request_seconds: Histogram,
    pub(crate) queue_seconds: Histogram,
    pub(crate) scoring_seconds: Histogram,
    pub(crate) batch_samples: Histogram,
    pub(crate) samples: Counter,
    pub(crate) flagged: Counter,
    pub(crate) without_score: Counter,
    /// Samples whose client went away, or whose deadline passed, before they were scored.
    pub(crate) dropped: Counter,
    pub(crate) scores: Histogram,
}

impl DetectorMetrics {
    pub(crate) fn new(detector: &Detector) -> Self {
        Self {
            requests: Default::default(),
            request_seconds: Histogram::seconds(),
            queue_seconds: Histogram::seconds(),
            scoring_seconds: Histogram::seconds(),
            batch_samples: Histogram::new((0..=10).map(|k| f64::from(1 << k)).collect()),
            samples: Counter::default(),
            flagged: Counter::default(),
            without_score: Counter::default(),
            dropped: Counter::default(),
            scores: Histogram::new(score_bounds(detector.calibration())),
        }
    }

    pub(crate) fn request(&self, outcome: Outcome) -> &Counter {
        &self.requests[outcome as usize]
    }

    pub(crate) fn count(&self, scores: &Scores) {
        self.samples.add(scores.len() as u64);
        self.flagged.add(scores.flag.iter().filter(|flag| **flag).count() as u64);
        let none = scores.score.iter().filter(|score| !score.is_finite()).count();
        self.without_score.add(none as u64);
        self.scores.observe_all(scores.score.iter().map(|&score| f64::from(score)));
    }
}

/// The calibration scores that shares of all lie at most at: without a shift, as many new scores do.
fn score_bounds(calibration: &[f32]) -> Vec<f64> {
    let finite: Vec<f64> =
        calibration.iter().filter(|s| s.is_finite()).map(|&s| f64::from(s)).collect();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
    let at = |share: f64| {
        let place = (share * finite.len() as f64).ceil() as usize;
        finite.get(place.saturating_sub(1).min(finite.len().saturating_sub(1))).copied()
    };
    let mut bounds: Vec<f64> = SCORE_SHARES.iter().filter_map(|share| at(*share)).collect();
    bounds.dedup();
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_at_a_bound_are_at_most_that() {
        let histogram = Histogram::new(vec![1.0, 2.0]);
        histogram.observe_all([0.5, 1.0, 1.5, 2.5, f64::NAN, f64::INFINITY]);
        let (below, count, sum) = histogram.read();
        assert_eq!(below, [(1.0, 2), (2.0, 3)]);
        assert_eq!((count, sum.to_bits()), (6, 5.5f64.to_bits()));
    }

    #[test]
    fn quantiles_lie_within_their_bucket() {
        let histogram = Histogram::new(vec![1.0, 2.0, 4.0]);
        assert_eq!(histogram.quantile(0.5), None);
        histogram.observe_all((0..100).map(|i| f64::from(i) / 25.0));
        let half = histogram.quantile(0.5).expect("there are some");
        assert!((half - 2.0).abs() < 0.1, "{half}");
    }

    #[test]
    fn buckets_of_scores_hold_the_share_that_they_say() {
        let calibration: Vec<f32> = (1..=1000u16).map(f32::from).collect();
        assert_eq!(score_bounds(&calibration), [500.0, 750.0, 900.0, 950.0, 990.0, 999.0]);
        assert!(score_bounds(&[]).is_empty());
    }
}
