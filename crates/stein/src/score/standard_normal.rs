//! The standard normal distribution.

use serde_json::json;
use taste_data::Samples;
use taste_graph::{Build, Id};

use super::{ScoreModel, Specification, arguments::Arguments};
use crate::Error;

/// s(y) = −y.
#[derive(Clone, Copy, Debug)]
struct StandardNormal;

pub(super) fn read(arguments: Arguments<'_>) -> Result<Box<dyn Specification>, Error> {
    arguments.finish()?;
    Ok(Box::new(StandardNormal))
}

impl Specification for StandardNormal {
    fn learns(&self) -> bool {
        false
    }

    fn fit(&self, _samples: &dyn Samples, _seed: u64) -> Result<Box<dyn ScoreModel>, Error> {
        Ok(Box::new(*self))
    }
}

impl ScoreModel for StandardNormal {
    fn describe(&self) -> serde_json::Value {
        json!({ "family": "standard-normal" })
    }

    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error> {
        Ok(b.neg(y)?)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Axis;

    use super::*;
    use crate::score::testing;

    #[test]
    fn the_stein_identity_holds_for_a_polynomial() {
        // f = x₀²x₁ + x₂³ + x₀²: Δf + s·∇f has mean zero.
        let points = testing::normal_samples(50_000, 3, 10);
        let scores = testing::scores(&StandardNormal, &points);
        let (mut sum, mut squares) = (0.0, 0.0);
        for (x, s) in points.axis_iter(Axis(0)).zip(scores.axis_iter(Axis(0))) {
            let [x0, x1, x2] = [0, 1, 2].map(|i| f64::from(x[i]));
            let gradient = [2.0 * x0 * x1 + 2.0 * x0, x0 * x0, 3.0 * x2 * x2];
            let drift: f64 = s.iter().zip(gradient).map(|(s, g)| s * g).sum();
            let residual = 2.0 * x1 + 6.0 * x2 + 2.0 + drift;
            sum += residual;
            squares += residual * residual;
        }
        let n = points.shape()[0] as f64;
        let standard_error = (squares / n).sqrt() / n.sqrt();
        assert!((sum / n).abs() < 4.0 * standard_error, "{} ± {standard_error}", sum / n);
        assert!(standard_error < 0.05, "{standard_error}");
    }
}
