//! With a score s̃ that is not p's, the functional moves by its value without a shift and by the error of the score along
//! the gradient (section 4.3): `E_q[L̃f] = E_p[L̃f] + S_f(p, q) + E_p[g·(q/p − 1)]` with g = (s̃ − s)·∇f.

use taste_engine::Target;

use super::{
    density::{Mixture, double_rows},
    estimate::Estimate,
    models::{dot, first, mean_residual},
};
use crate::common::network;

const ROWS: usize = 40_000;

#[test]
fn a_wrong_score_moves_the_functional_by_its_error_along_the_gradient() {
    for (seed, activation) in [(81, "Tanh"), (82, "Softplus")] {
        let model = network(&[3, 16, 3], activation, seed);
        let p = Mixture::random(2, 3, seed);
        let wrong = Mixture::gaussian(&[0.0, 0.5, -0.5], &[0.5, 0.6, 0.5]);
        let target = Target::logit(Some(1));
        // A shift along the gradient, where score errors show.
        let samples = p.rows(ROWS, 84);
        let at = first(&model, target, &samples);
        let slope: Vec<f64> =
            (0..3).map(|i| at.iter().map(|at| at.gradient[i]).sum::<f64>() / ROWS as f64).collect();
        let length = dot(&slope, &slope).sqrt();
        let q = p.moved(&slope.iter().map(|g| 0.5 * g / length).collect::<Vec<_>>());
        let mean = |score: &Mixture, of: &Mixture, seed| {
            mean_residual(&model, score, "langevin", target, &of.rows(ROWS, seed))
        };
        let products: Vec<f64> = at
            .iter()
            .zip(double_rows(&samples))
            .map(|(at, x)| {
                let error: Vec<f64> =
                    wrong.score(&x).iter().zip(p.score(&x)).map(|(w, s)| w - s).collect();
                let ratio = (q.log_density(&x) - p.log_density(&x)).exp();
                dot(&error, &at.gradient) * (ratio - 1.0)
            })
            .collect();
        let (shifted, unshifted) = (mean(&wrong, &q, 85), mean(&wrong, &p, 86));
        let (functional, bias) = (mean(&p, &q, 87), Estimate::of(&products));
        for (part, what) in [(unshifted, "E_p[L̃f]"), (functional, "S_f"), (bias, "⟨g, q/p − 1⟩")]
        {
            part.assert_stands_out(&format!("{activation}: {what}"));
        }
        let right = Estimate::combined(&[(1.0, unshifted), (1.0, functional), (1.0, bias)]);
        shifted.assert_is(right, activation);
    }
}
