//! Images in arrays, IDX files and folders.

use std::fs;

use image::{GrayImage, RgbImage};
use ndarray::{ArrayD, Axis, IxDyn};

use crate::{
    common::{Place, array, distance},
    models::{convolution, images},
};

const FIT: &str = "fit --model model.onnx --score-model gaussian:diagonal --aggregate predicted -o detector.onnx -q";

fn grey(values: &ArrayD<u8>, i: usize) -> GrayImage {
    let image = values.index_axis(Axis(0), i);
    let (height, width) = (image.shape()[0], image.shape()[1]);
    let pixels = image.iter().copied().collect();
    GrayImage::from_raw(u32::try_from(width).unwrap(), u32::try_from(height).unwrap(), pixels)
        .unwrap()
}

fn folder(place: &Place, name: &str, values: &ArrayD<u8>) {
    fs::create_dir(place.path(name)).unwrap();
    for i in 0..values.shape()[0] {
        grey(values, i).save(place.path(name).join(format!("{i:03}.png"))).unwrap();
    }
}

fn idx(place: &Place, name: &str, values: &ArrayD<u8>) {
    let mut bytes = vec![0, 0, 8, 3];
    for &size in values.shape() {
        bytes.extend(u32::try_from(size).unwrap().to_be_bytes());
    }
    bytes.extend(values.iter());
    fs::write(place.path(name), bytes).unwrap();
}

/// A model for grey images of 8 × 10, training data and new images in three formats.
fn grey_place() -> Place {
    let place = Place::new();
    convolution(&place, "model.onnx", [1, 8, 10], false);
    let (train, new) = (images(200, 8, 10, 1), images(12, 8, 10, 2));
    place.write("train.npy", &train);
    idx(&place, "train-images-idx3-ubyte", &train);
    folder(&place, "train", &train);
    place.write("new.npy", &new);
    idx(&place, "new-images-idx3-ubyte", &new);
    folder(&place, "new", &new);
    place
}

#[test]
fn arrays_idx_files_and_folders_are_the_same_data() {
    let place = grey_place();
    let mut thresholds = Vec::new();
    for train in ["train.npy", "train-images-idx3-ubyte", "train"] {
        let manifest = place.json(&format!("{FIT} --data {train} --map --json"));
        thresholds.push(manifest["decision"]["threshold"].as_f64().unwrap());
        assert_eq!(manifest["model"]["sample_shape"], serde_json::json!([1, 8, 10]));
    }
    assert!(thresholds.iter().all(|t| t.to_bits() == thresholds[0].to_bits()), "{thresholds:?}");
    place.ok("score detector.onnx new.npy -o a.npy -q");
    place.ok("score detector.onnx new-images-idx3-ubyte -o b.npy -q");
    place.ok("score detector.onnx new -o c.npy -q");
    assert_eq!(place.array("a.npy"), place.array("b.npy"));
    assert_eq!(place.array("a.npy"), place.array("c.npy"));
    let table = place.ok("score detector.onnx new -q").out;
    assert!(table.starts_with("index,residual,score,p_value,flag,prediction,file\n"), "{table}");
    assert!(table.lines().nth(3).unwrap().ends_with("new/002.png"), "{table}");
    // An image alone is a set of one.
    assert_eq!(place.ok("score detector.onnx new/002.png -q").out.lines().count(), 2);
}

#[test]
fn maps_of_images_are_drawn_and_written() {
    let place = grey_place();
    place.ok(&format!("{FIT} --data train.npy --map"));
    let report = place.json("explain detector.onnx new -o maps --most 2 --json -q");
    assert_eq!(array(&place.path("maps/maps.npy")).1.shape(), [12, 8, 10]);
    let first = &report["explained"][0];
    assert!(first["file"].as_str().unwrap().starts_with("new/"), "{first}");
    assert!(first["top"][0]["name"].as_str().unwrap().starts_with("row "), "{first}");
    for name in [first["image"].as_str().unwrap(), "maps/overview.png"] {
        assert!(image::open(place.path(name)).unwrap().width() > 100, "{name}");
    }
    let run = place.run("test detector.onnx new");
    assert!(run.out.contains("row ") && run.out.contains(", column "), "{}", run.out);
}

#[test]
fn a_model_that_takes_any_size_takes_that_of_the_data() {
    let place = grey_place();
    place.ok(&format!("{FIT} --data train.npy"));
    place.ok("score detector.onnx new.npy -o a.npy -q");
    convolution(&place, "model.onnx", [1, 8, 10], true);
    place.ok(&format!("{FIT} --data train"));
    place.ok("score detector.onnx new -o b.npy -q");
    let d = distance(&place.array("a.npy"), &place.array("b.npy"));
    assert!(d < 1e-5, "off by {d:.1e}");
}

#[test]
fn colour_images_keep_their_channels_and_their_normalisation() {
    let place = Place::new();
    convolution(&place, "model.onnx", [3, 6, 6], false);
    let bytes = images(360, 6, 6, 3).into_shape_with_order(IxDyn(&[120, 3, 6, 6])).unwrap();
    let last = bytes.view().permuted_axes(IxDyn(&[0, 2, 3, 1])).as_standard_layout().into_owned();
    let (mean, std) = ([0.4f32, 0.3, 0.2], [0.2f32, 0.3, 0.25]);
    let normalised = ArrayD::from_shape_fn(bytes.raw_dim(), |at| {
        (f32::from(bytes[&at]) / 255.0 - mean[at[1]]) / std[at[1]]
    });
    place.write("bytes.npy", &bytes);
    place.write("last.npy", &last);
    place.write("floats.npy", &normalised);
    fs::create_dir(place.path("folder")).unwrap();
    for (i, image) in last.outer_iter().enumerate() {
        let pixels = image.iter().copied().collect();
        let path = place.path("folder").join(format!("{i:03}.png"));
        RgbImage::from_raw(6, 6, pixels).unwrap().save(path).unwrap();
    }
    place.ok(&format!("{FIT} --data floats.npy"));
    place.ok("score detector.onnx floats.npy -o want.npy -q");
    for data in ["bytes.npy", "last.npy", "folder"] {
        place.ok(&format!("{FIT} --data {data} --mean 0.4,0.3,0.2 --std 0.2,0.3,0.25"));
        place.ok(&format!("score detector.onnx {data} -o s.npy -q"));
        let d = distance(&place.array("s.npy"), &place.array("want.npy"));
        assert!(d < 1e-3, "{data}: off by {d:.1e}");
    }
}

#[test]
fn images_that_do_not_fit_are_named() {
    let place = grey_place();
    place.ok(&format!("{FIT} --data train.npy"));
    fs::write(place.path("new/005.png"), b"no image").unwrap();
    place.fails(
        "score detector.onnx new -o s.csv",
        "new/005.png: it is neither PNG, JPEG, WebP nor TIFF",
    );
    place.fails(
        "explain detector.onnx new -o maps",
        "new/005.png: it is neither PNG, JPEG, WebP nor TIFF",
    );
    let run = place.ok("score detector.onnx new --skip-bad");
    assert!(run.err.contains("warning: left out new/005.png"), "{}", run.err);
    assert_eq!(run.out.lines().count(), 12);
    assert!(!run.out.contains("005.png") && run.out.contains("006.png"), "{}", run.out);
    fs::remove_file(place.path("new/005.png")).unwrap();
    grey(&images(1, 9, 10, 1), 0).save(place.path("new/100.png")).unwrap();
    place.fails("score detector.onnx new -o s.csv", "new/100.png: it is 9 × 10, and");
    place.fails(
        "score detector.onnx new",
        "a detector that was fitted with --resize HxW or --crop brings",
    );
    place.fails("explain detector.onnx train -o train", "this is the folder that is read");
    let small = images(200, 4, 5, 1);
    folder(&place, "small", &small);
    place.fails(&format!("{FIT} --data small").replace("detector", "d"), "--resize");
    place.ok(&format!("{FIT} --data small --resize 8x10"));
    // The detector resizes what it scores, too.
    place.ok("score detector.onnx new -q");
}

#[test]
fn images_of_many_sizes_are_fitted_once_they_are_cut_alike() {
    let place = grey_place();
    for (i, (height, width)) in [(9, 12), (16, 11), (30, 30)].into_iter().enumerate() {
        let other = images(1, height, width, 3);
        grey(&other, 0).save(place.path("train").join(format!("other{i}.png"))).unwrap();
    }
    place.fails(&format!("{FIT} --data train"), "brings all to one size");
    place.ok(&format!("{FIT} --data train --resize 11 --crop 8x10"));
    place.ok(&format!("{FIT} --data train --resize 8x10"));
    place.ok("score detector.onnx train -q");
}

#[test]
fn a_folder_without_images_is_refused() {
    let place = grey_place();
    fs::create_dir(place.path("empty")).unwrap();
    place.fails(&format!("{FIT} --data empty"), "empty: the folder holds no data");
    fs::write(place.path("empty/a.png"), b"").unwrap();
    place.fails(&format!("{FIT} --data empty"), "a.png: it is empty");
    place.fails(&format!("{FIT} --data empty --skip-bad"), "none of its images can be read");
}
