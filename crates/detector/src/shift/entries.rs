//! Where in a sample the parts of the map moved.

use serde::Serialize;
use taste_stats::moments::Moments;

use crate::{Detector, Role};

/// The means of the parts of the map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entries {
    /// What the parts add up to.
    pub of: EntriesOf,
    /// Every entry of a sample, those first whose effect is largest beyond doubt.
    pub list: Vec<Entry>,
    /// What is left of the effect of the batch, where entries add to that: what the map does not tell.
    pub rest: Option<f64>,
}

/// What the parts of a map add up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntriesOf {
    /// The terms of the score.
    Evidence,
    /// A residual, which the score is made from in other ways.
    Residual,
    /// Something else.
    Other,
}

/// An entry of a sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Its place, counted from 0 along the flattened sample.
    pub index: usize,
    /// Its place by axis.
    pub position: Vec<usize>,
    /// The name of its column, for tables.
    pub name: Option<String>,
    /// The mean of its part of the map, less that of calibration samples.
    pub mean: f64,
    /// What it adds to the effect of the batch, where the map adds up to the score; else the mean in standard deviations of
    /// calibration samples.
    pub effect: f64,
    /// The mean in standard errors.
    pub statistic: f64,
}

/// From the moments of the maps of a batch; `added` is what a unit of the score adds to the effect, and that effect.
pub(super) fn entries(
    detector: &Detector,
    moments: &Moments,
    added: Option<(f64, f64)>,
) -> Option<Entries> {
    let maps = detector.maps()?;
    let manifest = detector.manifest();
    let means = moments.mean()?;
    let errors = moments.standard_error().unwrap_or_else(|| vec![f64::INFINITY; means.len()]);
    let held_out = (manifest.data.tails.max(1) as f64).sqrt();
    let columns = manifest.data.columns.as_ref();
    let has = |role: Role| manifest.parts.iter().any(|p| p.role == role);
    let of = match added {
        Some(_) if has(Role::Evidence) => EntriesOf::Evidence,
        // Without an effect there is nothing that entries could add to.
        None if has(Role::Evidence) => return None,
        _ if has(Role::Residual) => EntriesOf::Residual,
        _ => EntriesOf::Other,
    };
    let own_effect = added.filter(|_| of == EntriesOf::Evidence);
    let mut list: Vec<Entry> = means
        .iter()
        .zip(&maps.deviations)
        .enumerate()
        .map(|(index, (&mean, &deviation))| {
            let usual = maps.means.get(index).copied().unwrap_or(0.0);
            let (mean, deviation) = (mean - f64::from(usual), f64::from(deviation));
            let error = errors[index].hypot(deviation / held_out);
            let own = if deviation > 0.0 { mean / deviation } else { 0.0 };
            Entry {
                index,
                position: position(index, &manifest.model.sample_shape),
                name: columns.and_then(|c| c.get(index).cloned()),
                mean,
                effect: own_effect.map_or(own, |(each, _)| each * mean),
                statistic: if error > 0.0 { mean / error } else { 0.0 },
            }
        })
        .collect();
    // By the part of the effect that is beyond doubt, two standard errors off.
    let sure = |e: &Entry| {
        let size = e.effect.abs();
        let certain = (1.0 - 2.0 / e.statistic.abs()).max(0.0);
        (if certain.is_finite() { size * certain } else { 0.0 }, size)
    };
    list.sort_by(|a, b| {
        let (a, b) = (sure(a), sure(b));
        b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    let rest = own_effect.map(|(_, all)| all - list.iter().map(|e| e.effect).sum::<f64>());
    Some(Entries { of, list, rest })
}

/// A place along the flattened sample, by axis.
fn position(index: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = index;
    let mut place: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&size| {
            let at = rest % size.max(1);
            rest /= size.max(1);
            at
        })
        .collect();
    place.reverse();
    place
}
