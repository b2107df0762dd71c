//! fDBD (Liu and Qin 2024): minus the mean distance of the features to the boundaries of the answer, relative to their
//! distance from the mean of training samples.

use std::sync::Arc;

use ndarray::Array2;
use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{
    About, Error, Family, Job, Method, Named, Needs, Split, Statistic, Step,
    passes::{Gather, Watch},
    refused,
};
use taste_ops::functions;

use super::shared::{Head, stored_matrix, stored_row};

pub(super) const FAMILY: &dyn Family = &Fdbd;

const CHOICE: Choice = Choice {
    name: "fdbd",
    usage: "fdbd",
    about: "minus the mean distance of the features to the decision boundaries, relative to their distance from the \
            mean of training samples",
};

/// −mean distance to boundaries / distance to the mean.
#[derive(Clone, Copy, Debug)]
struct Fdbd;

impl Entry for Fdbd {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for Fdbd {
    fn about(&self) -> About {
        About { paper: "Liu and Qin 2024", fit: "1", score: "1" }
    }

    fn read(&self, _: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        Ok(Arc::new(*self))
    }
}

impl Method for Fdbd {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, learns: true, features: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let Head { logits, feature, weights, .. } = Head::of(job, CHOICE.name)?;
        let watches = vec![Watch::value("features", feature.id, Gather::Moments)];
        let purpose = "training samples for the mean features";
        Ok(Step::pass(purpose, Split::Fit, watches, move |job, seen| {
            let mean = seen.moments("features")?.mean();
            let mean = mean.ok_or_else(|| refused("no training sample has finite features"))?;
            let rows = job.draft.rows();
            let mut b = job.draft.build();
            let (mean, inverse) =
                (stored_row(&mut b, mean)?, stored_matrix(&mut b, &inverse_distances(&weights))?);
            let first = functions::first_max(&mut b, logits.id, 1)?;
            let inverse = functions::matmul(&mut b, first, inverse)?;
            let largest = functions::largest(&mut b, logits.id, 1)?;
            let distances = b.formula([logits.id, largest, inverse], |[z, largest, inverse]| {
                ((largest - z) * inverse).sum(&[1])
            })?;
            let apart = b.formula([feature.id, mean], |[x, mean]| {
                (x - mean).square().sum(&[1]).then(functions::sqrt)
            })?;
            let apart = functions::at_least(&mut b, apart, LEAST)?;
            let inverse = functions::reciprocal(&mut b, apart)?;
            let others = logits.classes.saturating_sub(1).max(1) as f64;
            let score =
                b.formula([distances, inverse], |[d, inverse]| (-1.0 / others) * d * inverse)?;
            Ok(Statistic::new(b.reshape(score, &[rows])?).into())
        }))
    }
}

/// 1/‖wᵢ − wⱼ‖ for columns of weights; zero where they are the same, so that there is no boundary.
fn inverse_distances(weights: &Array2<f64>) -> Array2<f64> {
    let classes = weights.ncols();
    Array2::from_shape_fn((classes, classes), |(i, j)| {
        let apart = &weights.column(i) - &weights.column(j);
        let distance = apart.dot(&apart).sqrt();
        if distance > 0.0 { 1.0 / distance } else { 0.0 }
    })
}

/// Features are at least this far from the mean.
const LEAST: f64 = 1e-8;
