//! Sizes of images, held against what torchvision makes of them (`tests/fixtures/make_pictures.py`).

use std::{
    fs,
    path::{Path, PathBuf},
};

use taste_data::{Dataset, Filter, Options, Resize};

use crate::files::{Folder, read, shaped};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pictures")
}

fn pixels(path: &Path, options: &Options) -> ndarray::ArrayD<f32> {
    read(path, &Options { raw: true, ..options.clone() }).unwrap().values
}

/// `16--bilinear--13` as options.
fn options(case: &str) -> Options {
    let parts: Vec<&str> = case.split("--").collect();
    let number = |text: &str| text.parse::<usize>().unwrap();
    let resize = match (parts[0], parts[0].split_once('x')) {
        ("none", _) => None,
        (_, Some((h, w))) => Some(Resize::To(number(h), number(w))),
        (side, None) => Some(Resize::Shorter(number(side))),
    };
    let filter = match parts[1] {
        "bilinear" => Filter::Bilinear,
        "bicubic" => Filter::Bicubic,
        _ => Filter::Nearest,
    };
    let crop = (parts[2] != "none").then(|| (number(parts[2]), number(parts[2])));
    Options { resize, filter, crop, ..Options::default() }
}

#[test]
fn resized_and_cropped_images_are_those_of_torchvision() {
    let mut compared = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let Some((name, case)) = stem.split_once("--") else { continue };
        // Decoders of JPEG round differently, by a grey level, and by up to two where colours have half the size; bicubic
        // filters have negative weights and double it. What is done with the pixels is the same to the last bit.
        let (ending, most) = match name {
            "jpeg-half" => ("jpg", 4.0),
            name if name.starts_with("jpeg") => ("jpg", 2.0),
            _ => ("png", 0.0),
        };
        let made = pixels(&folder().join(format!("in-{name}.{ending}")), &options(case));
        let want = pixels(&path, &Options::default());
        assert_eq!(made.shape(), want.shape(), "{stem}");
        let worst = (&made - &want).iter().fold(0f32, |worst, d| worst.max(d.abs()));
        assert!(worst <= most, "{stem}: off by {worst} grey levels");
        compared += 1;
    }
    assert_eq!(compared, 2 * 27 + 3 * 3);
}

#[test]
fn arrays_of_bytes_are_resized_like_images() {
    let place = Folder::new();
    let image = pixels(&folder().join("in-grey.png"), &Options::default());
    let bytes: Vec<u8> = image.iter().map(|v| v.to_string().parse().unwrap()).collect();
    let path = place.put("x.npy", crate::files::npy("|u1", "(1, 41, 24)", &bytes));
    for case in ["50--bicubic--13", "19x40--bilinear--none", "none--bilinear--45"] {
        let want = pixels(&folder().join(format!("grey--{case}.png")), &Options::default());
        let made = pixels(&path, &options(case));
        assert_eq!(made.into_iter().collect::<Vec<_>>(), want.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn webp_and_tiff_hold_the_same_and_other_files_are_named() {
    let want = pixels(&folder().join("in-colour.png"), &Options::default());
    for name in ["same.webp", "same.tif"] {
        assert_eq!(pixels(&folder().join(name), &Options::default()), want, "{name}");
    }
    let place = Folder::new();
    for name in ["same.webp", "same.tif"] {
        fs::copy(folder().join(name), place.path(name)).unwrap();
    }
    place.put("notes.md", "text");
    let set = Dataset::open(place.root(), &shaped(&[3, 37, 53])).unwrap();
    assert_eq!(set.rows().unwrap(), 2);
    let skipped = set.skipped();
    assert_eq!(skipped.len(), 1);
    assert!(
        skipped[0].0.ends_with("notes.md") && skipped[0].1.contains("no PNG, JPEG"),
        "{skipped:?}"
    );
}

#[test]
fn shorter_sides_keep_the_ratio_and_sizes_that_differ_are_told() {
    let place = Folder::new();
    for name in ["colour", "grey"] {
        fs::copy(folder().join(format!("in-{name}.png")), place.path(&format!("{name}.png")))
            .unwrap();
    }
    let shorter = Options { resize: Some(Resize::Shorter(12)), ..shaped(&[3, 12, 17]) };
    let error = read(place.root(), &shorter).unwrap_err();
    assert!(error.contains("grey.png: it is 20 × 12, and"), "{error}");
    let cropped = Options { crop: Some((12, 12)), ..shorter };
    let cropped = Options { sample_shape: Some(vec![3, 12, 12]), ..cropped };
    assert_eq!(read(place.root(), &cropped).unwrap().values.shape(), [2, 3, 12, 12]);
}
