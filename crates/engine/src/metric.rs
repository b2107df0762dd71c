//! The metric that second derivatives are weighed with.

use std::sync::Arc;

use ndarray::Array2;
use taste_graph::{Build, Dim, Id, OpError, Tensor};
use taste_ops::functions;

use crate::{Error, error::request};

/// A = `RRᵀ` over the entries of a sample, the identity by default. Second derivatives are those of A∇²f: its trace, and
/// its diagonal Σⱼ Aᵢⱼ∂ᵢⱼf. First derivatives stay as they are; A turns them into directions ([`Metric::raise`]).
#[derive(Clone, Debug, Default)]
pub struct Metric(Root);

#[derive(Clone, Debug, Default)]
enum Root {
    #[default]
    Identity,
    /// The diagonal of R.
    Diagonal(Arc<[f64]>),
    Full {
        root: Arc<Array2<f64>>,
        matrix: Arc<Array2<f64>>,
    },
}

impl Metric {
    /// A = diag(roots²).
    pub fn diagonal(roots: Vec<f64>) -> Self {
        Self(Root::Diagonal(roots.into()))
    }

    /// A = `RRᵀ` for a square R.
    pub fn full(root: Array2<f64>) -> Self {
        let matrix = Arc::new(root.dot(&root.t()));
        Self(Root::Full { root: Arc::new(root), matrix })
    }

    /// Whether A = I.
    pub fn is_identity(&self) -> bool {
        matches!(self.0, Root::Identity)
    }

    /// Whether an entry has to do with itself alone.
    pub(crate) fn is_diagonal(&self) -> bool {
        !matches!(self.0, Root::Full { .. })
    }

    /// Fails if it is not one of samples with this many entries.
    pub(crate) fn check(&self, dimension: usize) -> Result<(), Error> {
        let fits = match &self.0 {
            Root::Identity => true,
            Root::Diagonal(roots) => roots.len() == dimension,
            Root::Full { root, .. } => root.dim() == (dimension, dimension),
        };
        if fits {
            return Ok(());
        }
        Err(request(format!("the metric is not one of samples of {dimension} entries")))
    }

    /// Column k of R.
    pub(crate) fn column(&self, k: usize, dimension: usize) -> Vec<f64> {
        match &self.0 {
            Root::Full { root, .. } => root.column(k).to_vec(),
            Root::Diagonal(roots) => unit(k, dimension, roots[k]),
            Root::Identity => unit(k, dimension, 1.0),
        }
    }

    /// Ay for values whose axes after the first `leading` ones are the entries of a sample.
    pub fn raise(&self, b: &mut Build<'_>, y: Id, leading: usize) -> Result<Id, OpError> {
        match &self.0 {
            Root::Identity => Ok(y),
            Root::Diagonal(roots) => scaled(b, y, leading, roots.iter().map(|r| r * r).collect()),
            Root::Full { matrix, .. } => product(b, y, leading, matrix),
        }
    }

    /// Rᵀy: the derivatives y in coordinates v with x = Rv, in which A is the identity.
    pub fn lower(&self, b: &mut Build<'_>, y: Id, leading: usize) -> Result<Id, OpError> {
        match &self.0 {
            Root::Identity => Ok(y),
            Root::Diagonal(roots) => scaled(b, y, leading, roots.to_vec()),
            Root::Full { root, .. } => product(b, y, leading, root),
        }
    }

    /// Rv: a direction of such coordinates as one of samples.
    pub fn direct(&self, b: &mut Build<'_>, v: Id, leading: usize) -> Result<Id, OpError> {
        match &self.0 {
            Root::Full { root, .. } => product(b, v, leading, &root.t().to_owned()),
            _ => self.lower(b, v, leading),
        }
    }
}

fn unit(k: usize, dimension: usize, value: f64) -> Vec<f64> {
    let mut column = vec![0.0; dimension];
    column[k] = value;
    column
}

/// y ⊙ numbers.
fn scaled(b: &mut Build<'_>, y: Id, leading: usize, numbers: Vec<f64>) -> Result<Id, OpError> {
    let entries = b.fact(y).shape[leading..].iter().map(|d| d.at(0));
    let shape: Vec<usize> = std::iter::repeat_n(1, leading).chain(entries).collect();
    let numbers = b.graph_mut().stored(Tensor::floats(&shape, numbers)?);
    b.mul(y, numbers)
}

/// Rows y times a matrix.
fn product(b: &mut Build<'_>, y: Id, leading: usize, matrix: &Array2<f64>) -> Result<Id, OpError> {
    let shape = b.fact(y).shape.clone();
    let mut rows: Vec<Dim> = shape[..leading].to_vec();
    rows.push(Dim::from(matrix.nrows()));
    let flat = b.reshape(y, &rows)?;
    let sizes = [matrix.nrows(), matrix.ncols()];
    let matrix = Tensor::floats(&sizes, matrix.iter().copied().collect())?;
    let matrix = b.graph_mut().stored(matrix);
    let turned = functions::matmul(b, flat, matrix)?;
    b.reshape(turned, &shape)
}
