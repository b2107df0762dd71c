//! What a metric is.

use serde::Serialize;
use taste_choice::{Choice, Entry};
use taste_stats::{
    binomial,
    interval::Interval,
    rank::{Draw, PixelMetric, Pixels, Ranked, spearman_interval},
};

use super::METRICS;

/// How sure intervals are.
const LEVEL: f64 = 0.95;
/// Draws of the bootstrap.
const RESAMPLES: usize = 999;
/// Draws of the bootstrap over images, each of which goes through all pixels.
const PIXEL_RESAMPLES: usize = 199;
/// The seed of every draw: metrics of the same samples are the same numbers.
const SEED: u64 = 0;

/// A number that says how good a detector is.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// What users read of it.
    pub choice: Choice,
    /// Which values are good.
    pub better: Better,
    /// What it is a function of.
    pub measure: Measure,
}

/// Which values of a metric are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Large ones.
    Larger,
    /// Small ones.
    Smaller,
    /// Those that were asked for: the share of clean samples that are flagged is good at α.
    AsAsked,
}

/// What a metric is a function of.
#[derive(Clone, Copy, Debug)]
pub enum Measure {
    /// Scores of clean samples (negative) and of shifted ones (positive).
    Separation(fn(&Ranked) -> Option<f64>, Way),
    /// Scores of samples that the model is right about (negative) and wrong about (positive).
    Failure(fn(&Ranked) -> Option<f64>, Way),
    /// The share of samples of which something holds; the interval is that of Clopper and Pearson.
    Share,
    /// Pairs of numbers, one for every set: their rank correlation.
    Correlation,
    /// Scores of the pixels of images, some of them marked; the interval is over images.
    Pixels(PixelMetric),
}

/// Where an interval comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The formula of DeLong, DeLong and Clarke-Pearson, for areas under the ROC curve.
    DeLong,
    /// Samples that are drawn again, 999 times; percentiles.
    Bootstrap,
}

/// A value and its interval at 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The value.
    pub value: f64,
    /// The lower end, if there are samples enough for an interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

impl Entry for Metric {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl Metric {
    /// The value for ranked samples; none where it is not defined, or for a metric of something else.
    pub fn value(&self, ranked: &Ranked) -> Option<f64> {
        match self.measure {
            Measure::Separation(of, _) | Measure::Failure(of, _) => of(ranked),
            Measure::Share | Measure::Correlation | Measure::Pixels(_) => None,
        }
    }

    /// The value for ranked samples with its interval.
    pub fn measure(&self, ranked: &Ranked) -> Option<Measured> {
        let value = self.value(ranked)?;
        let interval = match self.measure {
            Measure::Separation(_, Way::DeLong) | Measure::Failure(_, Way::DeLong) => {
                ranked.auroc_interval(LEVEL)
            }
            Measure::Separation(of, Way::Bootstrap) => {
                ranked.bootstrap(Draw::Apart, LEVEL, RESAMPLES, SEED, of)
            }
            Measure::Failure(of, Way::Bootstrap) => {
                ranked.bootstrap(Draw::Together, LEVEL, RESAMPLES, SEED, of)
            }
            Measure::Share | Measure::Correlation | Measure::Pixels(_) => return None,
        };
        Some(Measured::new(value, interval.ok()))
    }

    /// The value for maps of scores with its interval; none without pixels that are marked and others, or for a metric of
    /// something else.
    pub fn measure_pixels(&self, pixels: &Pixels) -> Option<Measured> {
        let Measure::Pixels(metric) = self.measure else { return None };
        let value = match metric {
            PixelMetric::Auroc(limit) => pixels.auroc(limit),
            PixelMetric::AveragePrecision(limit) => pixels.average_precision(limit),
            PixelMetric::RegionOverlap(limit) => pixels.region_overlap(limit),
        };
        let interval = pixels.interval(metric, LEVEL, PIXEL_RESAMPLES, SEED);
        Some(Measured::new(value?, interval.ok()))
    }
}

impl Measured {
    fn new(value: f64, interval: Option<Interval>) -> Self {
        Self { value, low: interval.map(|i| i.low), high: interval.map(|i| i.high) }
    }
}

/// The metric of a name.
pub fn metric(name: &str) -> Result<&'static Metric, taste_choice::Error> {
    taste_choice::pick("metric", METRICS, name).map(|(metric, _)| metric)
}

/// A share of samples, if there are any.
pub fn share(holds: usize, of: usize) -> Option<Measured> {
    let interval = binomial::clopper_pearson(holds as u64, of as u64, LEVEL).ok()?;
    Some(Measured::new(interval.estimate, Some(interval)))
}

/// The rank correlation of pairs, if both sides vary.
pub fn correlation(a: &[f64], b: &[f64]) -> Option<Measured> {
    let value = taste_stats::rank::spearman(a, b)?;
    Some(Measured::new(value, spearman_interval(a, b, LEVEL, RESAMPLES, SEED).ok()))
}
