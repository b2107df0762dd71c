//! Score models held against data.

use taste_engine::Backend;
use taste_stein::{FieldCheck, check_field, fields};

use crate::common::{Scaled, engine, normal};

fn check(factor: f64, shift: f64) -> FieldCheck {
    let data = normal(3000, 5, shift, 4);
    check_field(&Scaled(factor), &data, &engine(&Backend::RTEN), 0).expect("a check")
}

#[test]
fn the_right_score_passes() {
    let found = check(1.0, 0.0);
    assert!(found.is_good, "{found:?}");
    assert!((found.scale - 1.0).abs() < 4.0 * found.scale_error);
    assert!(found.mean.typical < 2.0 && found.waves.typical < 2.0);
}

#[test]
fn a_smoothed_score_is_held_against_smoothed_data() {
    for text in ["gaussian:noise=0.7", "gmm:1,noise=0.7", "kde:0.4"] {
        let spec = fields::parse(text).expect("a specification");
        let data = normal(6000, 3, 0.5, 4);
        let found = check_field(&*spec, &data, &engine(&Backend::RTEN), 0).expect("a check");
        assert!((found.scale - 1.0).abs() < 0.1, "{text}: {found:?}");
    }
}

#[test]
fn a_wrong_size_sign_or_place_is_named() {
    let half = check(0.5, 0.0);
    assert!(!half.is_good && half.verdict.contains("0.5"), "{}", half.verdict);
    let turned = check(-1.0, 0.0);
    assert!(!turned.is_good && turned.verdict.contains("-1.0"), "{}", turned.verdict);
    let moved = check(1.0, 1.0);
    assert!(!moved.is_good && moved.verdict.contains("mean of entry"), "{}", moved.verdict);
}
