//! What a wrong score adds to the adjusted functional is at most √J · ‖∇f‖₄ · ‖q/p − 1‖₄, with J the Fisher divergence
//! `E_p‖s̃ − s‖²` (section 4.3). For p = N(0, I), q = N(a, I) and s̃ = −c·x, J and the last norm have closed forms.

use taste_engine::{Model, Target};
use taste_stein::Operator;

use super::{
    density::Mixture,
    estimate::{Estimate, SURPRISE},
    models::{dot, first, linear, residuals},
};
use crate::common::{Scaled, network};

const ROWS: usize = 16_384;

/// `E_q[L̃f] − E_p[L̃f] − S_f(p, q)`, from the difference of residuals at the same samples.
fn added(model: &Model, factor: f64, shift: &[f64]) -> Estimate {
    let p = Mixture::unit(&vec![0.0; shift.len()]);
    let mean = |of: &Mixture, seed: u64| {
        let samples = of.rows(ROWS, seed);
        let at = |score: Scaled| {
            let target = Some(Target::Output(0));
            residuals(model, &score, &Operator::Langevin, target, false, &samples).components
        };
        Estimate::of_column(&(at(Scaled(factor)) - at(Scaled(1.0))).column(0))
    };
    Estimate::combined(&[(1.0, mean(&p.moved(shift), 91)), (-1.0, mean(&p, 92))])
}

/// ‖q/p − 1‖₄ from `E_p[(q/p)ᵏ] = exp(k(k − 1)|a|²/2)`.
fn ratio_norm(shift: &[f64]) -> f64 {
    let square = dot(shift, shift);
    let moment = |k: f64| (k * (k - 1.0) / 2.0 * square).exp();
    (moment(4.0) - 4.0 * moment(3.0) + 6.0 * moment(2.0) - 3.0).powf(0.25)
}

/// ‖∇f‖₄ under p.
fn gradient_norm(model: &Model, dimension: usize) -> f64 {
    let samples = Mixture::unit(&vec![0.0; dimension]).rows(ROWS, 93);
    let fourth: Vec<f64> = first(model, Target::Output(0), &samples)
        .iter()
        .map(|at| dot(&at.gradient, &at.gradient).powi(2))
        .collect();
    let mean = Estimate::of(&fourth);
    (mean.mean + SURPRISE * mean.error).powf(0.25)
}

#[test]
fn it_holds_for_networks_scores_and_shifts() {
    let mut largest: f64 = 0.0;
    for (seed, activation) in [(94, "Tanh"), (95, "Softplus"), (96, "Relu")] {
        let model = network(&[3, 16, 1], activation, seed);
        let slope = gradient_norm(&model, 3);
        for factor in [0.3, 0.8, 1.5] {
            for shift in [[0.1, 0.0, 0.0], [0.3, -0.4, 0.2], [-0.5, 0.5, 0.5]] {
                let fisher: f64 = (1.0 - factor) * (1.0 - factor) * 3.0;
                let bound = fisher.sqrt() * slope * ratio_norm(&shift);
                let found = added(&model, factor, &shift);
                let size = found.mean.abs() - SURPRISE * found.error;
                assert!(
                    size <= bound,
                    "{activation}, score times {factor}, shift {shift:?}: {found:?} beyond {bound}"
                );
                largest = largest.max(size / bound);
            }
        }
    }
    assert!(largest > 0.1, "the bound was never within reach: {largest}");
}

#[test]
fn it_is_nearly_attained_where_the_error_follows_the_shift() {
    // s̃ − s = κx and ∇f = 1 in one dimension, and q/p − 1 ≈ ax: the bound is 3^¼ times what is added.
    let model = linear(&[vec![1.0]], &[0.0]);
    let (kappa, shift) = (0.6, 0.2);
    let bound = kappa * ratio_norm(&[shift]);
    let found = added(&model, 1.0 - kappa, &[shift]);
    found.assert_is(Estimate::exactly(kappa * shift), "κa");
    assert!(found.mean > 0.65 * bound && found.mean < bound, "{found:?} and {bound}");
}
