//! The standard normal distribution.

use std::sync::Arc;

use serde_json::json;
use taste_choice::{Arguments, Choice};
use taste_graph::{Build, Id};

use super::{Field, FieldFamily, FieldSpec, Learner, Learning};
use crate::Error;

pub(super) const FAMILY: FieldFamily = FieldFamily {
    choice: Choice {
        name: "standard-normal",
        usage: "standard-normal",
        about: "s(y) = −y, for data that are standardised already",
    },
    read,
};

/// s(y) = −y.
#[derive(Clone, Copy, Debug)]
struct StandardNormal;

fn read(arguments: Arguments<'_>) -> Result<Arc<dyn FieldSpec>, Error> {
    arguments.finish()?;
    Ok(Arc::new(StandardNormal))
}

impl FieldSpec for StandardNormal {
    fn learns(&self) -> bool {
        false
    }

    fn begin(&self, _: &Learner<'_>) -> Result<Learning, Error> {
        Ok(Learning::done(*self))
    }
}

impl Field for StandardNormal {
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
    use crate::fields::testing;

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
