//! Scores of samples that nothing was learnt from.

use taste_graph::{Build, OpError};
use taste_ops::functions;
use taste_stats::{conformal::Calibration, quantile::Quantile};

use crate::{
    Error, MapFacts, MapReference, Reference, Settings, Statistic, channel_axis,
    decision::as_columns,
    passes::{Gather, Gathered, Watch},
};

/// Numbers that are kept of calibration samples, as a reference for batches and for the scale of maps.
const KEPT: usize = 400_000;

/// Scores on different engines agree to this share of themselves. Calibration scores are taken as that much larger, so that
/// samples that are alike, as all are where a softmax is saturated, are alike for all engines.
pub(crate) const TOLERANCE: f32 = 1e-4;

const SCORE: &str = "score";
const REFERENCE: &str = "reference";
const LARGEST: &str = "largest entry of the map";
const SIZES: &str = "sizes of the map";

/// What the calibration pass gave.
pub(crate) struct Calibrated {
    /// Larger by [`TOLERANCE`]; NaN where there is none.
    pub(crate) scores: Vec<f32>,
    /// Samples whose score is no number.
    pub(crate) not_finite: usize,
    pub(crate) reference: Reference,
    pub(crate) maps: Option<(MapReference, f64)>,
}

/// What the calibration pass gathers.
pub(crate) fn watches(
    b: &mut Build<'_>,
    statistic: &Statistic,
    sample_shape: &[usize],
    seed: u64,
) -> Result<Vec<Watch>, OpError> {
    let all = Gather::Rows { most: usize::MAX, seed, whole: true };
    let mut columns = Vec::new();
    for id in statistic.parts.iter().map(|p| p.id).chain([statistic.score]) {
        columns.push(as_columns(b, id)?);
    }
    let row = functions::concat(b, &columns, 1)?;
    let width = b.fact(row).shape[1].at(1);
    let mut watches = vec![
        Watch::value(SCORE, statistic.score, all),
        Watch::value(REFERENCE, row, Gather::rows(KEPT, width, seed)),
    ];
    if let Some(map) = &statistic.map {
        let summed = match channel_axis(sample_shape) {
            Some(axis) => b.sum(map.id, &[axis + 1])?,
            None => map.id,
        };
        let sizes = functions::abs(b, summed)?;
        let sizes = as_columns(b, sizes)?;
        let first = functions::first_max(b, sizes, 1)?;
        let picked = b.mul(sizes, first)?;
        let largest = b.sum(picked, &[1])?;
        let entries = b.fact(sizes).shape[1].at(1);
        watches.push(Watch::value(LARGEST, largest, all));
        watches.push(Watch::value(SIZES, sizes, Gather::rows(KEPT, entries, seed)));
    }
    Ok(watches)
}

impl Calibrated {
    /// What a pass with [`watches`] gave.
    pub(crate) fn of(statistic: &Statistic, seen: &Gathered) -> Result<Self, Error> {
        let raw = seen.rows(SCORE)?.values.iter().copied();
        let larger = |s: f32| if s.is_finite() { s + TOLERANCE * s.abs() } else { f32::NAN };
        let scores: Vec<f32> = raw.map(larger).collect();
        let not_finite = scores.iter().filter(|s| s.is_nan()).count();
        let reference = Reference { rows: seen.rows(REFERENCE)?.values.clone() };
        let maps = match &statistic.map {
            None => None,
            Some(map) => {
                let number = |v: f32| if v.is_finite() { v } else { f32::MAX };
                let mut largest: Vec<f32> =
                    seen.rows(LARGEST)?.values.iter().map(|&v| number(v)).collect();
                largest.sort_by(f32::total_cmp);
                let sizes: Vec<f64> =
                    seen.rows(SIZES)?.values.iter().map(|&v| f64::from(v)).collect();
                let scale = Quantile::Linear.of(&sizes, 0.999).unwrap_or(0.0);
                Some((MapReference { deviations: map.deviations.clone(), largest }, scale))
            }
        };
        Ok(Self { scores, not_finite, reference, maps })
    }

    /// The threshold of the score.
    pub(crate) fn threshold(&self, settings: &Settings) -> Result<f64, Error> {
        let scores = Calibration::new(self.scores.iter().map(|&s| f64::from(s)));
        Ok(scores.threshold(settings.alpha, settings.rule)?)
    }

    /// What maps were like.
    pub(crate) fn map_facts(&self, settings: &Settings) -> Result<Option<MapFacts>, Error> {
        let Some((maps, scale)) = &self.maps else { return Ok(None) };
        let largest = Calibration::new(maps.largest.iter().map(|&s| f64::from(s)));
        let threshold = largest.threshold(settings.alpha, settings.rule)?;
        Ok(Some(MapFacts { threshold, alpha: settings.alpha, scale: *scale }))
    }
}
