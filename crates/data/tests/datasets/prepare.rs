//! Shapes, layouts, scaling.

use ndarray::{Array, ArrayD, IxDyn};
use taste_data::{Layout, Options, Resize};

use crate::files::{Folder, npy, npy_f32, read, refused, shaped};

/// One sample of bytes 0, 1, 2, …
fn bytes(folder: &Folder, shape: &[usize]) -> std::path::PathBuf {
    let count: usize = shape.iter().product();
    let data: Vec<u8> = (0..count).map(|v| u8::try_from(v).unwrap()).collect();
    let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    folder.put("x.npy", npy("|u1", &format!("(1, {},)", sizes.join(", ")), &data))
}

fn ramp(shape: &[usize]) -> ArrayD<f32> {
    let count: usize = shape.iter().product();
    let values = Array::from_iter((0..count).map(|v| v as f32));
    let shape: Vec<usize> = [1].iter().chain(shape).copied().collect();
    values.into_shape_with_order(IxDyn(&shape)).unwrap()
}

fn raw(shape: &[usize]) -> Options {
    Options { raw: true, ..shaped(shape) }
}

#[test]
fn channels_go_where_the_model_has_them() {
    let folder = Folder::new();
    let last = ramp(&[6, 5, 3]);
    let first = last.clone().permuted_axes(IxDyn(&[0, 3, 1, 2]));
    let path = bytes(&folder, &[6, 5, 3]);
    assert_eq!(read(&path, &raw(&[3, 6, 5])).unwrap().values, first);
    assert_eq!(read(&path, &raw(&[6, 5, 3])).unwrap().values, last);
    assert_eq!(read(&path, &raw(&[90])).unwrap().values, ramp(&[90]));
    let free = Options { raw: true, ..Options::default() };
    assert_eq!(read(&path, &free).unwrap().values, first);
    let told = Options { layout: Layout::Nchw, ..free.clone() };
    assert_eq!(read(&path, &told).unwrap().values, last);
    let path = bytes(&folder, &[3, 6, 5]);
    let first = ramp(&[3, 6, 5]);
    assert_eq!(read(&path, &raw(&[3, 6, 5])).unwrap().values, first);
    let last = first.clone().permuted_axes(IxDyn(&[0, 2, 3, 1]));
    assert_eq!(read(&path, &raw(&[6, 5, 3])).unwrap().values, last);
    assert_eq!(read(&path, &free).unwrap().values, first);
    let path = bytes(&folder, &[5, 5, 2]);
    let told = Options { layout: Layout::Nhwc, ..raw(&[2, 5, 5]) };
    let turned = ramp(&[5, 5, 2]).permuted_axes(IxDyn(&[0, 3, 1, 2]));
    assert_eq!(read(&path, &told).unwrap().values, turned);
    assert_eq!(read(&path, &raw(&[2, 5, 5])).unwrap().values, turned);
}

#[test]
fn axes_of_one_come_and_go_and_flat_rows_get_their_shape() {
    let folder = Folder::new();
    let path = bytes(&folder, &[4, 5]);
    for shape in [&[1, 4, 5][..], &[4, 5, 1], &[4, 5], &[20]] {
        let expected = ramp(&[20]).into_shape_with_order(IxDyn(&[&[1], shape].concat())).unwrap();
        assert_eq!(read(&path, &raw(shape)).unwrap().values, expected);
    }
    let path = bytes(&folder, &[48]);
    assert_eq!(read(&path, &raw(&[3, 4, 4])).unwrap().values, ramp(&[3, 4, 4]));
    let both = refused(&path, &raw(&[3, 5, 5]));
    assert!(both.contains("(48,) can't be made (3, 5, 5)"), "{both}");
    let path = bytes(&folder, &[4, 6]);
    let other = refused(&path, &raw(&[6, 4]));
    assert!(other.contains("(4, 6) can't be made (6, 4)"), "{other}");
}

#[test]
fn scaling_comes_before_mean_and_deviation() {
    let folder = Folder::new();
    let path = folder.put("x.npy", npy("|u1", "(1, 1, 2, 3)", &[0, 51, 255, 0, 51, 255]));
    let options =
        Options { mean: vec![0.0, 0.2, 0.5], std: vec![1.0, 2.0, 0.5], ..shaped(&[3, 1, 2]) };
    let found: Vec<f32> = read(&path, &options).unwrap().values.iter().copied().collect();
    assert_eq!(found, [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    let table = folder.put("t.csv", "1,10\n2,20\n");
    let options = Options { mean: vec![1.0, 10.0], std: vec![0.5], ..Options::default() };
    let found: Vec<f32> = read(&table, &options).unwrap().values.iter().copied().collect();
    assert_eq!(found, [0.0, 0.0, 2.0, 20.0]);
    for (bad, message) in [
        (Options { mean: vec![0.0, 0.0, 0.0], ..Options::default() }, "mean has 3 numbers"),
        (Options { std: vec![0.0], ..Options::default() }, "must be above zero"),
        (Options { mean: vec![f32::NAN], ..Options::default() }, "no finite number"),
    ] {
        assert!(refused(&table, &bad).contains(message), "{message}");
    }
}

#[test]
fn numbers_for_each_channel_meet_the_channels_in_every_layout() {
    let folder = Folder::new();
    let path = folder.put("x.npy", npy("|u1", "(1, 2, 2, 3)", &[1, 2, 3].repeat(4)));
    for shape in [&[3, 2, 2][..], &[2, 2, 3], &[12]] {
        let options = Options { mean: vec![1.0, 2.0, 3.0], ..raw(shape) };
        let found = read(&path, &options).unwrap().values;
        assert!(found.iter().all(|&v| v == 0.0), "{shape:?}: {found}");
    }
}

#[test]
fn images_are_padded_in_the_middle_before_they_are_normalised() {
    let folder = Folder::new();
    let path = folder.put("x.npy", npy("|u1", "(1, 1, 2)", &[255, 51]));
    let options = Options { pad: Some((3, 5)), mean: vec![1.0], ..shaped(&[1, 3, 5]) };
    let found: Vec<f32> = read(&path, &options).unwrap().values.iter().copied().collect();
    let mut expected = [-1.0f32; 15];
    (expected[6], expected[7]) = (0.0, 0.2 - 1.0);
    assert_eq!(found, expected);
    let smaller = Options { pad: Some((1, 1)), ..Options::default() };
    assert!(refused(&path, &smaller).contains("1 × 2 can't be padded to 1 × 1"));
    let huge = Options { pad: Some((1 << 40, 1 << 40)), ..Options::default() };
    assert!(refused(&path, &huge).contains("has more than"));
    let flat = folder.put("f.npy", npy_f32("(1, 4)", &[0.0; 4]));
    assert!(refused(&flat, &options).contains("no images"));
}

#[test]
fn options_can_be_stored() {
    let folder = Folder::new();
    let options =
        Options { resize: Some(Resize::To(2, 2)), layout: Layout::Nhwc, ..shaped(&[1, 2, 2]) };
    let text = serde_json::to_string(&options).unwrap();
    assert_eq!(serde_json::from_str::<Options>(&text).unwrap(), options);
    assert_eq!(serde_json::from_str::<Options>("{}").unwrap(), Options::default());
    let path = folder.put("x.npy", npy_f32("(1, 4, 4, 1)", &[3.0; 16]));
    assert_eq!(read(&path, &options).unwrap().values, ArrayD::from_elem(IxDyn(&[1, 1, 2, 2]), 3.0));
}
