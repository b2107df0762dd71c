//! Virtual-logit matching (Wang, Li, Feng and Zhang 2022): the part of the features outside of the principal space of
//! training samples, scaled as logits are, less the energy of the logits.

use std::sync::Arc;

use ndarray::{Array1, Array2, Axis, s};
use serde_json::json;
use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{
    About, Error, Family, Job, Method, Named, Needs, Split, Statistic, Step,
    passes::{Gather, Gathered, Watch},
    refused,
};
use taste_ops::functions;
use taste_stats::linear;

use super::shared::{Head, MOST_ENTRIES, count, stored_matrix, stored_row};

pub(super) const FAMILY: &dyn Family = &Vim { dim: None };

const CHOICE: Choice = Choice {
    name: "vim",
    usage: "vim[:dim=D]",
    about: "the size of the features outside of the space of their D main directions, less the energy; D is half the \
            features, 512 from 768 features on, 1000 from 2048 on",
};

/// α·‖(f − o)R‖ − log Σ exp(z).
#[derive(Clone, Copy, Debug)]
struct Vim {
    /// Directions of the principal space.
    dim: Option<usize>,
}

impl Entry for Vim {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for Vim {
    fn about(&self) -> About {
        About { paper: "Wang, Li, Feng and Zhang 2022", fit: "1", score: "1" }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        Ok(Arc::new(Self { dim: count(arguments, "dim", "directions")? }))
    }
}

impl Method for Vim {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn written(&self) -> String {
        self.dim.map_or_else(|| CHOICE.name.to_owned(), |dim| format!("{}:dim={dim}", CHOICE.name))
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, learns: true, features: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let Head { logits, feature, weights, bias } = Head::of(job, CHOICE.name)?;
        let width = feature.width;
        let dim = self.dim.unwrap_or_else(|| default_dimension(width));
        if dim >= width {
            return Err(refused(format!(
                "the method vim looks at features outside of {dim} main directions, and there are {width} features"
            )));
        }
        let mut b = job.draft.build();
        let largest = functions::largest(&mut b, logits.id, 1)?;
        let with_largest = functions::concat(&mut b, &[feature.id, largest], 1)?;
        let kept = Gather::rows(MOST_ENTRIES, width + 1, job.settings.seed);
        let watches = vec![
            Watch::value("features", feature.id, Gather::Covariance),
            Watch::value("rows", with_largest, kept),
        ];
        let purpose = "training samples for the main directions";
        Ok(Step::pass(purpose, Split::Fit, watches, move |job, seen| {
            let origin = -origin(&weights, &bias)?;
            let rest = rest(seen, &origin, dim)?;
            let alpha = scale(seen, &origin, &rest)?;
            let rows = job.draft.rows();
            let mut b = job.draft.build();
            let (o, rest) = (stored_row(&mut b, &origin.to_vec())?, stored_matrix(&mut b, &rest)?);
            let centred = b.sub(feature.id, o)?;
            let outside = functions::matmul(&mut b, centred, rest)?;
            let level = functions::log_sum_exp(&mut b, logits.id, 1)?;
            let score = b.formula([outside, level], |[outside, level]| {
                alpha * outside.square().sum(&[1]).then(functions::sqrt) - level
            })?;
            let mut statistic = Statistic::new(b.reshape(score, &[rows])?);
            statistic.facts = json!({ "features": feature.name, "dimension": dim, "alpha": alpha });
            Ok(statistic.into())
        }))
    }
}

fn default_dimension(width: usize) -> usize {
    match width {
        2048.. => 1000,
        768.. => 512,
        _ => width / 2,
    }
}

/// The shortest features that the last layer makes its bias of. Singular values that single precision leaves no digits of
/// count as zero.
fn origin(weights: &Array2<f64>, bias: &Array1<f64>) -> Result<Array1<f64>, Error> {
    let (width, classes) = weights.dim();
    let share = f64::from(f32::EPSILON) * width.max(classes) as f64;
    linear::shortest_solution(&weights.t().to_owned(), bias, share)
        .ok_or_else(|| refused("the weights of the last layer have no singular values"))
}

/// The directions that the features vary least in, all but `dim`, one column each.
fn rest(seen: &Gathered, origin: &Array1<f64>, dim: usize) -> Result<Array2<f64>, Error> {
    let covariance = seen.covariance("features")?;
    let none = || refused("the features of training samples have no main directions");
    let apart = (covariance.mean() - origin).insert_axis(Axis(1));
    let about_origin = covariance.matrix().ok_or_else(none)? + apart.dot(&apart.t());
    let (_, vectors) = linear::eigen(&about_origin).ok_or_else(none)?;
    Ok(vectors.slice(s![.., ..vectors.ncols() - dim]).to_owned())
}

/// The share of the features that their rounding to single precision may be.
const ROUNDING: f64 = 1e-6;

/// The mean of the largest logit, over the mean size outside of the principal space.
fn scale(seen: &Gathered, origin: &Array1<f64>, rest: &Array2<f64>) -> Result<f64, Error> {
    let rows = seen.rows("rows")?.values.mapv(f64::from);
    let width = origin.len();
    let centred = &rows.slice(s![.., ..width]) - origin;
    let outside = linear::inner_products(&centred, &rest.t().to_owned());
    let sizes = outside.map_axis(Axis(1), |row| row.dot(&row).sqrt());
    let whole = centred.map_axis(Axis(1), |row| row.dot(&row).sqrt());
    let logits = rows.column(width);
    match (logits.mean(), sizes.mean(), whole.mean()) {
        (Some(logit), Some(size), Some(whole)) if size > ROUNDING * whole => Ok(logit / size),
        _ => Err(refused(format!(
            "the method vim: the features of {} training samples have no part outside of {} main directions; more samples, \
             or fewer directions (vim:dim=D), leave some",
            rows.nrows(),
            width - rest.ncols()
        ))),
    }
}
