//! Hutchinson's estimator: random signs in the space of inputs.

use std::{collections::HashMap, sync::Arc};

use taste_choice::{Arguments, Choice};
use taste_graph::{
    Build,
    diff::{self, Curvature, Second, second_order},
};

use super::{Cut, Job, Once, PROBES, Problem, Schedule, mean_and_error, sign_lanes};
use crate::{
    Accuracy, Error, LaplacianKind, LaplacianMethod, Parts,
    laplacian::{COUNT, Rule, is_count},
};

pub(super) const KIND: &LaplacianKind = &LaplacianKind {
    choice: Choice {
        name: "hutchinson",
        usage: "hutchinson[:M]",
        about: "random signs in M directions of the input: unbiased for every model",
    },
    rule: &Hutchinson,
};

impl LaplacianMethod {
    /// Random signs in the space of inputs: unbiased for every model.
    pub const fn hutchinson(probes: usize) -> Self {
        Self::new(KIND, Some(probes))
    }
}

struct Hutchinson;

impl Rule for Hutchinson {
    fn read(&self, arguments: &mut Arguments<'_>) -> Result<Option<usize>, taste_choice::Error> {
        Ok(arguments.word_as("M", COUNT, is_count)?.or(Some(PROBES)))
    }

    fn accuracy(&self, count: Option<usize>) -> Accuracy {
        Accuracy::Random { draws: count.unwrap_or(PROBES) }
    }

    fn examples(&self, _width: usize) -> Vec<Option<usize>> {
        vec![Some(PROBES)]
    }

    fn cost(&self, _p: &Problem, count: Option<usize>) -> String {
        format!("unbiased, along {} random directions", count.unwrap_or(PROBES))
    }

    fn suits(&self, p: &Problem) -> Option<(Option<usize>, String)> {
        let Cut::Smooth(why) = &p.cut else { return None };
        let reason = format!("{why}, and the input has {} entries: random directions", p.dimension);
        Some((Some(PROBES), reason))
    }

    /// Mean vᵀHv for the trace, mean v⊙Hv for the diagonal, with v random signs, turned by R for a metric `RRᵀ`.
    fn build(
        &self,
        p: &mut Problem,
        job: &Job,
        count: Option<usize>,
        parts: &mut Parts,
    ) -> Result<Arc<dyn Schedule>, Error> {
        let (wants, count) = (job.wants, count.unwrap_or(PROBES));
        if wants.gradient {
            parts.gradient = Some(p.gradient()?);
        }
        if wants.diagonal {
            p.scalar_target("a diagonal")?;
        }
        let (x, f) = (p.x, p.f);
        let mut b = Build::new(&mut p.graph);
        let (v, signs) = sign_lanes(&mut b, x, count, job.signs)?;
        let v = p.metric.direct(&mut b, v, 1)?;
        let draws = if wants.diagonal {
            let product = match diff::hvp(&mut b, f, x, v)? {
                Some(product) => b.mul(v, product)?,
                None => b.scale(v, 0.0)?,
            };
            let sum = b.sum_lanes(product)?;
            parts.diagonal = Some(b.scale(sum, 1.0 / count as f64)?);
            let axes: Vec<usize> = (1..b.fact(product).rank()).collect();
            let totals = b.sum(product, &axes)?;
            let shape = b.fact(f).shape.clone();
            let totals = b.reshape(totals, &shape)?;
            Some(b.stacked(totals)?)
        } else {
            let mode = if wants.stderr { Curvature::Each } else { Curvature::Sum };
            let seeds = HashMap::from([(x, Second::along(v))]);
            let second = second_order(&mut b, &[f], &seeds, mode)?[0];
            match (second.and_then(|s| s.curvature), mode) {
                (Some(sum), Curvature::Sum) => {
                    parts.laplacian = Some(b.scale(sum, 1.0 / count as f64)?);
                    None
                }
                (Some(each), Curvature::Each) => Some(b.stacked(each)?),
                (None, _) => {
                    let zeros = b.zeros_like(f)?;
                    parts.laplacian = Some(zeros);
                    parts.stderr = wants.stderr.then_some(zeros);
                    None
                }
            }
        };
        if let Some(draws) = draws {
            let (mean, error) = mean_and_error(&mut Build::new(&mut p.graph), draws, count)?;
            parts.laplacian = wants.laplacian.then_some(mean);
            parts.stderr = error.filter(|_| wants.stderr);
        }
        Ok(Arc::new(Once { signs }))
    }
}
