//! A weighted sum of Gaussian densities.

use std::f64::consts::TAU;

use ndarray::{Array1, Array2, ArrayView1, Axis};

use taste_stats::linear::{self, Cholesky};

/// What covariances look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// All pairs of entries.
    Full,
    /// Independent entries.
    Diagonal,
}

/// The covariance of a component.
#[derive(Clone, Debug)]
pub(super) enum Covariance {
    Full(Array2<f64>, Cholesky),
    Diagonal(Array1<f64>),
}

impl Covariance {
    /// Nothing if the matrix is not positive definite.
    pub(super) fn full(matrix: Array2<f64>) -> Option<Self> {
        let factor = Cholesky::new(&matrix)?;
        Some(Self::Full(matrix, factor))
    }

    /// Nothing if a variance is not positive.
    pub(super) fn diagonal(variances: Array1<f64>) -> Option<Self> {
        variances.iter().all(|v| *v > 0.0).then_some(Self::Diagonal(variances))
    }

    pub(super) fn log_determinant(&self) -> f64 {
        match self {
            Self::Full(_, factor) => factor.log_determinant(),
            Self::Diagonal(variances) => variances.mapv(f64::ln).sum(),
        }
    }

    /// xᵀΣ⁻¹x for every row x.
    pub(super) fn lengths(&self, rows: &Array2<f64>) -> Array1<f64> {
        match self {
            Self::Full(_, factor) => factor.lengths(rows),
            Self::Diagonal(variances) => {
                let inverse = variances.mapv(f64::recip);
                rows.map_axis(Axis(1), |row| row.iter().zip(&inverse).map(|(x, p)| x * x * p).sum())
            }
        }
    }

    /// tr(Σ⁻¹·other).
    pub(super) fn trace_of_quotient(&self, other: &Self) -> f64 {
        match (self, other) {
            (Self::Full(_, factor), Self::Full(_, root)) => factor.lengths(&root.root_rows()).sum(),
            (Self::Diagonal(a), Self::Diagonal(b)) => a.iter().zip(b).map(|(a, b)| b / a).sum(),
            (Self::Full(..), Self::Diagonal(b)) => {
                self.lengths(&Array2::from_diag(&b.mapv(f64::sqrt))).sum()
            }
            (Self::Diagonal(a), Self::Full(b, _)) => {
                a.iter().zip(b.diag()).map(|(a, b)| b / a).sum()
            }
        }
    }
}

/// Σₖ^(−1/2) of every component.
#[derive(Clone, Debug)]
pub(super) enum Roots {
    Full(Vec<Array2<f64>>),
    Diagonal(Array2<f64>),
}

#[derive(Clone, Debug)]
pub(super) struct Mixture {
    log_weights: Array1<f64>,
    /// K × D.
    means: Array2<f64>,
    covariances: Vec<Covariance>,
}

impl Mixture {
    pub(super) fn new(
        log_weights: Array1<f64>,
        means: Array2<f64>,
        covariances: Vec<Covariance>,
    ) -> Self {
        Self { log_weights, means, covariances }
    }

    /// With these variances added to every component; nothing if that has no inverse.
    pub(super) fn smoothed(self, noise: &Array1<f64>) -> Option<Self> {
        let covariances: Option<Vec<Covariance>> = self
            .covariances
            .into_iter()
            .map(|covariance| match covariance {
                Covariance::Full(mut matrix, _) => {
                    matrix.diag_mut().scaled_add(1.0, noise);
                    Covariance::full(matrix)
                }
                Covariance::Diagonal(variances) => Covariance::diagonal(variances + noise),
            })
            .collect();
        Some(Self { covariances: covariances?, ..self })
    }

    /// How many components.
    pub(super) fn len(&self) -> usize {
        self.covariances.len()
    }

    pub(super) fn form(&self) -> Form {
        match self.covariances.first() {
            Some(Covariance::Diagonal(_)) => Form::Diagonal,
            _ => Form::Full,
        }
    }

    pub(super) fn weights(&self) -> Vec<f64> {
        self.log_weights.iter().map(|w| w.exp()).collect()
    }

    pub(super) fn means(&self) -> &Array2<f64> {
        &self.means
    }

    pub(super) fn covariances(&self) -> &[Covariance] {
        &self.covariances
    }

    /// Free parameters.
    pub(super) fn parameters(&self) -> usize {
        let d = self.means.ncols();
        let each = match self.form() {
            Form::Full => d + d * (d + 1) / 2,
            Form::Diagonal => 2 * d,
        };
        self.len() * (each + 1) - 1
    }

    /// log πₖ − ½ log|Σₖ|: the height of every component, up to a constant.
    pub(super) fn log_heights(&self) -> Array1<f64> {
        let determinants = self.covariances.iter().map(Covariance::log_determinant);
        self.log_weights.iter().zip(determinants).map(|(w, d)| w - 0.5 * d).collect()
    }

    /// log πₖN(x; μₖ, Σₖ) for every row and component: N × K.
    pub(super) fn log_joint(&self, rows: &Array2<f64>) -> Array2<f64> {
        let constant = -0.5 * self.means.ncols() as f64 * TAU.ln();
        let mut joint = Array2::zeros((rows.nrows(), self.len()));
        let heights = self.log_heights();
        for (k, covariance) in self.covariances.iter().enumerate() {
            let lengths = covariance.lengths(&(rows - &self.means.row(k)));
            joint.column_mut(k).assign(&(lengths * -0.5 + heights[k] + constant));
        }
        joint
    }

    /// log p(x) for every row.
    #[cfg(test)]
    pub(super) fn log_density(&self, rows: &Array2<f64>) -> Array1<f64> {
        self.log_joint(rows).map_axis(Axis(1), |row| log_sum_exp(&row))
    }

    /// Nothing if a covariance can't be inverted.
    pub(super) fn roots(&self) -> Option<Roots> {
        if self.form() == Form::Diagonal {
            let mut roots = Array2::zeros(self.means.raw_dim());
            for (k, covariance) in self.covariances.iter().enumerate() {
                if let Covariance::Diagonal(variances) = covariance {
                    roots.row_mut(k).assign(&variances.mapv(|v| v.sqrt().recip()));
                }
            }
            return Some(Roots::Diagonal(roots));
        }
        let root = |covariance: &Covariance| match covariance {
            Covariance::Full(matrix, _) => linear::inverse_root(matrix),
            Covariance::Diagonal(_) => None,
        };
        self.covariances.iter().map(root).collect::<Option<_>>().map(Roots::Full)
    }
}

pub(super) fn log_sum_exp(values: &ArrayView1<'_, f64>) -> f64 {
    let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + values.iter().map(|v| (v - top).exp()).sum::<f64>().ln()
}
