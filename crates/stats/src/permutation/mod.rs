//! Permutation tests of a batch against a reference: [`two_sample`] of vectors, [`mean`] of numbers and to one side,
//! [`squared_length`] of the mean of whitened vectors.
//!
//! The statistic of a component in [`two_sample`] of a component is the difference of means over its standard error; the test looks at the largest
//! of them, so one p-value covers all components and their dependence, whatever it is. If batch and reference come from
//! one distribution, each p-value is at most α with a chance of at most α, for every size of the two.
//!
//! The standard error uses the variance of each side, so that for large samples a difference of variances alone is not
//! taken for one of means (Chung and Romano 2013). A side of fewer than eight rows can't tell its own
//! variance well; both sides then share one.

mod mean;
mod pooled;
mod splits;
mod squared_length;
#[cfg(test)]
mod tests;

use ndarray::ArrayView2;
use pooled::Pooled;
use rayon::prelude::*;
use splits::{Chooser, every_split, split_count};

pub use mean::{MeanTest, mean};
pub use squared_length::{LengthTest, squared_length};

use super::draws;
use crate::{Error, error::refused};

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
    let (maxima, exhaustive) = over_splits(
        (pooled.rows(), pooled.chosen()),
        (permutations, seed),
        || pooled.sums(),
        |sums, split| pooled.largest(split, sums),
    );
    Ok(outcome(&pooled, maxima, exhaustive))
}

/// A statistic of the chosen rows in splits other than the actual one, which chooses the first: all of them where there
/// are no more than `permutations`, and then true; else that many at random.
fn over_splits<W, S: Send>(
    (rows, chosen): (usize, usize),
    (permutations, seed): (usize, u64),
    room: impl Fn() -> W + Send + Sync,
    statistic: impl Fn(&mut W, &[usize]) -> S + Send + Sync,
) -> (Vec<S>, bool) {
    if split_count(rows, chosen, permutations as u64).is_some() {
        let mut room = room();
        let others = every_split(rows, chosen).skip(1);
        return (others.map(|split| statistic(&mut room, &split)).collect(), true);
    }
    let draws = (0..permutations as u64).into_par_iter().map_init(
        || (Chooser::new(rows), room()),
        |(chooser, room), number| chooser.choose(chosen, seed, number, |s| statistic(room, s)),
    );
    (taste_threads::within(|| draws.collect()), false)
}

/// Fails unless both sides have something to compare.
fn check_sizes(reference: usize, batch: usize) -> Result<(), Error> {
    if reference >= 2 && batch >= 1 {
        return Ok(());
    }
    Err(refused(format!(
        "a comparison needs two reference samples and one in the batch, but there are {reference} and {batch}"
    )))
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
