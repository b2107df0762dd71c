//! What is wrong with a score model, in words.

use super::{Denoising, FieldCheck, identity::Joint};

/// The relative error of the size of a score that matters to no one.
const SIZE: f64 = 0.1;
/// With the noise taken out, chance hides little, and even a good network is off by something: so many deviations of what is
/// left matter to no one.
const IDLE: f64 = 0.25;

/// The first problem, if there is one.
pub(super) fn problem(check: &FieldCheck, joint: &Joint, fitted: Option<f64>) -> Option<String> {
    let FieldCheck { scale, mean, .. } = check;
    // A score is that of the noise, which any network tells, and beyond it that of the data.
    let beyond = check.denoising.map_or(1.0, |d| d.loss.min(1.0));
    let off = (scale - 1.0).abs();
    if off > SIZE * beyond && off > 4.0 * check.scale_error {
        return Some(size(check, fitted.is_some()));
    }
    if let Some(found) = check.denoising.filter(Denoising::is_worse) {
        return Some(format!(
            "The score takes noise out of samples worse than a Gaussian does: its loss is larger by {:.3} than {:.3}.",
            found.excess, found.gaussian
        ));
    }
    let (n, idle) = (check.samples - check.not_finite, check.denoising.map_or(0.0, |_| IDLE));
    if !mean.holds(idle, n) {
        return Some(format!(
            "The mean score of feature {} is {:.1} standard errors from zero: the score model puts its mass elsewhere than the \
             data.",
            mean.at, mean.largest
        ));
    }
    if !joint.holds(fitted) {
        return Some(format!(
            "The mean scores of all {} features are {:.2} standard errors from zero (root mean square): the score model \
             puts its mass elsewhere than the data.",
            mean.functions,
            joint.typical()
        ));
    }
    let waves = [
        (&check.waves, n, "in a random direction".to_owned()),
        (&check.columns, n, format!("along feature {}", check.columns.at)),
        (&check.axes, n - n / 2, format!("along principal axis {}", check.axes.at + 1)),
    ];
    let worst = waves.iter().filter(|(found, n, _)| !found.holds(idle, *n));
    let worst = worst.max_by(|a, b| a.0.largest.total_cmp(&b.0.largest));
    worst.map(|(found, _, what)| {
        format!(
            "Location and scale are right, but {what} the Stein identity is off by {:.1} standard errors: the density has \
             another shape than the data. A mixture, kernels or a trained score model follow shapes that a Gaussian \
             can't.",
            found.largest
        )
    })
}

/// What a wrong size means.
fn size(check: &FieldCheck, is_fitted: bool) -> String {
    let scale = check.scale;
    let shrinkage = check.score["shrinkage"].as_f64().filter(|s| *s > 0.0);
    let why = match shrinkage {
        _ if !is_fitted || scale <= 0.0 => {
            "check the coordinates that it takes samples in, its noise level and its sign"
                .to_owned()
        }
        Some(intensity) if scale < 1.0 => format!(
            "its correlations are shrunk by {intensity:.2}, so that it is wider than the data; more samples need less \
             of that"
        ),
        _ if scale < 1.0 => "the fitted density is wider than the data".to_owned(),
        _ => "the fitted density is narrower than the data, as with too few samples".to_owned(),
    };
    let size = match check.denoising {
        None => format!("The score is {scale:.2} times as large as the data imply"),
        Some(found) => format!(
            "The score is {scale:.3} times as large as the data imply, off by {:.0} % of what it is beyond the noise",
            100.0 * (scale - 1.0).abs() / found.loss.min(1.0)
        ),
    };
    format!("{size}: {why}.")
}
