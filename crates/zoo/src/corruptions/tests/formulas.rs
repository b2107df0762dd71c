//! Against `bench/corruptions.py`, which holds the published formulas in NumPy, SciPy and Pillow.

use std::{collections::BTreeMap, path::Path};

use ndarray::{ArrayD, Axis};
use taste_data::npy::{Elements, Reader};

use super::super::{Picture, Recipe};

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/corruptions").join(name)
}

fn bytes(name: &str) -> ArrayD<u8> {
    let mut reader = Reader::open(&fixture(name)).expect(name);
    let rows = reader.shape()[0];
    match reader.rows(0, rows).expect(name) {
        Elements::U8(array) => array,
        other => panic!("{name} holds {:?}", other.shape()),
    }
}

fn pictures() -> Vec<Picture> {
    let all = bytes("pictures.npy").mapv(|v| f64::from(v) / 255.0);
    let picture = |p: ndarray::ArrayViewD<'_, f64>| {
        let p = p.to_owned().into_dimensionality().expect("three axes");
        ndarray::Array3::permuted_axes(p, [2, 0, 1])
    };
    all.axis_iter(Axis(0)).map(picture).collect()
}

#[derive(serde::Deserialize)]
struct Expected {
    exact: Vec<String>,
    deviations: BTreeMap<String, f64>,
}

fn expected() -> Expected {
    let text = std::fs::read_to_string(fixture("corruptions.json")).expect("a file");
    serde_json::from_str(&text).expect("JSON")
}

fn truncated(v: f64) -> f64 {
    (255.0 * v.clamp(0.0, 1.0) + 1e-6).floor()
}

#[test]
fn what_is_not_random_is_what_the_formulas_say() {
    let (names, wanted, pictures) = (expected().exact, bytes("exact.npy"), pictures());
    assert_eq!(names.len(), wanted.shape()[0]);
    for (name, wanted) in names.iter().zip(wanted.axis_iter(Axis(0))) {
        let recipe = Recipe::read(name).expect(name);
        for (place, (picture, wanted)) in pictures.iter().zip(wanted.axis_iter(Axis(0))).enumerate()
        {
            let found = recipe.picture(picture, place).expect(name).permuted_axes([1, 2, 0]);
            let off: Vec<f64> = found
                .iter()
                .zip(wanted.iter())
                .map(|(v, w)| (truncated(*v) - f64::from(*w)).abs())
                .collect();
            let (mean, most) = (
                off.iter().sum::<f64>() / off.len() as f64,
                off.iter().copied().fold(0.0, f64::max),
            );
            // Pillow's JPEG computes in whole numbers, so that some coefficients fall to the next step. JPEG itself
            // changes 5 to 8 in the mean, and colours without the smooth enlargement would be off by 3 to 6.
            let (mean_allowed, most_allowed) =
                if name.starts_with("jpeg") { (1.0, 16.0) } else { (0.02, 1.0) };
            assert!(mean <= mean_allowed && most <= most_allowed, "{name}: {mean}, at most {most}");
        }
    }
}

#[test]
fn what_is_random_deviates_as_much_as_the_formulas_do() {
    const DRAWS: usize = 24;
    let pictures = pictures();
    for (name, wanted) in expected().deviations {
        let recipe = Recipe::read(&name).expect(&name);
        let mut sum = 0.0;
        for place in 0..DRAWS * pictures.len() {
            let picture = &pictures[place % pictures.len()];
            let found = recipe.picture(picture, place).expect(&name);
            sum += (found.mapv(truncated) - 255.0 * picture).mapv(f64::abs).mean().expect("pixels");
        }
        let found = sum / (DRAWS * pictures.len()) as f64;
        assert!(
            (found / wanted - 1.0).abs() < 0.1,
            "{name}: {found}, and the formulas give {wanted}"
        );
    }
}
