//! The rows of both samples in one table, and the statistics of a split of them.

use ndarray::{Array1, ArrayView1, ArrayView2};

use super::check_sizes;
use crate::{Error, error::refused};

/// From this many rows on, a side's own variance is used.
const OWN_VARIANCE: usize = 8;

/// A variance of zero, as a share of that of all rows together: what remains of it is rounding.
const NO_VARIANCE: f64 = 1e-12;

/// The rows of the smaller sample, then those of the larger; every component that varies, in units of its own
/// spread.
pub(crate) struct Pooled {
    values: Vec<f64>,
    /// For every component, its column; none if it is constant.
    columns: Vec<Option<usize>>,
    width: usize,
    rows: usize,
    chosen: usize,
    /// +1 if the smaller sample is the batch.
    sign: f64,
    total: Sums,
}

/// Sums over rows, and of squares.
#[derive(Clone)]
pub(crate) struct Sums {
    plain: Vec<f64>,
    squares: Vec<f64>,
}

impl Pooled {
    pub(crate) fn new(
        reference: &ArrayView2<'_, f64>,
        batch: &ArrayView2<'_, f64>,
    ) -> Result<Self, Error> {
        check(reference, batch)?;
        let batch_first = batch.nrows() <= reference.nrows();
        let (small, large) = if batch_first { (batch, reference) } else { (reference, batch) };
        let rows = small.nrows() + large.nrows();
        let mut columns = Vec::with_capacity(small.ncols());
        let mut varying = vec![];
        for (small, large) in small.columns().into_iter().zip(large.columns()) {
            let units = standardised(&small, &large);
            columns.push(units.is_some().then_some(varying.len()));
            varying.extend(units);
        }
        let width = varying.len();
        let values = (0..rows).flat_map(|i| varying.iter().map(move |c| c[i])).collect();
        let sign = if batch_first { 1.0 } else { -1.0 };
        let total = Sums { plain: vec![0.0; width], squares: vec![0.0; width] };
        let mut pooled = Self { values, columns, width, rows, chosen: small.nrows(), sign, total };
        let mut total = pooled.sums();
        pooled.add(&(0..rows).collect::<Vec<_>>(), &mut total);
        pooled.total = total;
        Ok(pooled)
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// How many rows the smaller sample has.
    pub(crate) fn chosen(&self) -> usize {
        self.chosen
    }

    /// Room for sums.
    pub(crate) fn sums(&self) -> Sums {
        self.total.clone()
    }

    fn add(&self, split: &[usize], sums: &mut Sums) {
        sums.plain.fill(0.0);
        sums.squares.fill(0.0);
        for &row in split {
            let row = &self.values[row * self.width..][..self.width];
            for ((plain, square), value) in sums.plain.iter_mut().zip(&mut sums.squares).zip(row) {
                *plain += value;
                *square += value * value;
            }
        }
    }

    /// The mean of the chosen rows less that of the others, over its standard error, for every column.
    fn statistics<'a>(
        &'a self,
        split: &[usize],
        sums: &'a mut Sums,
    ) -> impl Iterator<Item = f64> + 'a {
        self.add(split, sums);
        let [m, n] = [self.chosen, self.rows - self.chosen].map(|count| count as f64);
        let own_variance = self.chosen >= OWN_VARIANCE;
        (0..self.width).map(move |j| {
            let (ours, square) = (sums.plain[j], sums.squares[j]);
            let theirs = self.total.plain[j] - ours;
            let our_spread = square - ours * ours / m;
            let their_spread = self.total.squares[j] - square - theirs * theirs / n;
            let variance = if own_variance {
                our_spread.max(0.0) / (m - 1.0) / m + their_spread.max(0.0) / (n - 1.0) / n
            } else {
                (our_spread + their_spread).max(0.0) / (m + n - 2.0) * (1.0 / m + 1.0 / n)
            };
            let least = NO_VARIANCE * (1.0 / m + 1.0 / n);
            (ours / m - theirs / n) / variance.max(least).sqrt()
        })
    }

    /// The largest absolute statistic of a split.
    pub(crate) fn largest(&self, split: &[usize], sums: &mut Sums) -> f64 {
        self.statistics(split, sums).map(f64::abs).fold(0.0, f64::max)
    }

    /// The statistics of the samples as they are, batch less reference; none for constant components.
    pub(crate) fn actual(&self) -> Vec<Option<f64>> {
        let split: Vec<usize> = (0..self.chosen).collect();
        let mut sums = self.sums();
        let found: Vec<f64> = self.statistics(&split, &mut sums).map(|t| t * self.sign).collect();
        self.columns.iter().map(|column| column.map(|c| found[c])).collect()
    }
}

fn check(reference: &ArrayView2<'_, f64>, batch: &ArrayView2<'_, f64>) -> Result<(), Error> {
    if reference.ncols() != batch.ncols() {
        return Err(refused(format!(
            "the reference has {} components, but the batch {}",
            reference.ncols(),
            batch.ncols()
        )));
    }
    check_sizes(reference.nrows(), batch.nrows())?;
    for (name, rows) in [("reference", reference), ("batch", batch)] {
        if let Some(row) = rows.rows().into_iter().position(|r| !r.iter().all(|v| v.is_finite())) {
            return Err(refused(format!(
                "row {row} of the {name} has an entry that is not finite"
            )));
        }
    }
    Ok(())
}

/// One component of all rows with mean 0 and variance 1; none if it is constant.
fn standardised(small: &ArrayView1<'_, f64>, large: &ArrayView1<'_, f64>) -> Option<Array1<f64>> {
    let largest = small.iter().chain(large.iter()).fold(0.0, |most: f64, v| most.max(v.abs()));
    // A power of two changes no digit and keeps squares from overflowing.
    let exponent = -libm::ilogb(largest.max(f64::MIN_POSITIVE));
    let mut values: Array1<f64> =
        small.iter().chain(large.iter()).map(|&v| libm::scalbn(v, exponent)).collect();
    if values.iter().all(|v| Some(v) == values.first()) {
        return None;
    }
    values -= values.mean()?;
    let spread = (values.mapv(|v| v * v).sum() / (values.len() as f64 - 1.0)).sqrt();
    (spread > 0.0).then(|| values / spread)
}
