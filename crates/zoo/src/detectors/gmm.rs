//! A mixture of Gaussians on features, one for every class with a covariance of its own: minus the logarithm of its
//! density.

use std::{f64::consts::TAU, sync::Arc};

use ndarray::{Array1, Array2, Axis};
use serde_json::json;
use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{
    About, Error, Family, Job, Method, Named, Needs, Split, Statistic, Step,
    passes::{Drawn, Gather, Watch},
    refused,
};
use taste_graph::{Build, Dim, Id, OpError};
use taste_ops::functions;
use taste_stats::{
    groups::GroupMeans,
    linear::{self, Cholesky},
};

use super::shared::{Logits, MOST_ENTRIES, check_labels, stored, stored_row};

pub(super) const FAMILY: &dyn Family = &Gmm { reg: 1e-6 };

const CHOICE: Choice = Choice {
    name: "gmm",
    usage: "gmm[:reg=1e-6]",
    about: "minus the log density of the features under a mixture of Gaussians, one for every class; reg is added to \
            the variances",
};

/// −log Σ wₖ N(f; μₖ, Σₖ).
#[derive(Clone, Copy, Debug)]
struct Gmm {
    reg: f64,
}

impl Entry for Gmm {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for Gmm {
    fn about(&self) -> About {
        About {
            paper: "class-conditional Gaussians, as pytorch-ood has them",
            fit: "1",
            score: "1",
        }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        let fits = |r: &f64| *r > 0.0 && r.is_finite();
        let reg = arguments.number("reg", "a number above 0", fits)?;
        Ok(Arc::new(Self { reg: reg.unwrap_or(self.reg) }))
    }
}

impl Method for Gmm {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn written(&self) -> String {
        format!("{}:reg={}", CHOICE.name, self.reg)
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, learns: true, labels: true, features: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let logits = Logits::of(job);
        let feature = job.draft.features(job.settings.features.as_deref())?;
        let (classes, width, reg) = (logits.classes, feature.width, self.reg);
        if classes.saturating_mul(width).saturating_mul(width) > MOST_ENTRIES {
            return Err(refused(format!(
                "the method gmm has a matrix of {width} by {width} numbers for each of {classes} classes, which is more than \
                 a file should hold; mahalanobis has one for all"
            )));
        }
        let rows = Gather::rows(MOST_ENTRIES, width, job.settings.seed);
        let watches = vec![Watch::value("rows", feature.id, rows)];
        let purpose = "training samples for the classes";
        Ok(Step::pass(purpose, Split::Fit, watches, move |job, seen| {
            let drawn = seen.rows("rows")?;
            let means = means(drawn, classes)?;
            check_labels(job, CHOICE.name, &means, "")?;
            let mixture = Mixture::of(drawn, &means, reg)?;
            let rows = job.draft.rows();
            let mut b = job.draft.build();
            let score = mixture.minus_log_density(&mut b, feature.id, rows)?;
            let mut statistic = Statistic::new(score);
            statistic.facts = json!({ "features": feature.name, "rows": drawn.keys.len() });
            Ok(statistic.into())
        }))
    }
}

fn means(drawn: &Drawn, classes: usize) -> Result<GroupMeans, Error> {
    let mut means = GroupMeans::new(classes, drawn.values.ncols());
    for (i, row) in drawn.values.outer_iter().enumerate() {
        let label = drawn.labels.as_ref().map(|l| l[i]);
        means.push(label, &row.to_vec())?;
    }
    Ok(means)
}

/// Gaussians, one after the other.
struct Mixture {
    width: usize,
    means: Vec<f64>,
    /// Wₖ with Wₖ·Wₖᵀ = Σₖ⁻¹.
    whitenings: Vec<f64>,
    /// log wₖ − ½(log det Σₖ + d·log 2π).
    levels: Vec<f64>,
}

impl Mixture {
    fn of(drawn: &Drawn, means: &GroupMeans, reg: f64) -> Result<Self, Error> {
        let width = drawn.values.ncols();
        let mut mixture =
            Self { width, means: Vec::new(), whitenings: Vec::new(), levels: Vec::new() };
        let labels = drawn.labels.as_deref().unwrap_or_default();
        for class in 0..means.len() {
            let Some(mean) = means.mean(class) else { continue };
            let own = |i: &usize| labels.get(*i) == Some(&(class as i64));
            let rows: Vec<usize> = (0..drawn.values.nrows()).filter(own).collect();
            let centred: Array2<f64> =
                drawn.values.select(Axis(0), &rows).mapv(f64::from) - &Array1::from(mean.to_vec());
            let mut covariance = linear::gram(&centred) / rows.len().max(1) as f64;
            covariance.diag_mut().mapv_inplace(|v| v + reg);
            let Some(factor) = Cholesky::new(&covariance) else {
                return Err(refused(format!(
                    "the covariance of the features of class {class} has no inverse with reg={reg}: a larger one helps"
                )));
            };
            let weight = rows.len() as f64 / labels.len().max(1) as f64;
            let level = weight.ln() - 0.5 * (factor.log_determinant() + width as f64 * TAU.ln());
            mixture.means.extend(mean);
            mixture.whitenings.extend(factor.whitening().iter());
            mixture.levels.push(level);
        }
        Ok(mixture)
    }

    fn minus_log_density(self, b: &mut Build<'_>, features: Id, rows: Dim) -> Result<Id, OpError> {
        let (classes, width) = (self.levels.len(), self.width);
        let x = b.reshape(features, &[Dim::from(1), rows, Dim::from(width)])?;
        let means = stored(b, &[classes, 1, width], self.means)?;
        let whitenings = stored(b, &[classes, width, width], self.whitenings)?;
        let centred = b.sub(x, means)?;
        let white = functions::matmul(b, centred, whitenings)?;
        let squares = functions::square_sum(b, white, 2)?;
        let squares = b.reshape(squares, &[Dim::from(classes), rows])?;
        let squares = b.transpose(squares, &[1, 0])?;
        let levels = stored_row(b, &self.levels)?;
        let terms = b.formula([levels, squares], |[level, square]| level - 0.5 * square)?;
        let log_density = functions::log_sum_exp(b, terms, 1)?;
        let score = b.neg(log_density)?;
        b.reshape(score, &[rows])
    }
}
