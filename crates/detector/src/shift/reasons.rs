//! What the terms of the score add to the verdict.

use ndarray::ArrayView2;
use serde::Serialize;
use taste_stats::evidence::Evidence;

use crate::{PartFacts, Role};

/// A term of the score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    /// The term.
    pub name: String,
    /// What it adds to the effect, in the same standard deviations: all together give the effect.
    pub effect: f64,
}

/// What stands for samples without a score.
const NO_SCORE: &str = "no score";

/// The terms that add up to the score, those first that add most to the effect; none if the score has no terms. The
/// evidence of a sample is shared out among its terms by their sizes.
pub(super) fn reasons(
    parts: &[PartFacts],
    evidence: &Evidence,
    reference: &ArrayView2<'_, f32>,
    batch: &ArrayView2<'_, f32>,
) -> Vec<Reason> {
    let mut terms: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for part in parts {
        if part.role == Role::Evidence {
            let columns = part.columns.iter().enumerate();
            terms.extend(columns.map(|(i, name)| (at + i, name.as_str())));
        }
        at += part.columns.len();
    }
    let deviation = evidence.deviation();
    if terms.is_empty() || deviation == 0.0 {
        return Vec::new();
    }
    let columns: Vec<usize> = terms.iter().map(|t| t.0).collect();
    let own = shares(evidence.batch(), batch, &columns);
    let other = shares(evidence.reference(), reference, &columns);
    let names = terms.iter().map(|t| t.1).chain([NO_SCORE]);
    let mut reasons: Vec<Reason> = names
        .zip(own.iter().zip(&other))
        .map(|(name, (own, other))| Reason {
            name: name.to_owned(),
            effect: (own - other) / deviation,
        })
        .collect();
    let without = reasons.pop().filter(|r| r.effect.abs() > 0.0);
    reasons.extend(without);
    reasons.sort_by(|a, b| b.effect.total_cmp(&a.effect));
    reasons
}

/// The mean evidence of each column, and of rows without a score.
fn shares(evidence: &[f64], rows: &ArrayView2<'_, f32>, columns: &[usize]) -> Vec<f64> {
    let mut sums = vec![0.0; columns.len() + 1];
    for (&e, row) in evidence.iter().zip(rows.rows()) {
        let sizes: Vec<f64> = columns.iter().map(|&c| f64::from(row[c]).abs()).collect();
        let total: f64 = sizes.iter().sum();
        if !total.is_finite() {
            sums[columns.len()] += e;
            continue;
        }
        for (sum, size) in sums.iter_mut().zip(&sizes) {
            *sum += e * if total > 0.0 { size / total } else { 1.0 / columns.len() as f64 };
        }
    }
    sums.iter().map(|sum| sum / evidence.len() as f64).collect()
}
