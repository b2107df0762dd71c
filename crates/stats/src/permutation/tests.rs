use ndarray::{Array2, Axis, concatenate, s};

use super::*;
use crate::{binomial, random::Random};

fn normal(rows: usize, width: usize, random: &mut Random) -> Array2<f64> {
    Array2::from_shape_fn((rows, width), |_| random.normal())
}

fn test(reference: &Array2<f64>, batch: &Array2<f64>, permutations: usize, seed: u64) -> Outcome {
    two_sample(&reference.view(), &batch.view(), permutations, seed).expect("samples to compare")
}

/// The studentised difference from its definition, in two passes.
fn statistic(reference: &[f64], batch: &[f64]) -> f64 {
    let [(m, own), (n, other)] = [batch, reference].map(|values| {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        (count, (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>()))
    });
    let square = if m.min(n) >= 8.0 {
        own.1 / (m - 1.0) / m + other.1 / (n - 1.0) / n
    } else {
        (own.1 + other.1) / (m + n - 2.0) * (1.0 / m + 1.0 / n)
    };
    (own.0 - other.0) / square.sqrt()
}

/// All statistics, for the rows of the batch given by the bits of a mask.
fn masked(all: &Array2<f64>, mask: u32) -> Vec<f64> {
    let part = |j: usize, wanted: u32| -> Vec<f64> {
        let column = all.column(j);
        (0..all.nrows()).filter(|&i| mask >> i & 1 == wanted).map(|i| column[i]).collect()
    };
    (0..all.ncols()).map(|j| statistic(&part(j, 0), &part(j, 1))).collect()
}

/// The adjusted p-values over every split, from the definition.
fn enumerated(reference: &Array2<f64>, batch: &Array2<f64>) -> (Vec<f64>, Vec<f64>) {
    let all = concatenate(Axis(0), &[batch.view(), reference.view()]).expect("one width");
    let size = u32::try_from(batch.nrows()).expect("few rows");
    let actual = masked(&all, (1 << size) - 1);
    let maxima: Vec<f64> = (0u32..1 << all.nrows())
        .filter(|mask| mask.count_ones() == size)
        .map(|mask| masked(&all, mask).into_iter().map(f64::abs).fold(0.0, f64::max))
        .collect();
    let p_value = |t: &f64| {
        let beyond = maxima.iter().filter(|&&m| m >= t.abs() - 1e-9).count();
        beyond as f64 / maxima.len() as f64
    };
    let p_values = actual.iter().map(p_value).collect();
    (actual, p_values)
}

#[test]
fn small_samples_agree_with_full_enumeration() {
    let mut random = Random::new(1);
    for (n, m, width) in [(4, 3, 2), (3, 4, 3), (6, 1, 2), (10, 8, 2), (2, 1, 1), (2, 5, 2)] {
        // Rounded, so that there are ties.
        let mut draw = |rows| normal(rows, width, &mut random).mapv(|v| (2.0 * v).round() / 2.0);
        let (reference, batch) = (draw(n), draw(m) + 0.5);
        let (statistics, p_values) = enumerated(&reference, &batch);
        let found = test(&reference, &batch, 50_000, 0);
        assert!(found.exhaustive);
        for (j, component) in found.components.iter().enumerate().filter(|(_, c)| !c.constant) {
            assert!((component.statistic - statistics[j]).abs() < 1e-9, "{n} {m}: {found:?}");
            assert!((component.p_value - p_values[j]).abs() < 1e-12, "{n} {m}: {p_values:?}");
        }
    }
}

#[test]
fn drawn_permutations_agree_with_full_enumeration() {
    let mut random = Random::new(2);
    let (reference, batch) = (normal(8, 2, &mut random), normal(8, 2, &mut random) + 0.4);
    let (_, exact) = enumerated(&reference, &batch);
    let found = test(&reference, &batch, 5000, 3);
    assert!(!found.exhaustive && found.permutations == 5000);
    for (component, exact) in found.components.iter().zip(exact) {
        let (low, high) = binomial::band(5000, exact, 1e-6);
        let beyond = component.p_value * 5001.0 - 1.0;
        assert!(low as f64 - 0.5 < beyond && beyond < high as f64 + 0.5, "{beyond}");
    }
}

#[test]
fn without_a_difference_p_values_are_uniform() {
    let (trials, permutations) = (2000, 99);
    for (n, m) in [(20, 4), (9, 12)] {
        let mut random = Random::new(4);
        let p_values: Vec<f64> = (0..trials)
            .map(|seed| {
                // Skewed, with a component that depends on another.
                let mut draw = |rows| {
                    let mut values = normal(rows, 3, &mut random).mapv(libm::exp);
                    let sum = &values.column(0) - &values.column(1);
                    values.column_mut(2).assign(&sum);
                    values
                };
                let (reference, batch) = (draw(n), draw(m));
                test(&reference, &batch, permutations, seed).p_value
            })
            .collect();
        for alpha in [0.01, 0.05, 0.1, 0.25, 0.5, 0.9] {
            let rejected = p_values.iter().filter(|&&p| p <= alpha).count() as u64;
            let (low, high) = binomial::band(trials, alpha, 1e-5);
            assert!((low..=high).contains(&rejected), "{n} {m} {alpha}: {rejected}");
        }
    }
}

#[test]
fn different_variances_alone_are_no_difference_of_means() {
    let trials = 1000;
    let mut random = Random::new(5);
    let rejected = (0..trials)
        .filter(|&seed| {
            let reference = normal(120, 1, &mut random);
            let batch = 4.0 * normal(30, 1, &mut random);
            test(&reference, &batch, 99, seed).p_value <= 0.05
        })
        .count() as u64;
    // With one variance for both sides it would be a quarter of them.
    assert!(rejected <= 90, "{rejected}");
}

#[test]
fn a_shift_is_found_where_it_is() {
    let mut random = Random::new(6);
    let reference = normal(300, 8, &mut random);
    let mut batch = normal(40, 8, &mut random);
    batch.column_mut(5).mapv_inplace(|v| v - 1.0);
    let found = test(&reference, &batch, PERMUTATIONS, 0);
    assert!((found.p_value - 1.0 / 2000.0).abs() < 1e-12);
    for (j, component) in found.components.iter().enumerate() {
        assert_eq!(component.p_value < 0.01, j == 5, "{found:?}");
    }
    assert!(found.components[5].statistic < -4.0);
    let mirrored = test(&batch, &reference, PERMUTATIONS, 0);
    assert!(mirrored.components[5].statistic > 4.0);
    assert!((mirrored.p_value - found.p_value).abs() < 1e-12);
    let one = test(&reference, &(batch.slice(s![..1, ..]).to_owned() - 9.0), PERMUTATIONS, 0);
    assert!(one.p_value < 0.005 && one.exhaustive && one.permutations == 300, "{one:?}");
}

#[test]
fn the_order_of_components_and_their_units_do_not_matter() {
    let mut random = Random::new(7);
    let (reference, batch) = (normal(30, 4, &mut random), normal(10, 4, &mut random) + 0.3);
    let found = test(&reference, &batch, 499, 1);
    let order = [2, 0, 3, 1];
    let relabelled =
        test(&reference.select(Axis(1), &order), &batch.select(Axis(1), &order), 499, 1);
    let expected: Vec<Component> = order.iter().map(|&j| found.components[j]).collect();
    assert_eq!((relabelled.p_value, relabelled.components), (found.p_value, expected));
    for (factor, offset) in [(1e-200, 0.0), (1e300, 0.0), (-2.0, 1e6)] {
        let scaled = |values: &Array2<f64>| values.mapv(|v| v * factor + offset);
        let scaled = test(&scaled(&reference), &scaled(&batch), 499, 1);
        for (a, b) in scaled.components.iter().zip(&found.components) {
            assert!((a.p_value - b.p_value).abs() < 1e-12, "{factor}");
            assert!((a.statistic.abs() - b.statistic.abs()).abs() < 1e-6, "{factor}");
        }
    }
}

#[test]
fn constant_components_are_left_out() {
    let mut random = Random::new(8);
    let (mut reference, mut batch) = (normal(30, 3, &mut random), normal(12, 3, &mut random));
    let without = test(
        &reference.slice(s![.., 1..]).to_owned(),
        &batch.slice(s![.., 1..]).to_owned(),
        199,
        0,
    );
    reference.column_mut(0).fill(0.1);
    batch.column_mut(0).fill(0.1);
    let found = test(&reference, &batch, 199, 0);
    let constant = Component { statistic: 0.0, p_value: 1.0, constant: true };
    assert_eq!(found.components[0], constant);
    assert_eq!(found.components[1..], without.components[..]);
    let all = test(&Array2::zeros((20, 2)), &Array2::zeros((9, 2)), 99, 0);
    assert_eq!((all.p_value, all.components), (1.0, vec![constant; 2]));
    let none = test(&Array2::zeros((20, 0)), &Array2::zeros((9, 0)), 99, 0);
    assert!((none.p_value - 1.0).abs() < 1e-15);
}

#[test]
fn sides_that_are_constant_by_themselves_are_told_apart() {
    let found = test(&Array2::zeros((40, 1)), &Array2::ones((10, 1)), 999, 0);
    assert!((found.p_value - 0.001).abs() < 1e-12);
    assert!(found.components[0].statistic.is_finite());
}

#[test]
fn the_seed_decides_and_threads_do_not() {
    let mut random = Random::new(9);
    let (reference, batch) = (normal(40, 3, &mut random), normal(20, 3, &mut random));
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let found = test(&reference, &batch, 999, 1);
    assert_eq!(one.install(|| test(&reference, &batch, 999, 1)), found);
    assert!(test(&reference, &batch, 999, 2) != found);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let message = |reference: Array2<f64>, batch: Array2<f64>, permutations| {
        two_sample(&reference.view(), &batch.view(), permutations, 0).expect_err("no").to_string()
    };
    let zeros = Array2::zeros;
    assert!(message(zeros((3, 2)), zeros((3, 1)), 9).contains("2 components, but the batch 1"));
    assert!(message(zeros((1, 2)), zeros((3, 2)), 9).contains("there are 1 and 3"));
    assert!(message(zeros((3, 2)), zeros((0, 2)), 9).contains("there are 3 and 0"));
    assert!(message(zeros((3, 2)), zeros((2, 2)), 0).contains("permutations must be 1 to"));
    assert!(message(zeros((3, 2)), zeros((2, 2)), usize::MAX).contains("permutations"));
    let mut broken = zeros((3, 2));
    broken[[1, 0]] = f64::NAN;
    assert!(message(zeros((3, 2)), broken, 9).starts_with("row 1 of the batch"));
}
