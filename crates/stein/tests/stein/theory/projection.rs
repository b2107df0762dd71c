//! The mean residual under q is `−E_q[∇f·∇log(q/p)]` (section 4.1), as a whole and entry by entry: only the part of a
//! shift along the gradient counts.

use taste_engine::Target;

use super::{
    density::{Mixture, double_rows},
    estimate::Estimate,
    models::{dot, first, linear, mean_residual, residuals},
};
use crate::common::network;

const ROWS: usize = 16_384;

/// ∇log(q/p).
fn shift_field(p: &Mixture, q: &Mixture, x: &[f64]) -> Vec<f64> {
    q.score(x).iter().zip(p.score(x)).map(|(q, p)| q - p).collect()
}

#[test]
fn the_functional_projects_the_shift_on_the_gradient() {
    for (seed, activation) in [(61, "Tanh"), (62, "Softplus"), (63, "Gelu")] {
        let model = network(&[3, 16, 3], activation, seed);
        let p = Mixture::random(2, 3, seed);
        let q = Mixture::random(3, 3, seed + 10);
        for target in [Target::prob(Some(0)), Target::logit(Some(2)), Target::entropy()] {
            let what = format!("{activation}, {target}");
            let functional =
                residuals(&model, &p, "langevin", Some(target), true, &q.rows(ROWS, 64));
            let other = q.rows(ROWS, 65);
            let products: Vec<Vec<f64>> = first(&model, target, &other)
                .iter()
                .zip(double_rows(&other))
                .map(|(at, x)| {
                    let field = shift_field(&p, &q, &x);
                    at.gradient.iter().zip(field).map(|(g, u)| -g * u).collect()
                })
                .collect();
            let sums: Vec<f64> = products.iter().map(|row| row.iter().sum()).collect();
            let left = Estimate::of_column(&functional.components.column(0));
            left.assert_is(Estimate::of(&sums), &what);
            let entries = Estimate::of_entries(&functional.map.expect("a map"));
            for (i, left) in entries.iter().enumerate() {
                let column: Vec<f64> = products.iter().map(|row| row[i]).collect();
                left.assert_is(Estimate::of(&column), &format!("{what}, entry {i}"));
            }
            let largest = entries.iter().map(|e| e.surprise()).fold(0.0, f64::max);
            assert!(largest > 9.0, "{what}: the shift does not show");
        }
    }
}

#[test]
fn a_shift_across_the_gradient_is_invisible_and_one_along_it_is_not() {
    let w = vec![1.0, -2.0, 0.5];
    let model = linear(std::slice::from_ref(&w), &[0.3]);
    let p = Mixture::unit(&[0.0; 3]);
    let mean = |by: &[f64]| {
        let samples = p.moved(by).rows(ROWS, 66);
        mean_residual(&model, &p, "langevin", Target::output(0), &samples)
    };
    let across = [6.0, 3.0, 0.0];
    assert!(dot(&w, &across).abs() < 1e-12);
    mean(&across).assert_vanishes("a shift of length 6.7 across the gradient");
    let along = mean(&[0.1, -0.2, 0.05]);
    along.assert_stands_out("a shift of length 0.2 along it");
    along.assert_is(Estimate::exactly(-0.1 - 0.4 - 0.025), "the same");
}
