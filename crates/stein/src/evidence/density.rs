//! Gaussians with one covariance and a mean for every class, of features at a cut.

use ndarray::{Array1, Array2, Axis};
use taste_graph::{Build, Id, OpError, Tensor};
use taste_ops::functions;
use taste_stats::{covariance::ledoit_wolf, linear::Cholesky};

use crate::{Error, refused};

/// Means of classes borrow so many samples from the mean of all.
const BORROWED: f64 = 10.0;

/// Features as v = (h − m)·M, in which their covariance about the means of classes is the identity.
#[derive(Clone, Debug)]
pub(crate) struct ClassGaussian {
    /// m.
    mean: Array1<f64>,
    /// M: one row a feature; zero where a feature does not vary.
    whitening: Array2<f64>,
    /// The mean of every class in v; one row if there is one for all.
    means: Array2<f64>,
    /// Lᵀ·diag(σ): what takes weights of features to weights of v.
    root: Array2<f64>,
}

impl ClassGaussian {
    /// From features (one row a sample) and their classes. With fewer than two samples a class on average, or without
    /// classes, there is one mean for all.
    pub(crate) fn fit(
        rows: &Array2<f64>,
        classes: Option<(&[usize], usize)>,
    ) -> Result<Self, Error> {
        let (count, width) = rows.dim();
        if count < 2 {
            return Err(refused(format!(
                "a density of features wants at least two training samples, and {count} have finite ones"
            )));
        }
        let classes = classes.filter(|(_, k)| count >= 2 * k);
        let mean = rows.mean_axis(Axis(0)).unwrap_or_default();
        let centred = rows - &mean;
        let variances = variances(&centred);
        let kept: Vec<usize> = (0..width).filter(|&j| varies(variances[j], mean[j])).collect();
        if kept.is_empty() {
            return Err(refused("no feature varies over the training samples"));
        }
        let deviations: Array1<f64> = kept.iter().map(|&j| variances[j].sqrt()).collect();
        let scaled = centred.select(Axis(1), &kept) / &deviations;
        let (means, residuals) = match classes {
            Some((classes, k)) => class_means(&scaled, classes, k),
            None => (Array2::zeros((1, kept.len())), scaled),
        };
        let (covariance, _) = ledoit_wolf(&residuals);
        let factor = Cholesky::new(&covariance)
            .ok_or_else(|| refused("the covariance of the features has no inverse"))?;
        let white = factor.whitening();
        let mut whitening = Array2::zeros((width, kept.len()));
        let mut root = Array2::zeros((width, kept.len()));
        // Rows of `root_rows` are those of Lᵀ, so that its columns are those of L.
        let lower = factor.root_rows().reversed_axes();
        for (i, &j) in kept.iter().enumerate() {
            whitening.row_mut(j).assign(&(&white.row(i) / deviations[i]));
            root.row_mut(j).assign(&(&lower.row(i) * deviations[i]));
        }
        let means = means.dot(&white);
        Ok(Self { mean, whitening, means, root })
    }

    /// Weights of features, one column a class, as weights of v, one row a class.
    pub(crate) fn weights(&self, of_features: &Array2<f64>) -> Array2<f64> {
        of_features.t().dot(&self.root)
    }

    /// ‖v‖² of rows of features, where there is one mean for all.
    pub(crate) fn squares(&self, rows: &Array2<f64>) -> Vec<f64> {
        let v = (rows - &self.mean).dot(&self.whitening) - &self.means;
        v.map_axis(Axis(1), |row| row.dot(&row)).to_vec()
    }

    /// s = −(v − mean of the class that is one in `class` (N × K)): N × width.
    pub(crate) fn score(
        &self,
        b: &mut Build<'_>,
        features: Id,
        class: Option<Id>,
    ) -> Result<Id, OpError> {
        let mean = stored(b, &self.mean.clone().insert_axis(Axis(0)))?;
        let whitening = stored(b, &self.whitening)?;
        let means = stored(b, &self.means)?;
        let centred = b.sub(features, mean)?;
        let v = functions::matmul(b, centred, whitening)?;
        let own = match class.filter(|_| self.means.nrows() > 1) {
            Some(class) => functions::matmul(b, class, means)?,
            None => means,
        };
        b.sub(own, v)
    }
}

fn variances(centred: &Array2<f64>) -> Array1<f64> {
    centred.map_axis(Axis(0), |c| c.dot(&c) / c.len() as f64)
}

/// Whether a feature varies by more than single precision resolves.
fn varies(variance: f64, mean: f64) -> bool {
    variance > 1e-12 * mean.powi(2) && variance > 1e-30
}

/// Whether any feature does.
pub(crate) fn any_varies(rows: &Array2<f64>) -> bool {
    let mean = rows.mean_axis(Axis(0)).unwrap_or_default();
    let variances = variances(&(rows - &mean));
    variances.iter().zip(&mean).any(|(variance, mean)| varies(*variance, *mean))
}

/// Means of classes that borrow from the mean of all, which is zero, and what leaves each sample out of its own.
fn class_means(scaled: &Array2<f64>, classes: &[usize], k: usize) -> (Array2<f64>, Array2<f64>) {
    let mut sums = Array2::zeros((k, scaled.ncols()));
    let mut counts = vec![0.0; k];
    for (row, &class) in scaled.outer_iter().zip(classes) {
        let mut sum = sums.row_mut(class);
        sum += &row;
        counts[class] += 1.0;
    }
    let mut residuals = scaled.clone();
    for (mut row, &class) in residuals.outer_iter_mut().zip(classes) {
        let others = (&sums.row(class) - &row) / (counts[class] - 1.0 + BORROWED);
        row -= &others;
    }
    for (mut sum, count) in sums.outer_iter_mut().zip(&counts) {
        sum /= count + BORROWED;
    }
    (sums, residuals)
}

/// A matrix that the file holds.
pub(crate) fn stored(b: &mut Build<'_>, matrix: &Array2<f64>) -> Result<Id, OpError> {
    let shape = [matrix.nrows(), matrix.ncols()];
    Ok(b.graph_mut().stored(Tensor::floats(&shape, matrix.iter().copied().collect())?))
}

#[cfg(test)]
mod tests {
    use taste_stats::random::Random;

    use super::*;

    /// Two classes at (±3, 0, 0), the second feature correlated with the first, the third dead.
    fn rows(count: usize) -> (Array2<f64>, Vec<usize>) {
        let mut random = Random::new(5);
        let classes: Vec<usize> = (0..count).map(|i| i % 2).collect();
        let mut rows = Array2::zeros((count, 3));
        for (mut row, &class) in rows.outer_iter_mut().zip(&classes) {
            let (a, e) = (random.normal(), random.normal());
            row[0] = a + if class == 0 { 3.0 } else { -3.0 };
            row[1] = 1000.0 * (0.6 * a + 0.8 * e) + 50.0;
            row[2] = 7.0;
        }
        (rows, classes)
    }

    #[test]
    fn residuals_about_classes_are_white_and_dead_features_are_left_out() {
        let (rows, classes) = rows(4000);
        let found = ClassGaussian::fit(&rows, Some((&classes, 2))).expect("fits");
        assert_eq!(found.whitening.ncols(), 2);
        let v = (&rows - &found.mean).dot(&found.whitening);
        let own = found.means.select(Axis(0), &classes);
        let s = &v - &own;
        let covariance = s.t().dot(&s) / 4000.0;
        assert!(
            (&covariance - &Array2::<f64>::eye(2)).iter().all(|d| d.abs() < 0.02),
            "{covariance}"
        );
        // w·h = w̃·v + a constant.
        let weights = ndarray::arr2(&[[0.5], [0.002], [9.0]]);
        let direct = rows.dot(&weights);
        let inside = v.dot(&found.weights(&weights).t());
        let off = &direct - &inside;
        assert!(off.iter().all(|d| (d - off[[0, 0]]).abs() < 1e-8));
    }

    #[test]
    fn too_few_samples_a_class_have_one_mean() {
        let (rows, classes) = rows(30);
        let one = ClassGaussian::fit(&rows, Some((&classes, 20))).expect("fits");
        assert_eq!(one.means.dim(), (1, 2));
        assert!(ClassGaussian::fit(&Array2::zeros((50, 2)), None).is_err());
    }
}
