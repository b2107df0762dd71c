//! Under the training density and with its own score, residuals have mean zero (section 3; appendix G for the
//! first-order operator), in every class and in every entry of the input.

use taste_engine::{Model, Target};
use taste_stein::operators;

use super::{
    density::Mixture,
    estimate::Estimate,
    models::{convolutional, residuals},
};
use crate::common::network;

const ROWS: usize = 8192;
const IMAGES: usize = 2048;

fn dense() -> Vec<(&'static str, usize, Model)> {
    vec![
        ("2-8-2 tanh", 2, network(&[2, 8, 2], "Tanh", 11)),
        ("4-16-3 softplus", 4, network(&[4, 16, 3], "Softplus", 12)),
        ("3-32-4 gelu", 3, network(&[3, 32, 4], "Gelu", 13)),
        ("4-12-12-3 sigmoid", 4, network(&[4, 12, 12, 3], "Sigmoid", 14)),
        ("5-16-8-3 tanh", 5, network(&[5, 16, 8, 3], "Tanh", 15)),
    ]
}

fn densities(dimension: usize) -> [(&'static str, Mixture); 2] {
    [
        ("a Gaussian", Mixture::random(1, dimension, 21)),
        ("a mixture of three", Mixture::random(3, dimension, 22)),
    ]
}

/// v·∇f + f·(v·s), for a direction that favours no axis.
fn first_order(dimension: usize) -> String {
    let entries: Vec<String> =
        (0..dimension).map(|i| format!("{}", 1.0 - 0.4 * i as f64)).collect();
    format!("first-order:{}", entries.join(","))
}

#[test]
fn every_class_of_every_network_has_mean_zero() {
    for (name, dimension, model) in dense() {
        for (law, p) in densities(dimension) {
            let samples = p.rows(ROWS, 31);
            for operator in ["langevin", &first_order(dimension)] {
                assert!(operators::parse(operator).expect("an operator").is_stein());
                let found = residuals(&model, &p, operator, None, false, &samples);
                for (class, mean) in
                    Estimate::of_entries(&found.components.into_dyn()).into_iter().enumerate()
                {
                    mean.assert_vanishes(&format!("{name}, {law}, {operator}, class {class}"));
                }
            }
        }
    }
}

#[test]
fn neither_term_has_mean_zero_alone() {
    for (name, dimension, model) in dense() {
        let p = Mixture::random(3, dimension, 22);
        let samples = p.rows(ROWS, 31);
        let found = residuals(&model, &p, "no-laplacian", None, false, &samples);
        let worst = Estimate::of_entries(&found.components.into_dyn())
            .into_iter()
            .max_by(|a, b| a.surprise().total_cmp(&b.surprise()))
            .expect("classes");
        worst.assert_stands_out(name);
    }
}

#[test]
fn another_score_breaks_it() {
    for (name, dimension, model) in dense() {
        let (p, other) = (Mixture::random(3, dimension, 22), Mixture::random(3, dimension, 23));
        let samples = p.rows(ROWS, 31);
        for operator in ["langevin", &first_order(dimension)] {
            let found = residuals(&model, &other, operator, None, false, &samples);
            let worst = Estimate::of_entries(&found.components.into_dyn())
                .into_iter()
                .max_by(|a, b| a.surprise().total_cmp(&b.surprise()))
                .expect("classes");
            worst.assert_stands_out(&format!("{name}, {operator}"));
        }
    }
}

#[test]
fn every_entry_of_a_map_has_mean_zero() {
    let model = network(&[4, 16, 3], "Tanh", 16);
    for (law, p) in densities(4) {
        let samples = p.rows(ROWS, 32);
        for operator in ["langevin", &first_order(4)] {
            for target in [Target::prob(Some(1)), Target::logit(Some(0)), Target::energy()] {
                let found = residuals(&model, &p, operator, Some(target), true, &samples);
                let map = found.map.expect("a map");
                for (i, mean) in Estimate::of_entries(&map).into_iter().enumerate() {
                    mean.assert_vanishes(&format!("{law}, {operator}, {target}, entry {i}"));
                }
            }
        }
    }
}

#[test]
fn images_through_convolutions_have_mean_zero_by_class_and_by_pixel() {
    for activation in ["Tanh", "Softplus"] {
        let model = convolutional(activation, 41);
        let p = Mixture::random(2, 36, 42);
        let samples = p.sample(IMAGES, &[1, 6, 6], 43);
        for operator in ["langevin", "first-order:ones"] {
            let found = residuals(&model, &p, operator, None, false, &samples);
            for (class, mean) in
                Estimate::of_entries(&found.components.into_dyn()).into_iter().enumerate()
            {
                mean.assert_vanishes(&format!("{activation}, {operator}, class {class}"));
            }
            let target = Some(Target::prob(Some(2)));
            let found = residuals(&model, &p, operator, target, true, &samples);
            let map = found.map.expect("a map");
            assert_eq!(map.shape(), [IMAGES, 1, 6, 6]);
            for (pixel, mean) in Estimate::of_entries(&map).into_iter().enumerate() {
                mean.assert_vanishes(&format!("{activation}, {operator}, pixel {pixel}"));
            }
        }
    }
}
