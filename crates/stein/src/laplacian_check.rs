//! The exact Laplacian against an unbiased estimate of it.

use ndarray::ArrayD;
use taste_detector::Job;
use taste_engine::{LaplacianMethod, Request, Target, Value, Wants};
use taste_stats::quantile::median;

use crate::{
    Error, refused,
    residual::{Residual, Subject},
};

/// Samples on which the two are compared.
pub(crate) const COMPARED: usize = 32;

/// The median of |difference| in standard errors of the estimate, on a few samples; nothing where there is no exact one.
pub(crate) fn distance(
    job: &Job<'_>,
    subject: Subject,
    residual: &Residual,
    method: LaplacianMethod,
    samples: &ndarray::Array2<f32>,
) -> Result<Option<f64>, Error> {
    if residual.method.is_none() || residual.is_estimate || residual.is_flat {
        return Ok(None);
    }
    let target = match subject {
        Subject::Single(target) => target,
        Subject::EveryClass => Target::prob(None),
    };
    if samples.nrows() == 0 {
        return Ok(None);
    }
    let shape: Vec<usize> =
        std::iter::once(samples.nrows()).chain(job.draft.sample_shape()).collect();
    let samples = ArrayD::from_shape_vec(shape, samples.iter().copied().collect())
        .map_err(|e| refused(e.to_string()))?;
    let samples = Value::from(samples);
    let laplacian = |method, stderr: bool| -> Result<(Vec<f32>, Vec<f32>), Error> {
        let wants = Wants { laplacian: true, stderr, ..Wants::default() };
        let asked =
            Request { target: Some(target), laplacian_method: method, wants, ..job.asked.clone() };
        let derived = job.model.derive(&asked)?;
        let compiled = derived.compile(&job.engine.backend, job.engine.threads)?;
        let input = derived.wrt().to_owned();
        let outputs = compiled.run(&[(&input, &samples)], 0)?;
        let numbers =
            |v: Option<Value>| v.map(|v| v.to_f32().into_iter().collect()).unwrap_or_default();
        Ok((numbers(outputs.laplacian), numbers(outputs.stderr)))
    };
    let (exact, _) = laplacian(method, false)?;
    let (estimate, errors) = laplacian(LaplacianMethod::hutchinson(16), true)?;
    let apart: Vec<f64> = exact
        .iter()
        .zip(&estimate)
        .zip(&errors)
        .filter(|(_, e)| **e > 0.0)
        .map(|((a, b), e)| f64::from((a - b).abs() / e))
        .filter(|z| z.is_finite())
        .collect();
    Ok(median(&apart))
}
