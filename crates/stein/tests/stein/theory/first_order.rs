//! The first-order operator sees values of f rather than slopes: `E_q[Aᵛf] = −v·E_q[f·∇log(q/p)]`. For f = x₂ − x₁ and a
//! standard normal moved by ε(cos θ, sin θ) that is −ε²(v·u)(sin θ − cos θ), with blind spots; its square has none, but
//! is no Stein operator (appendix G).

use std::f64::consts::{FRAC_PI_4, TAU};

use taste_engine::{Model, Target};

use super::{
    density::{Mixture, double_rows},
    estimate::Estimate,
    models::{dot, first, linear, mean_residual},
};
use crate::common::network;

const ROWS: usize = 8192;

fn task() -> Model {
    linear(&[vec![-1.0, 1.0]], &[0.0])
}

fn along(v: &[f64]) -> String {
    let entries: Vec<String> = v.iter().map(f64::to_string).collect();
    format!("first-order:{}", entries.join(","))
}

fn mean(operator: &str, size: f64, angle: f64) -> Estimate {
    let q = Mixture::unit(&[size * angle.cos(), size * angle.sin()]);
    let p = Mixture::unit(&[0.0, 0.0]);
    mean_residual(&task(), &p, operator, Target::output(0), &q.rows(ROWS, 111))
}

#[test]
fn its_functional_projects_the_shift_on_the_values() {
    let model = network(&[3, 16, 3], "Tanh", 112);
    let (p, q) = (Mixture::random(2, 3, 113), Mixture::random(2, 3, 114));
    let (v, target) = ([1.0, -0.5, 0.3], Target::prob(Some(2)));
    let left = mean_residual(&model, &p, &along(&v), target, &q.rows(ROWS, 115));
    let samples = q.rows(ROWS, 116);
    let products: Vec<f64> = first(&model, target, &samples)
        .iter()
        .zip(double_rows(&samples))
        .map(|(at, x)| -at.value * (dot(&v, &q.score(&x)) - dot(&v, &p.score(&x))))
        .collect();
    left.assert_stands_out("the shift");
    left.assert_is(Estimate::of(&products), "E_q[Aᵛf]");
}

#[test]
fn it_answers_a_moved_gaussian_as_its_closed_form_does() {
    for v in [[1.0, 1.0], [1.0, 0.0], [0.3, -1.2]] {
        for size in [1.0, 2.0, 4.0] {
            for step in 0..12 {
                let angle = TAU * f64::from(step) / 12.0;
                let u = [angle.cos(), angle.sin()];
                let closed = -size * size * dot(&v, &u) * (u[1] - u[0]);
                let what = format!("v = {v:?}, ε = {size}, θ = {angle:.2}");
                mean(&along(&v), size, angle).assert_is(Estimate::exactly(closed), &what);
                if v.iter().all(|v| *v > 0.5) {
                    let simple = size * size * (2.0 * angle).cos();
                    assert!((closed - simple).abs() < 1e-12, "{what}: {closed} and {simple}");
                }
            }
        }
    }
}

#[test]
fn it_is_blind_where_the_task_suffers_most() {
    let (size, worst) = (4.0, 3.0 * FRAC_PI_4);
    for step in 0..4 {
        let angle = FRAC_PI_4 + TAU * f64::from(step) / 4.0;
        mean(&along(&[1.0, 1.0]), size, angle).assert_vanishes(&format!("θ = {angle:.2}"));
    }
    let langevin = mean("langevin", size, worst);
    langevin.assert_stands_out("the Langevin operator, there");
    langevin.assert_is(Estimate::exactly(-size * 2f64.sqrt()), "−ε(sin θ − cos θ)");
}

#[test]
fn the_square_of_its_length_has_no_blind_spots_and_no_mean_of_zero() {
    // With a, b the shift along (−1, 1)/√2 and (1, 1)/√2.
    let closed =
        |a: f64, b: f64| 6.0 + 2.0 * a.powi(4) + 10.0 * a * a + 2.0 * b * b + 2.0 * a * a * b * b;
    for size in [0.0, 2.0] {
        for step in 0..8 {
            let angle = TAU * f64::from(step) / 8.0;
            let (a, b) = (size * (angle - 3.0 * FRAC_PI_4).cos(), size * (angle - FRAC_PI_4).cos());
            let found = mean("first-order-norm", size, angle);
            found
                .assert_is(Estimate::exactly(closed(a, b)), &format!("ε = {size}, θ = {angle:.2}"));
            let shift = Estimate::combined(&[(1.0, found), (-1.0, Estimate::exactly(6.0))]);
            if size > 0.0 {
                shift.assert_stands_out(&format!("θ = {angle:.2}"));
            }
        }
    }
}
