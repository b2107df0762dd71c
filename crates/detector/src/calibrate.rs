//! Scores of samples that nothing was learnt from.

use taste_graph::{Build, OpError};
use taste_ops::functions;
use taste_stats::{
    conformal::{Calibration, Rule},
    quantile::Quantile,
};

use crate::{
    Error, Goal, MapFacts, MapReference, Margins, Reference, Settings, Statistic, channel_axis,
    decision::as_columns,
    error::unfit,
    passes::{Gather, Gathered, Watch},
};

/// Numbers that are kept of calibration samples, as a reference for batches and for the scale of maps.
const KEPT: usize = 400_000;

/// Scores on different engines agree to this share of themselves, or of their spread where that is less. Calibration scores
/// are taken as that much larger, so that samples that are alike, as all are where a softmax is saturated, are alike for all
/// engines.
const TOLERANCE: f32 = 1e-4;
/// What single precision leaves of a score that hardly varies.
const LEAST_TOLERANCE: f32 = 5e-7;

/// Values that are kept of every column of a table, and the most columns that a table may have for that.
const KEPT_OF_COLUMN: usize = 2000;
const MOST_COLUMNS: usize = 2048;

const SCORE: &str = "score";
const NOVELTY: &str = "novelty";
const COLUMNS: &str = "columns";
const REFERENCE: &str = "reference";
const LARGEST: &str = "largest entry of the map";
const SIZES: &str = "sizes of the map";

/// What the calibration pass gave.
pub(crate) struct Calibrated {
    /// Larger by the tolerance; NaN where there is none.
    pub(crate) scores: Vec<f32>,
    /// The share of themselves that scores are taken as larger.
    pub(crate) tolerance: f32,
    /// Those of the novelty, likewise.
    pub(crate) novelty: Option<Vec<f32>>,
    /// Samples whose score is no number.
    pub(crate) not_finite: usize,
    pub(crate) reference: Reference,
    pub(crate) margins: Option<Margins>,
    /// With what colour scales end at, and whether large entries alone are unusual.
    pub(crate) maps: Option<(MapReference, f64, bool)>,
}

/// The thresholds of score and novelty; none for what does not flag.
pub(crate) type Thresholds = (Option<f64>, Option<f64>);

/// The thresholds that calibration scores give.
pub(crate) fn thresholds(
    scores: &[f32],
    novelty: Option<&[f32]>,
    goal: Goal,
    alpha: f64,
    rule: Rule,
) -> Result<Thresholds, Error> {
    let of = |scores: &[f32], alpha: f64| {
        let scores = Calibration::new(scores.iter().map(|&s| f64::from(s)));
        Ok::<_, Error>(scores.threshold(alpha, rule)?)
    };
    let (harm, new) = goal.shares(alpha);
    let novelty = match (new, novelty) {
        (None, _) => None,
        (Some(alpha), Some(scores)) => Some(of(scores, alpha)?),
        (Some(_), None) => {
            let message = "this method tells no novelty, so nothing can be flagged for that";
            return Err(unfit("goal", message.to_owned()));
        }
    };
    Ok((harm.map(|alpha| of(scores, alpha)).transpose()?, novelty))
}

/// What the calibration pass gathers.
pub(crate) fn watches(
    b: &mut Build<'_>,
    statistic: &Statistic,
    sample_shape: &[usize],
    settings: &Settings,
) -> Result<Vec<Watch>, OpError> {
    let seed = settings.seed;
    let all = Gather::Rows { most: usize::MAX, seed, whole: true };
    let mut columns = Vec::new();
    for id in statistic.parts.iter().map(|p| p.id).chain([statistic.score]).chain(statistic.novelty)
    {
        columns.push(as_columns(b, id)?);
    }
    let row = functions::concat(b, &columns, 1)?;
    let width = b.fact(row).shape[1].at(1);
    let mut watches = vec![
        Watch::value(SCORE, statistic.score, all),
        Watch::value(REFERENCE, row, Gather::rows(KEPT, width, seed)),
    ];
    watches.extend(statistic.novelty.map(|id| Watch::value(NOVELTY, id, all)));
    if let [columns @ 1..=MOST_COLUMNS] = *sample_shape
        && settings.may_keep_rows
    {
        let most = (KEPT / columns).min(KEPT_OF_COLUMN);
        watches.push(Watch::sample(COLUMNS, Gather::Rows { most, seed, whole: true }));
    }
    if let Some(map) = &statistic.map {
        let summed = match channel_axis(sample_shape) {
            Some(axis) => b.sum(map.id, &[axis + 1])?,
            None => map.id,
        };
        let sizes = if map.one_sided { summed } else { functions::abs(b, summed)? };
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

/// The share of themselves that scores are taken as larger: less where they lie far from zero and close together.
fn tolerance(scores: impl Iterator<Item = f32>) -> f32 {
    let finite: Vec<f64> = scores.filter(|s| s.is_finite()).map(f64::from).collect();
    let at = |p: f64| Quantile::Linear.of(&finite, p).unwrap_or(0.0);
    let (spread, size) = (at(0.95) - at(0.05), at(0.5).abs());
    if spread <= 0.0 || spread >= size {
        return TOLERANCE;
    }
    #[expect(clippy::cast_possible_truncation, reason = "a share")]
    let share = (spread / size) as f32;
    (TOLERANCE * share).max(LEAST_TOLERANCE)
}

impl Calibrated {
    /// What a pass with [`watches`] gave.
    pub(crate) fn of(statistic: &Statistic, seen: &Gathered) -> Result<Self, Error> {
        let numbers = |name: &str, tolerance: f32| -> Result<Vec<f32>, Error> {
            let larger = |s: &f32| if s.is_finite() { s + tolerance * s.abs() } else { f32::NAN };
            Ok(seen.rows(name)?.values.iter().map(larger).collect())
        };
        let tolerance = tolerance(seen.rows(SCORE)?.values.iter().copied());
        let scores = numbers(SCORE, tolerance)?;
        let novelty = statistic.novelty.map(|_| numbers(NOVELTY, tolerance)).transpose()?;
        let not_finite = scores.iter().filter(|s| s.is_nan()).count();
        let reference = Reference { rows: seen.rows(REFERENCE)?.values.clone() };
        let margins = seen.rows(COLUMNS).ok().map(|drawn| Margins::of(&drawn.values));
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
                let (means, deviations) = (map.means.clone(), map.deviations.clone());
                let reference = MapReference { means, deviations, largest };
                Some((reference, scale, map.one_sided))
            }
        };
        Ok(Self { scores, tolerance, novelty, not_finite, reference, margins, maps })
    }

    /// The thresholds of score and novelty; none for what does not flag.
    pub(crate) fn thresholds(&self, settings: &Settings) -> Result<Thresholds, Error> {
        thresholds(
            &self.scores,
            self.novelty.as_deref(),
            settings.goal,
            settings.alpha,
            settings.rule,
        )
    }

    /// What maps were like.
    pub(crate) fn map_facts(&self, settings: &Settings) -> Result<Option<MapFacts>, Error> {
        let Some((maps, scale, one_sided)) = &self.maps else { return Ok(None) };
        let largest = Calibration::new(maps.largest.iter().map(|&s| f64::from(s)));
        let threshold = largest.threshold(settings.alpha, settings.rule)?;
        Ok(Some(MapFacts {
            threshold,
            alpha: settings.alpha,
            scale: *scale,
            one_sided: *one_sided,
        }))
    }
}
