//! Under q ∝ p·exp(εh), the functional starts out as ε times the covariance of Lf and h under p, and the variance of
//! the residual grows by ε times that of (Lf)² and h (section 4.2). The first covariance is also the mean of −∇f·∇h, which
//! it would not be for any other function than Lf.

use ndarray::ArrayD;
use taste_engine::{Model, Target};

use super::{
    density::{Mixture, double_rows, single},
    estimate::Estimate,
    models::{dot, first, residuals},
};
use crate::common::network;

const ROWS: usize = 40_000;
const STEP: f64 = 0.05;
const TARGET: Target = Target::logit(Some(1));

/// A potential h under which tilts of a standard normal are normal again.
struct Potential {
    name: &'static str,
    h: fn(&[f64]) -> f64,
    slope: fn(&[f64]) -> [f64; 3],
    mean: f64,
    /// A sample of the tilt from one of p.
    tilted: fn(f64, &mut [f64]),
}

const POTENTIALS: [Potential; 2] = [
    Potential {
        name: "a·x",
        h: |x| 0.8 * x[0] - 0.6 * x[1] + 0.5 * x[2],
        slope: |_| [0.8, -0.6, 0.5],
        mean: 0.0,
        tilted: |eps, x| {
            x[0] += 0.8 * eps;
            x[1] -= 0.6 * eps;
            x[2] += 0.5 * eps;
        },
    },
    Potential {
        name: "−(x₀² + x₁²)/2",
        h: |x| -0.5 * (x[0] * x[0] + x[1] * x[1]),
        slope: |x| [-x[0], -x[1], 0.0],
        mean: -1.0,
        tilted: |eps, x| {
            x[0] /= (1.0 + eps).sqrt();
            x[1] /= (1.0 + eps).sqrt();
        },
    },
];

/// Residuals at samples of the tilt, the same noise for every ε.
fn at(model: &Model, potential: &Potential, eps: f64, samples: &ArrayD<f32>) -> Vec<f64> {
    let mut moved = samples.clone();
    for mut row in moved.outer_iter_mut() {
        let mut x: Vec<f64> = row.iter().map(|&v| f64::from(v)).collect();
        (potential.tilted)(eps, &mut x);
        row.iter_mut().zip(x).for_each(|(v, x)| *v = single(x));
    }
    let p = Mixture::unit(&[0.0; 3]);
    let found = residuals(model, &p, "langevin", Some(TARGET), false, &moved);
    found.components.column(0).iter().map(|&v| f64::from(v)).collect()
}

/// The slope at ε = 0 of the mean of `of`, from ±STEP and ±2·STEP with the cubic term taken off.
fn slope(of: impl Fn(f64) -> Vec<f64>) -> Estimate {
    let central = |eps: f64| -> Vec<f64> {
        of(eps).iter().zip(of(-eps)).map(|(up, down)| (up - down) / (2.0 * eps)).collect()
    };
    let (near, far) = (central(STEP), central(2.0 * STEP));
    Estimate::of(&near.iter().zip(far).map(|(n, f)| (4.0 * n - f) / 3.0).collect::<Vec<_>>())
}

fn covariance(residuals: &[f64], samples: &ArrayD<f32>, potential: &Potential) -> Estimate {
    let mean = residuals.iter().sum::<f64>() / residuals.len() as f64;
    let products: Vec<f64> = residuals
        .iter()
        .zip(double_rows(samples))
        .map(|(r, x)| (r - mean) * ((potential.h)(&x) - potential.mean))
        .collect();
    Estimate::of(&products)
}

#[test]
fn the_functional_starts_with_the_covariance_of_residual_and_potential() {
    let model = network(&[3, 16, 3], "Softplus", 71);
    let p = Mixture::unit(&[0.0; 3]);
    for potential in &POTENTIALS {
        let (one, other) = (p.rows(ROWS, 72), p.rows(ROWS, 73));
        let slope = slope(|eps| at(&model, potential, eps, &one));
        let covariance = covariance(&at(&model, potential, 0.0, &other), &other, potential);
        covariance.assert_stands_out(potential.name);
        slope.assert_is(covariance, potential.name);
        let third = p.rows(ROWS, 76);
        let products: Vec<f64> = first(&model, TARGET, &third)
            .iter()
            .zip(double_rows(&third))
            .map(|(at, x)| -dot(&at.gradient, &(potential.slope)(&x)))
            .collect();
        slope.assert_is(Estimate::of(&products), &format!("{}, by gradients", potential.name));
    }
}

#[test]
fn the_variance_starts_with_the_covariance_of_its_square_and_the_potential() {
    let model = network(&[3, 16, 3], "Softplus", 71);
    let p = Mixture::unit(&[0.0; 3]);
    for potential in &POTENTIALS {
        let (one, other) = (p.rows(ROWS, 74), p.rows(ROWS, 75));
        let slope = slope(|eps| {
            let found = at(&model, potential, eps, &one);
            let mean = found.iter().sum::<f64>() / found.len() as f64;
            found.iter().map(|r| (r - mean) * (r - mean)).collect()
        });
        let squares: Vec<f64> = at(&model, potential, 0.0, &other).iter().map(|r| r * r).collect();
        let covariance = covariance(&squares, &other, potential);
        covariance.assert_stands_out(potential.name);
        slope.assert_is(covariance, potential.name);
    }
}
