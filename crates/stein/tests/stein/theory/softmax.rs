//! Probabilities sum to one, so their residuals sum to what the operator makes of the function 1: nothing for Δf + s·∇f
//! and s·∇f, v·s for the first-order operator.

use ndarray::{Array2, ArrayD};
use taste_engine::{Backend, Model};

use super::{
    density::{Mixture, double_rows},
    models::{convolutional, dot, residuals_on},
};
use crate::common::network;

fn of_every_class(
    backend: &Backend,
    model: &Model,
    p: &Mixture,
    operator: &str,
    samples: &ArrayD<f32>,
) -> Array2<f32> {
    residuals_on(backend, model, p, operator, None, false, samples).components
}

/// In double precision up to the rounding of each row's residuals, in single precision up to that of the largest.
fn assert_sums_vanish(model: &Model, p: &Mixture, samples: &ArrayD<f32>, what: &str) {
    for operator in ["langevin", "no-laplacian"] {
        let exact = of_every_class(&Backend::REFERENCE, model, p, operator, samples);
        for row in exact.rows() {
            let (sum, size) = (row.sum(), row.mapv(f32::abs).sum());
            assert!(size > 0.0 && sum.abs() <= 1e-6 * size, "{what}, {operator}: {sum} of {size}");
        }
        let largest = exact.mapv(f32::abs).iter().copied().fold(0.0, f32::max);
        for row in of_every_class(&Backend::RTEN, model, p, operator, samples).rows() {
            assert!(row.sum().abs() <= 1e-4 * largest, "{what}, {operator}: {}", row.sum());
        }
    }
}

#[test]
fn residuals_of_all_classes_sum_to_nothing() {
    let p = Mixture::random(2, 4, 141);
    for activation in ["Tanh", "Softplus", "Relu", "Gelu"] {
        for widths in [&[4, 16, 2][..], &[4, 16, 5], &[4, 12, 12, 10]] {
            let model = network(widths, activation, 142);
            assert_sums_vanish(&model, &p, &p.rows(100, 143), &format!("{activation} {widths:?}"));
        }
    }
}

#[test]
fn they_do_so_for_images() {
    let p = Mixture::random(2, 36, 144);
    for activation in ["Relu", "Softplus"] {
        let samples = p.sample(40, &[1, 6, 6], 146);
        assert_sums_vanish(&convolutional(activation, 145), &p, &samples, activation);
    }
}

#[test]
fn first_order_residuals_sum_to_the_score_along_the_direction() {
    let p = Mixture::random(2, 4, 147);
    let model = network(&[4, 16, 5], "Tanh", 148);
    let v = [1.0, -0.5, 0.25, 2.0];
    let samples = p.rows(200, 149);
    let found =
        of_every_class(&Backend::REFERENCE, &model, &p, "first-order:1,-0.5,0.25,2", &samples);
    for (row, x) in found.rows().into_iter().zip(double_rows(&samples)) {
        let (sum, along) = (f64::from(row.sum()), dot(&v, &p.score(&x)));
        assert!((sum - along).abs() <= 1e-5 * (1.0 + along.abs()), "{sum} and {along}");
    }
}
