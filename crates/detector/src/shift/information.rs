//! What is said beside the verdict and decides nothing.

use ndarray::{Array2, ArrayView2, Axis};
use serde::Serialize;
use taste_stats::{evidence::Evidence, moments::Summary, multiple::holm, permutation};

use super::{Entries, MovedColumn, Reason, StuckColumn};
use crate::{Detector, Error, PartFacts, Role};

/// What is said beside the verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Information {
    /// Tests of other quantities.
    pub tests: Vec<Quantity>,
    /// What the terms of the score add to the effect, where that is no shift.
    pub terms: Vec<Reason>,
    /// The columns of a table that moved most.
    pub columns: Vec<MovedColumn>,
    /// The columns of a table in which one value is far more common than it was.
    pub stuck: Vec<StuckColumn>,
    /// Where the parts of the map moved, if the detector has maps.
    pub entries: Option<Entries>,
}

/// A quantity that was tested for information.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantity {
    /// What it is.
    pub kind: Kind,
    /// Its name, or that of the component which moved most.
    pub name: String,
    /// How far it moved, in standard deviations of calibration samples; of drifts the squared length of their mean.
    pub effect: f64,
    /// The p-value, over all components.
    pub p_value: f64,
    /// The same, adjusted for the number of quantities (Holm).
    pub adjusted_p_value: f64,
}

/// What a quantity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The mean of one residual or several: it stays as it is when only the mix of labels changes.
    Residual,
    /// The mean of drifts: it moves with the mix of labels.
    Drift,
    /// The mean evidence of the novelty: whether the data differ, not whether that matters.
    Novelty,
}

/// Columns of both sides, without rows that have an entry which is not finite.
struct Sides {
    reference: Array2<f64>,
    batch: Array2<f64>,
}

impl Sides {
    fn of(
        columns: std::ops::Range<usize>,
        reference: &ArrayView2<'_, f32>,
        batch: &ArrayView2<'_, f32>,
    ) -> Option<Self> {
        let finite = |of: &ArrayView2<'_, f32>| {
            let of = of.slice(ndarray::s![.., columns.clone()]);
            let rows = of.rows().into_iter().enumerate();
            let kept: Vec<usize> =
                rows.filter(|(_, row)| row.iter().all(|v| v.is_finite())).map(|(i, _)| i).collect();
            of.select(Axis(0), &kept).mapv(f64::from)
        };
        let sides = Self { reference: finite(reference), batch: finite(batch) };
        (sides.reference.nrows() > 1 && sides.batch.nrows() > 0).then_some(sides)
    }

    /// How far the mean of a component moved, in deviations of the reference.
    fn effect(&self, column: usize) -> f64 {
        let usual = Summary::of(&self.reference.column(column).to_vec());
        let mean = self.batch.column(column).mean();
        match (usual, mean) {
            (Some(usual), Some(mean)) if usual.variance > 0.0 => {
                (mean - usual.mean) / usual.variance.sqrt()
            }
            _ => 0.0,
        }
    }
}

/// Tests of residuals, drifts and novelty, as far as the detector has them.
pub(super) fn tests(
    detector: &Detector,
    reference: &ArrayView2<'_, f32>,
    batch: &ArrayView2<'_, f32>,
    (permutations, seed): (usize, u64),
) -> Result<Vec<Quantity>, Error> {
    let manifest = detector.manifest();
    let mut tests = Vec::new();
    let mut at = 0;
    for part in &manifest.parts {
        let columns = at..at + part.columns.len();
        at = columns.end;
        let Some(sides) = Sides::of(columns, reference, batch) else { continue };
        match part.role {
            Role::Residual => tests.push(residual(part, &sides, permutations, seed)?),
            Role::Drift => {
                let (r, b) = (sides.reference.view(), sides.batch.view());
                let found = permutation::squared_length(&r, &b, permutations, seed)?;
                let effect = found.squared_length;
                tests.push(quantity(Kind::Drift, part.name.clone(), effect, found.p_value));
            }
            Role::Plain | Role::Evidence | Role::Novelty | Role::Component => {}
        }
    }
    if manifest.has_novelty {
        let of = |rows: &ArrayView2<'_, f32>| -> Vec<f64> {
            rows.column(at + 1).iter().map(|&v| f64::from(v)).collect()
        };
        let tolerance = manifest.decision.tolerance;
        let evidence = Evidence::of(&of(reference), &of(batch), tolerance)?;
        let found = evidence.test(permutations, seed)?;
        tests.push(quantity(Kind::Novelty, "novelty".into(), evidence.effect(), found.upper));
    }
    let adjusted = holm(&tests.iter().map(|t| t.p_value).collect::<Vec<_>>());
    for (test, p) in tests.iter_mut().zip(adjusted) {
        test.adjusted_p_value = p;
    }
    Ok(tests)
}

fn quantity(kind: Kind, name: String, effect: f64, p_value: f64) -> Quantity {
    Quantity { kind, name, effect, p_value, adjusted_p_value: p_value }
}

fn residual(
    part: &PartFacts,
    sides: &Sides,
    permutations: usize,
    seed: u64,
) -> Result<Quantity, Error> {
    let (r, b) = (sides.reference.view(), sides.batch.view());
    let found = permutation::two_sample(&r, &b, permutations, seed)?;
    let size = |i: &usize| found.components[*i].statistic.abs();
    let clearest = (0..found.components.len()).max_by(|a, b| size(a).total_cmp(&size(b)));
    let clearest = clearest.unwrap_or(0);
    let name = part.columns.get(clearest).cloned().unwrap_or_else(|| part.name.clone());
    Ok(quantity(Kind::Residual, name, sides.effect(clearest), found.p_value))
}
