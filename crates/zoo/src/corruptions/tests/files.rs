use std::path::Path;

use ndarray::{Array4, ArrayD};
use taste_data::{
    Options,
    npy::{Element, Elements, Reader, Writer},
};

use super::super::{Recipe, Source, write};

fn save<T: Element>(path: &Path, array: &ArrayD<T>) {
    let mut writer = Writer::create(path, array.shape()).expect("a file");
    writer.append(&array.view()).expect("rows");
    writer.finish().expect("a file");
}

fn load(path: &Path) -> Elements {
    let mut reader = Reader::open(path).expect("a file");
    let rows = reader.shape()[0];
    reader.rows(0, rows).expect("rows")
}

fn run(source: &Path, kind: &str, most: Option<usize>, out: &Path) -> super::super::Written {
    let source = Source::open(source, &Options::default()).expect("pictures");
    let recipe = Recipe::read(kind).expect(kind);
    write(&source, &recipe, most, out, &|_| std::ops::ControlFlow::Continue(())).expect(kind)
}

#[test]
fn files_keep_their_type_and_layout_and_labels() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    #[expect(clippy::cast_possible_truncation, reason = "below 256")]
    let last =
        Array4::from_shape_fn((300, 10, 12, 3), |(n, y, x, c)| (n + 9 * y + 7 * x + 40 * c) as u8)
            .into_dyn();
    let first = last.clone().permuted_axes(vec![0, 3, 1, 2]);
    let first = first.as_standard_layout().into_owned();
    save(&path("last.npy"), &last);
    save(&path("first.npy"), &first);
    save(&path("float.npy"), &last.mapv(|v| f32::from(v) / 255.0));
    save(&path("last-labels.npy"), &ndarray::Array1::from_iter(0..300i64).into_dyn());

    let written = run(&path("last.npy"), "gaussian-noise:2", None, &path("a.npy"));
    assert_eq!((written.samples, &written.shape[..]), (300, &[10, 12, 3][..]));
    assert_eq!(written.labels, Some(path("a-labels.npy")));
    run(&path("first.npy"), "gaussian-noise:2", Some(270), &path("b.npy"));
    run(&path("float.npy"), "gaussian-noise:2", None, &path("c.npy"));
    let (Elements::U8(a), Elements::U8(b), Elements::F32(c)) =
        (load(&path("a.npy")), load(&path("b.npy")), load(&path("c.npy")))
    else {
        panic!("other types than before")
    };
    // Neither the layout, nor how many samples there are, nor chunks matter.
    let b = b.permuted_axes(vec![0, 2, 3, 1]);
    assert_eq!(a.slice(ndarray::s![..270, .., .., ..]).into_dyn(), b);
    assert_eq!(c.shape(), a.shape());
    let off = c.iter().zip(&a).map(|(c, a)| 255.0 * c - f32::from(*a)).fold(0f32, f32::max);
    assert!(off < 1.0 && a != last, "{off}");
}

#[test]
fn files_that_are_no_pictures_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    save(&path("wild.npy"), &Array4::from_elem((2, 1, 9, 9), 1.5f32).into_dyn());
    save(&path("fine.npy"), &Array4::from_elem((2, 1, 9, 9), 0.5f32).into_dyn());
    let refused = |file: &str, out: &str| {
        let source = Source::open(&path(file), &Options::default()).expect("pictures");
        let recipe = Recipe::read("fog").expect("a name");
        let go = |_: taste_detector::Stage<'_>| std::ops::ControlFlow::Continue(());
        write(&source, &recipe, None, &path(out), &go).expect_err(file).to_string()
    };
    let message = refused("wild.npy", "a.npy");
    assert!(message.contains("sample 0") && message.contains("holds 1.5"), "{message}");
    assert!(refused("fine.npy", "a.csv").contains("ends in .npy"));
    assert!(!path("a.npy").exists() && !path("a.csv").exists());
}
