//! `taste corrupt`.

use ndarray::{ArrayD, IxDyn};
use taste_data::npy::DType;

use crate::{
    common::{Place, array},
    models::images,
};

#[test]
fn pictures_are_corrupted_as_the_seed_says() {
    let place = Place::new();
    place.write("x.npy", &images(40, 12, 10, 1));
    let report = place.json("corrupt x.npy --kind gaussian-noise --severity 5 -o a.npy --json -q");
    assert_eq!(report["corruption"], "gaussian-noise:5");
    assert_eq!(report["shape"], serde_json::json!([12, 10]));
    place.ok("corrupt x.npy --kind gaussian_noise:5 -o b.npy -q");
    place.ok("corrupt x.npy --kind gaussian-noise:5 --seed 1 -o c.npy -q");
    place.ok("corrupt x.npy --kind gaussian-noise:5 --first 7 -o d.npy -q");
    let (dtype, a) = array(&place.path("a.npy"));
    assert_eq!((dtype, a.shape()), (DType::U8, &[40, 12, 10][..]));
    assert_eq!(a, place.array("b.npy"));
    assert_ne!(a, place.array("c.npy"));
    let first = place.array("d.npy");
    assert!(first.iter().eq(a.iter().take(first.len())) && first.shape()[0] == 7);
    let off = (&a - &place.array("x.npy")).mapv(f64::abs).mean().unwrap();
    // The mean of |N(0, 25.5)| is 20.3, a little less at the ends of the range.
    assert!((18.0..21.0).contains(&off), "{off}");
    place.ok("corrupt x.npy --pad 16x16 --kind rotate:degrees=30 -o e.npy -q");
    assert_eq!(place.array("e.npy").shape(), [40, 16, 16]);
}

#[test]
fn tables_are_corrupted_and_keep_their_labels() {
    let place = Place::new();
    let rows: Vec<String> = (0..30).map(|i| format!("{i},{},class{}", i % 3, i % 2)).collect();
    place.text("x.csv", &format!("height,kind,label\n{}\n", rows.join("\n")));
    place.ok("corrupt x.csv --labels label --kind unit-change:2,column=height -o y.csv -q");
    let text = std::fs::read_to_string(place.path("y.csv")).unwrap();
    assert!(text.starts_with("height,kind,label\n0.0,0.0,class0\n2.54,1.0,class1\n"), "{text}");
    place.ok("corrupt x.csv --labels label --kind missing-values --severity 5 -o z.csv -q");
    let text = std::fs::read_to_string(place.path("z.csv")).unwrap();
    let missing = text.lines().flat_map(|l| l.split(',')).filter(|c| c.is_empty()).count();
    assert!((10..40).contains(&missing), "{text}");
    place.ok("corrupt x.csv --exclude label --kind table-noise -o z.npy -q");
    assert_eq!(place.array("z.npy").shape(), [30, 2]);
}

#[test]
fn what_can_not_be_corrupted_is_said_in_a_sentence() {
    let place = Place::new();
    place.write("x.npy", &images(4, 12, 10, 1));
    place.write("small.npy", &images(4, 5, 5, 1));
    place.write("flat.npy", &ArrayD::<f32>::zeros(IxDyn(&[4, 6])));
    place.text("x.csv", "height,label\n1,red\n2,blue\n");
    place.write("wild.npy", &ArrayD::<f32>::from_elem(IxDyn(&[4, 1, 9, 9]), -2.0));
    for (arguments, message) in [
        ("x.npy --kind fgo -o y.npy", "did you mean fog?"),
        ("x.npy --kind fog --severity 7 -o y.npy", "1, 2, 3, 4, 5 or mixed"),
        ("x.npy --kind p-snow --severity 2 -o y.npy", "p-snow has one strength"),
        ("x.npy --kind fog -o y.csv", "name a file that ends in .npy"),
        ("x.npy --kind fog -o x.npy", "would overwrite what is read"),
        (
            "x.npy --kind table-noise -o y.npy",
            "the corruption table-noise is for tables, and its samples have the shape",
        ),
        (
            "x.csv --kind fog -o y.npy",
            "x.csv: the corruption fog is for pictures, and it is a table",
        ),
        ("small.npy --kind fog -o y.npy", "pictures of 5 × 5 pixels are too small"),
        (
            "flat.npy --kind fog -o y.npy",
            "the corruption fog is for pictures, and its samples have the shape [6]",
        ),
        ("flat.npy --kind unit-change:1,column=a -o y.npy", "no column \"a\""),
        (
            "wild.npy --kind fog -o y.npy",
            "holds -2, and pictures of floats have entries from 0 to 1",
        ),
        ("none.npy --kind fog -o y.npy", "none.npy"),
    ] {
        place.fails(&format!("corrupt {arguments}"), message);
    }
}
