//! Features as Gaussians, one for every class with one scatter.

use ndarray::{Array1, Array2, Axis, s};
use taste_detector::{
    Error, Finding, Level, finding,
    passes::{By, Gather, Gathered, Watch},
    refused,
};
use taste_graph::{Build, Id, OpError};
use taste_ops::functions;
use taste_stats::{
    covariance::Covariance,
    groups::GroupMeans,
    linear::{self, Cholesky},
};

use super::shared::{stored_matrix, stored_row};

/// What is added to the diagonal of a scatter.
pub(super) const RIDGE: f64 = 1e-6;
/// How often the ridge grows tenfold where it is too small for rounding.
const TRIES: usize = 20;

/// Means and scatters of training samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Classes<'s> {
    pub(super) means: &'s GroupMeans,
    all: &'s Covariance,
}

impl<'s> Classes<'s> {
    /// What is to be gathered.
    pub(super) fn watches(features: Id, classes: usize) -> Vec<Watch> {
        vec![
            Watch::value("all", features, Gather::Covariance),
            Watch::value("classes", features, Gather::Classes { classes, by: By::Label }),
        ]
    }

    pub(super) fn of(seen: &'s Gathered) -> Result<Self, Error> {
        Ok(Self { means: seen.classes("classes")?, all: seen.covariance("all")? })
    }

    /// The whitening of Σ(f − μ)(f − μ)ᵀ about the means of the classes, and its ridge.
    pub(super) fn within(&self) -> Result<(Array2<f64>, f64), Error> {
        let mut scatter = self.scatter()?;
        let mean = self.all.mean();
        for (count, of_class) in self.classes() {
            let apart = of_class - &mean;
            let column = apart.view().insert_axis(Axis(1));
            scatter.scaled_add(-count, &column.dot(&column.t()));
        }
        whitening(&scatter)
    }

    fn scatter(&self) -> Result<Array2<f64>, Error> {
        let covariance = self.all.matrix();
        let covariance =
            covariance.ok_or_else(|| refused("no training sample has finite features"))?;
        Ok(covariance * self.all.count() as f64)
    }

    fn classes(&self) -> impl Iterator<Item = (f64, Array1<f64>)> {
        let means = self.means;
        (0..means.len()).filter_map(move |k| {
            Some((means.count(k) as f64, Array1::from(means.mean(k)?.to_vec())))
        })
    }

    /// The squared distance to the nearest mean, N × 1. No derivative follows which one that is.
    pub(super) fn nearest(
        &self,
        b: &mut Build<'_>,
        features: Id,
        whitening: &Array2<f64>,
    ) -> Result<Id, OpError> {
        let y = self.whitened(b, features, whitening)?;
        let apart = self.beside_nearest(b, y, whitening)?;
        functions::square_sum(b, apart, 1)
    }

    /// The squared distance to the nearest mean, less that to the mean of all in the metric of the scatter about it, N × 1.
    ///
    /// That scatter is the one about the means of the classes and that of these means. Where they do not differ both distances
    /// are the same, so that only the directions count in which they do: those of the scatter of the means, once whitened.
    pub(super) fn relative(
        &self,
        b: &mut Build<'_>,
        features: Id,
        whitening: &Array2<f64>,
    ) -> Result<Id, OpError> {
        let centres = self.centres(whitening)?;
        let counts = Array1::from_iter(self.classes().map(|c| c.0.sqrt()));
        let weighted = &centres * &counts.insert_axis(Axis(1));
        let failed = || OpError::invalid("the scatter of the means of classes has no eigenvectors");
        let (spreads, directions) = linear::eigen(&linear::gram(&weighted)).ok_or_else(failed)?;
        let count = centres.nrows().min(spreads.len());
        let last = spreads.len() - count;
        let basis = whitening.dot(&directions.slice(s![.., last..]));
        let shrunk: Vec<f64> =
            spreads[last..].iter().map(|s| 1.0 / (1.0 + s.max(0.0)).sqrt()).collect();
        let y = self.whitened(b, features, &basis)?;
        let apart = self.beside_nearest(b, y, &basis)?;
        let shrunk = stored_row(b, &shrunk)?;
        b.formula([y, apart, shrunk], |[y, apart, shrunk]| {
            (apart.square() - (y * shrunk).square()).sum(&[1])
        })
    }

    /// The means of the classes about that of all in a basis, one row each.
    fn centres(&self, basis: &Array2<f64>) -> Result<Array2<f64>, OpError> {
        let mean = self.all.mean();
        let rows: Vec<f64> = self.classes().flat_map(|(_, m)| (m - &mean).dot(basis)).collect();
        let count = rows.len() / basis.ncols().max(1);
        Array2::from_shape_vec((count, basis.ncols()), rows)
            .map_err(|e| OpError::invalid(e.to_string()))
    }

    /// Features in a basis, less the nearest mean of a class there.
    fn beside_nearest(&self, b: &mut Build<'_>, y: Id, basis: &Array2<f64>) -> Result<Id, OpError> {
        let centres = self.centres(basis)?;
        let lengths: Vec<f64> = centres.outer_iter().map(|c| -0.5 * c.dot(&c)).collect();
        // ‖y − c‖² is least where y·c − ½‖c‖² is largest. The difference itself keeps its digits.
        let (turned, lengths) = (stored_matrix(b, &centres.t())?, stored_row(b, &lengths)?);
        let near = functions::matmul(b, y, turned)?;
        let near = b.add(near, lengths)?;
        let first = functions::first_max(b, near, 1)?;
        let centres = b.transpose(turned, &[1, 0])?;
        let centre = functions::matmul(b, first, centres)?;
        b.sub(y, centre)
    }

    fn whitened(
        &self,
        b: &mut Build<'_>,
        features: Id,
        whitening: &Array2<f64>,
    ) -> Result<Id, OpError> {
        let mean = stored_row(b, &self.all.mean().to_vec())?;
        let whitening = stored_matrix(b, whitening)?;
        let centred = b.sub(features, mean)?;
        functions::matmul(b, centred, whitening)
    }

    /// Says so if the ridge had to grow.
    pub(super) fn finding(ridge: f64, usual: f64) -> Option<Finding> {
        (ridge > usual).then(|| {
            let text = format!(
                "The features depend on each other so closely that {ridge:e} in place of {usual:e} had to be added to \
                 their scatter."
            );
            finding("scatter", Level::Note, ridge, text)
        })
    }
}

/// W with W·Wᵀ = (scatter + ridge)⁻¹, and the ridge.
fn whitening(scatter: &Array2<f64>) -> Result<(Array2<f64>, f64), Error> {
    let mut ridge = RIDGE;
    for _ in 0..TRIES {
        let mut whole = scatter.clone();
        whole.diag_mut().mapv_inplace(|v| v + ridge);
        if let Some(factor) = Cholesky::new(&whole) {
            return Ok((factor.whitening(), ridge));
        }
        ridge *= 10.0;
    }
    Err(refused("the scatter of the features has no inverse, whatever is added to it"))
}
