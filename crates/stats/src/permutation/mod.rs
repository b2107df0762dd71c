//! A two-sample permutation test for vectors.
//!
//! The statistic of a component is the difference of means over its standard error; the test looks at the largest
//! of them, so one p-value covers all components and their dependence, whatever it is. If batch and reference come from
//! one distribution, each p-value is at most α with a chance of at most α, for every size of the two.
//!
//! The standard error uses the variance of each side, so that for large samples a difference of variances alone is not
//! taken for one of means (Chung and Romano 2013). A side of fewer than eight rows can't tell its own
//! variance well; both sides then share one.

mod pooled;
mod splits;
#[cfg(test)]
mod tests;

use ndarray::ArrayView2;
use pooled::Pooled;
use rayon::prelude::*;
use splits::{Chooser, every_split, split_count};

use super::draws;
use crate::Error;

/// A number of permutations that resolves p-values to 0.0005.
pub const PERMUTATIONS: usize = 1999;

/// What the test says.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The p-value of all components together.
    pub p_value: f64,
    /// What it says of each component.
    pub components: Vec<Component>,
    /// How many splits of the data were looked at beside the actual one.
    pub permutations: usize,
    /// Whether these were all there are, so that p-values are exact and do not depend on the seed.
    pub exhaustive: bool,
}

/// One component.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Component {
    /// The mean of the batch less that of the reference, over its standard error; 0 if the component is constant.
    pub statistic: f64,
    /// The p-value adjusted for all components (Westfall and Young 1993, in a single step); 1 if the component is
    /// constant.
    pub p_value: f64,
    /// Whether the component has one value in all rows, so that there was nothing to test.
    pub constant: bool,
}

/// Whether the rows of a batch have the means of the reference's rows. All entries must be finite. Where there are no
/// more than `permutations` splits of the data, all are looked at.
pub fn two_sample(
    reference: &ArrayView2<'_, f64>,
    batch: &ArrayView2<'_, f64>,
    permutations: usize,
    seed: u64,
) -> Result<Outcome, Error> {
    draws("permutations", permutations)?;
    let pooled = Pooled::new(reference, batch)?;
    let count = split_count(pooled.rows(), pooled.chosen(), permutations as u64);
    let maxima: Vec<f64> = if count.is_some() {
        let mut sums = pooled.sums();
        // The first is the actual one.
        every_split(pooled.rows(), pooled.chosen())
            .skip(1)
            .map(|split| pooled.largest(&split, &mut sums))
            .collect()
    } else {
        let draws = (0..permutations as u64).into_par_iter().map_init(
            || (Chooser::new(pooled.rows()), pooled.sums()),
            |(chooser, sums), number| {
                chooser.choose(pooled.chosen(), seed, number, |s| pooled.largest(s, sums))
            },
        );
        taste_threads::within(|| draws.collect())
    };
    Ok(outcome(&pooled, maxima, count.is_some()))
}

fn outcome(pooled: &Pooled, mut maxima: Vec<f64>, exhaustive: bool) -> Outcome {
    maxima.sort_unstable_by(f64::total_cmp);
    let p_value = |statistic: f64| {
        // Equal statistics may differ by rounding: those count as ties.
        let least = statistic - 1e-9 * statistic.max(1.0);
        let below = maxima.partition_point(|&m| m < least);
        (1 + maxima.len() - below) as f64 / (maxima.len() + 1) as f64
    };
    let components: Vec<Component> = pooled
        .actual()
        .into_iter()
        .map(|statistic| Component {
            statistic: statistic.unwrap_or(0.0),
            p_value: statistic.map_or(1.0, |s| p_value(s.abs())),
            constant: statistic.is_none(),
        })
        .collect();
    Outcome {
        p_value: components.iter().map(|c| c.p_value).fold(1.0, f64::min),
        components,
        permutations: maxima.len(),
        exhaustive,
    }
}
