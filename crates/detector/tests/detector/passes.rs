//! What a pass gathers.

use std::ops::ControlFlow;

use ndarray::Axis;
use taste_data::InMemory;
use taste_detector::passes::{Gather, Gathered, Watch, gather_inputs};

use crate::common::normal;

fn gathered(samples: &InMemory, gathers: &[(&str, Gather)]) -> Gathered {
    let watches: Vec<Watch> = gathers.iter().map(|(n, g)| Watch::input(n, *g)).collect();
    gather_inputs(samples, &watches, &|_| ControlFlow::Continue(())).expect("a pass")
}

#[test]
fn the_order_of_samples_does_not_matter() {
    let data = normal(5000, 0.0, 7).values().mapv(|v| v * 0.1 + 100.0);
    let mut turned = data.clone();
    turned.invert_axis(Axis(0));
    let all = [("moments", Gather::Moments), ("covariance", Gather::Covariance)];
    let [a, b] = [data, turned].map(|d| gathered(&InMemory::new("data", d), &all));
    let mean = |of: &Gathered| of.covariance("covariance").expect("a covariance").mean();
    assert!((mean(&a) - mean(&b)).iter().all(|d| d.abs() < 1e-11));
    let matrix = |of: &Gathered| of.covariance("covariance").expect("one").matrix().expect("rows");
    let (x, y) = (matrix(&a), matrix(&b));
    assert!((&x - &y).iter().all(|d| d.abs() < 1e-9 * x[[0, 0]]));
    let variance = |of: &Gathered| of.moments("moments").expect("one").variance().expect("rows");
    for ((p, q), own) in variance(&a).iter().zip(variance(&b)).zip(x.diag()) {
        assert!((p - q).abs() < 1e-9 * p && (p * 4999.0 / 5000.0 - own).abs() < 1e-9 * p);
    }
}

#[test]
fn rows_that_are_not_finite_count_for_nothing() {
    let mut data = normal(12, 0.0, 0).values().clone();
    data[[3, 1]] = f32::NAN;
    data[[5, 0]] = f32::INFINITY;
    let rows = |whole| Gather::Rows { most: 100, seed: 0, whole };
    let seen = gathered(
        &InMemory::new("small.npy", data),
        &[
            ("moments", Gather::Moments),
            ("covariance", Gather::Covariance),
            ("range", Gather::Range),
            ("finite", rows(false)),
        ],
    );
    assert_eq!((seen.taken(), seen.used(), seen.bad_inputs(), seen.bad_values()), (12, 10, 2, 0));
    assert_eq!(seen.moments("moments").expect("moments").count(), 10);
    assert_eq!(seen.covariance("covariance").expect("a covariance").count(), 10);
    assert!(seen.range("range").expect("a range").iter().all(|r| r.1.is_finite() && r.0 < r.1));
    let drawn = seen.rows("finite").expect("rows");
    assert_eq!(drawn.keys, [0, 1, 2, 4, 6, 7, 8, 9, 10, 11]);
    let message = seen.moments("range").expect_err("of another kind").to_string();
    assert!(message.contains("\"range\""), "{message}");
}
