//! Samples with the score there, and means over them that vanish for the right score.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

/// Samples and the score there, one a row. Where noise was added to the samples, it is known.
pub(super) struct Held {
    pub(super) y: Array2<f64>,
    pub(super) s: Array2<f64>,
    pub(super) noise: Option<Noise>,
}

/// The noise ε·σ in samples.
pub(super) struct Noise {
    /// ε/σ, zero in entries without noise. E[ε/σ | y] = −∇ log p(y).
    pub(super) over: Array2<f64>,
    /// σ of every entry.
    pub(super) deviations: Vec<f64>,
}

impl Held {
    pub(super) fn len(&self) -> usize {
        self.y.nrows()
    }

    pub(super) fn dimension(&self) -> usize {
        self.y.ncols()
    }

    /// The samples without their mean.
    pub(super) fn centred(&self) -> Array2<f64> {
        let centre = self.y.mean_axis(Axis(0));
        &self.y - &centre.unwrap_or_else(|| Array1::zeros(self.dimension()))
    }

    /// The rows that are given.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        let of = |a: &Array2<f64>| a.select(Axis(0), rows);
        let noise = self.noise.as_ref();
        let noise = noise.map(|n| Noise { over: of(&n.over), deviations: n.deviations.clone() });
        Self { y: of(&self.y), s: of(&self.s), noise }
    }

    /// The entries of the score, each with as much of the noise taken out as it can be told from: their means are those of
    /// the score, with less of chance.
    pub(super) fn steady_score(&self) -> Array2<f64> {
        let mut steady = self.s.clone();
        if let Some(noise) = &self.noise {
            for (mut column, over) in steady.columns_mut().into_iter().zip(noise.over.columns()) {
                let values = steadied(&column.view(), &over);
                column.assign(&values);
            }
        }
        steady
    }

    /// Δf + s·∇f for f = sin or cos of w·y + phase, sample by sample, with as much of the noise taken out as it can be told
    /// from.
    pub(super) fn wave(&self, wave: &Wave<'_>) -> Array1<f64> {
        let Wave { w, angles, phase } = *wave;
        let (sin, cos) = (angles.mapv(|a| (a + phase).sin()), angles.mapv(|a| (a + phase).cos()));
        let values = self.s.dot(&w) * &cos - w.dot(&w) * &sin;
        let Some(noise) = &self.noise else { return values };
        let moved = w.iter().zip(&noise.deviations).filter(|(_, d)| **d > 0.0);
        let square: f64 = moved.map(|(w, _)| w * w).sum();
        let control = noise.over.dot(&w) * &cos + square * &sin;
        steadied(&values.view(), &control.view())
    }

    /// 1 + s·(y − ȳ) over the number of entries that vary, sample by sample, likewise.
    pub(super) fn size(&self, centred: &Array2<f64>, varying: usize) -> Array1<f64> {
        let along = |a: &Array2<f64>, count: f64| -> Array1<f64> {
            let rows = a.outer_iter().zip(centred.outer_iter());
            rows.map(|(a, off)| (a.dot(&off) + count) / varying as f64).collect()
        };
        let values = along(&self.s, varying as f64);
        let Some(noise) = &self.noise else { return values };
        let noised = noise.deviations.iter().filter(|d| **d > 0.0).count();
        let control = along(&noise.over, -(noised as f64));
        steadied(&values.view(), &control.view())
    }
}

/// A function sin(w·y + phase), with the angles w·y.
#[derive(Clone, Copy)]
pub(super) struct Wave<'a> {
    pub(super) w: ArrayView1<'a, f64>,
    pub(super) angles: ArrayView1<'a, f64>,
    pub(super) phase: f64,
}

/// Values without what a control, whose expectation is zero, tells of them: the mean is as it was but for chance, and
/// varies least.
fn steadied(values: &ArrayView1<'_, f64>, control: &ArrayView1<'_, f64>) -> Array1<f64> {
    let centre = |a: &ArrayView1<'_, f64>| a.mean().unwrap_or(0.0);
    let (mean, middle) = (centre(values), centre(control));
    let (mut both, mut square) = (0.0, 0.0);
    for (v, c) in values.iter().zip(control.iter()) {
        both += (v - mean) * (c - middle);
        square += (c - middle).powi(2);
    }
    let share = if square > 0.0 { both / square } else { 0.0 };
    values - &(control * share)
}

/// The mean of values and its standard error.
pub(super) fn mean_and_error(values: &ArrayView1<'_, f64>) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.mean().unwrap_or(0.0);
    let spread = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (spread / n).sqrt())
}

/// The axes along which rows vary most, by iteration on a few directions at once. `start` holds them, one a column.
pub(super) fn principal_axes(rows: &ArrayView2<'_, f64>, start: Array2<f64>) -> Array2<f64> {
    const ROUNDS: usize = 20;
    let mut axes = start;
    for _ in 0..ROUNDS {
        axes = rows.t().dot(&rows.dot(&axes));
        for k in 0..axes.ncols() {
            let (before, mut rest) = axes.view_mut().split_at(Axis(1), k);
            let mut own = rest.column_mut(0);
            for other in before.columns() {
                let share = own.dot(&other);
                own.scaled_add(-share, &other);
            }
            let length = own.dot(&own).sqrt();
            own.mapv_inplace(|v| if length > 0.0 { v / length } else { 0.0 });
        }
    }
    axes
}

#[cfg(test)]
mod tests {
    use taste_stats::random::Random;

    use super::*;

    #[test]
    fn a_control_takes_out_what_it_tells_and_leaves_the_mean() {
        let mut random = Random::new(1);
        let control: Array1<f64> = (0..4000).map(|_| random.normal()).collect();
        let values: Array1<f64> =
            control.iter().map(|c| 0.5 - 3.0 * c + 0.1 * random.normal()).collect();
        let (mean, error) = mean_and_error(&steadied(&values.view(), &control.view()).view());
        assert!((mean - 0.5).abs() < 4.0 * error && error < 0.002, "{mean} {error}");
    }

    #[test]
    fn axes_are_those_of_the_covariance() {
        let mut random = Random::new(2);
        let rows = Array2::from_shape_fn((2000, 3), |_| random.normal());
        let turned =
            rows.dot(&ndarray::arr2(&[[3.0, 3.0, 0.0], [0.5, -0.5, 0.0], [0.0, 0.0, 2.0]]));
        let axes =
            principal_axes(&turned.view(), Array2::from_shape_fn((3, 2), |_| random.normal()));
        let root = std::f64::consts::FRAC_1_SQRT_2;
        for (axis, wanted) in axes.columns().into_iter().zip([[root, root, 0.0], [0.0, 0.0, 1.0]]) {
            assert!(axis.dot(&Array1::from(wanted.to_vec())).abs() > 0.99, "{axis}");
        }
    }
}
