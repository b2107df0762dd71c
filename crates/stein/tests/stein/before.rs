//! What detectors said before methods were tables: `fixtures/before` holds scores of that program, and `make.py` there
//! how they came about. The same choices on the same data must still give them.

use std::path::Path;

use ndarray::{ArrayD, IxDyn};
use taste_data::InMemory;
use taste_engine::{Backend, Model};
use taste_stein::Tail;

use crate::common::{Trial, engine};

const TRAIN: usize = 600;
const TEST: usize = 60;
/// Residuals and scores are differences of larger numbers: near zero, what single precision leaves is relative to a part
/// of a score as it commonly is.
const NEAR_ZERO: f64 = 0.05;

/// Sums of twelve uniform numbers less six, from `SplitMix64`: exact in single precision.
fn nearly_normal(count: usize, mut seed: u64) -> Vec<f32> {
    let mut word = || {
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    let mut number = || {
        let words = [word(), word(), word()];
        let parts = words.iter().flat_map(|w| [0, 16, 32, 48].map(|shift| (w >> shift) & 0xFFFF));
        parts.sum::<u64>() as f32 / 65536.0 - 6.0
    };
    (0..count).map(|_| number()).collect()
}

fn samples(rows: usize, columns: usize, values: Vec<f32>) -> InMemory {
    let values = ArrayD::from_shape_vec(IxDyn(&[rows, columns]), values).expect("rows × columns");
    InMemory::new("samples", values)
}

/// The columns residual, score and p-value of a table.
fn table(name: &str) -> [Vec<f64>; 3] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/before");
    let text = std::fs::read_to_string(folder.join(format!("{name}.csv"))).expect("a table");
    let mut columns = [const { Vec::new() }; 3];
    for line in text.lines().skip(1) {
        for (column, number) in columns.iter_mut().zip(line.split(',')) {
            column.push(number.parse().expect("a number"));
        }
    }
    columns
}

/// The largest relative difference; near zero, relative to a part of the median.
fn apart(got: &[f32], want: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = want.iter().map(|w| w.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let floor = NEAR_ZERO * sizes[sizes.len() / 2];
    let off = |(&g, &w): (&f32, &f64)| (f64::from(g) - w).abs() / w.abs().max(floor);
    got.iter().zip(want).map(off).fold(0.0, f64::max)
}

/// Fits with `choose`, and holds scores against those of before.
fn is_as_before(
    name: &str,
    model: &str,
    width: usize,
    field: &str,
    tolerance: f64,
    choose: impl for<'m> Fn(Trial<'m>) -> Trial<'m>,
) {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/fixtures");
    let model = Model::open(&models.join(model).join("model.onnx")).expect("a model");
    let train = samples(TRAIN, width, nearly_normal(TRAIN * width, 1));
    // The operator of the paper, with the tails that it had.
    let trial = Trial::named(&model, field).precondition("none");
    let detector = choose(trial).run(&train).expect("a detector");
    let moved = nearly_normal(TEST * width, 2).into_iter().map(|v| 1.25 * v + 0.25).collect();
    let test = samples(TEST, width, moved);
    let scorer = detector.start(&engine(&Backend::RTEN), false).expect("a scorer");
    let found = scorer.score(test.values().view()).expect("scores");
    let [residual, score, p_value] = table(name);
    assert_eq!((found.len(), residual.len()), (TEST, TEST), "{name}");
    let off = apart(&found.column("residual").expect("residuals"), &residual);
    assert!(off <= tolerance, "{name}: residuals are off by {off}");
    let off = apart(&found.score, &score);
    assert!(off <= tolerance, "{name}: scores are off by {off}");
    // A score that rounding moves past one of the calibration scores has the next p-value.
    let next = 1.0 / (detector.calibration().len() as f64 + 1.0) + 1e-6;
    let off = |(&g, &w): (&f32, &f64)| (f64::from(g) - w).abs();
    let apart: Vec<f64> = found.p_value.iter().zip(&p_value).map(off).collect();
    let moved = apart.iter().filter(|a| **a > 1e-6).count();
    assert!(apart.iter().all(|a| *a <= next) && moved <= 1, "{name}: p-values moved: {apart:?}");
}

#[test]
fn the_default_scores_as_before() {
    is_as_before("default", "golden/legacy/mlp_relu", 7, "gaussian", 1e-5, |t| t.tail(Tail::Upper));
}

#[test]
fn the_first_order_norm_scores_as_before() {
    is_as_before("first_order_norm", "golden/legacy/mlp_tanh", 5, "gaussian", 1e-5, |t| {
        t.operator("first-order-norm").tail(Tail::Upper)
    });
}

#[test]
fn the_profile_scores_as_before() {
    is_as_before("profile", "golden/legacy/mlp_relu", 7, "gaussian", 1e-5, |t| {
        t.aggregate("profile")
    });
}

#[test]
fn the_predicted_class_along_a_mixture_scores_as_before() {
    is_as_before("predicted_gmm", "golden/dynamo/mlp_tanh", 5, "gmm:2", 1e-5, |t| {
        t.aggregate("predicted")
    });
}

#[test]
fn a_logit_along_kernels_scores_as_before() {
    is_as_before("logit_kde", "zoo/legacy/mlp_probabilities", 8, "kde", 1e-5, |t| {
        t.target("logit")
    });
}

#[test]
fn a_regressor_scores_as_before() {
    is_as_before("regressor", "zoo/sklearn/mlp_regressor_relu", 6, "gaussian", 1e-5, |t| t);
}
