//! Images and folders of them.

use std::{fs, path::Path};

use image::{DynamicImage, GrayImage, ImageBuffer, ImageFormat, Luma, Rgb, RgbImage, RgbaImage};
use taste_data::{Dataset, ErrorKind, Options, Problem, Resize, Samples};

use crate::files::{Folder, all, read, refused, same, shaped};

fn save(image: impl Into<DynamicImage>, path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let format = ImageFormat::from_path(path).unwrap();
    image.into().save_with_format(path, format).unwrap();
}

fn red(width: u32, height: u32) -> RgbImage {
    RgbImage::from_pixel(width, height, Rgb([255, 51, 0]))
}

fn grey(width: u32, height: u32, shade: u8) -> GrayImage {
    GrayImage::from_pixel(width, height, Luma([shade]))
}

#[test]
fn subfolders_are_classes_and_images_have_names() {
    let folder = Folder::new();
    save(red(4, 2), &folder.path("zebra/0.png"));
    save(grey(4, 2, 102), &folder.path("ant/deep/1.png"));
    save(grey(4, 2, 0), &folder.path("ant/0.PNG"));
    folder.put("ant/notes.txt", "not an image");
    folder.put("ant/._0.png", "not an image either");
    let options = Options { labels: true, ..shaped(&[3, 2, 4]) };
    let set = Dataset::open(folder.root(), &options).unwrap();
    assert_eq!(set.count(), Some(3));
    let found = all(&set).unwrap();
    assert_eq!(found.labels, Some(vec![0, 0, 1]));
    assert!(same(found.values[[1, 2, 1, 3]], 0.4));
    let colours: Vec<f32> = (0..3).map(|c| found.values[[2, c, 0, 0]]).collect();
    assert_eq!(colours, [1.0, 0.2, 0.0]);
    assert!(set.row_name(2).unwrap().ends_with("zebra/0.png"));
    assert_eq!(set.row_name(3), None);
}

#[test]
fn the_model_decides_between_grey_and_colour() {
    let folder = Folder::new();
    let path = folder.path("one.png");
    save(red(2, 2), &path);
    let found = read(&path, &shaped(&[1, 2, 2])).unwrap();
    assert!((found.values[[0, 0, 0, 0]] - 106.0 / 255.0).abs() < 1e-6);
    assert_eq!(found.labels, None);
    assert_eq!(read(&path, &shaped(&[2, 2])).unwrap().values.shape(), [1, 2, 2]);
    assert_eq!(read(&path, &shaped(&[4])).unwrap().values.shape(), [1, 4]);
    assert_eq!(read(&path, &shaped(&[12])).unwrap().values.shape(), [1, 12]);
    assert!(same(read(&path, &shaped(&[2, 2, 3])).unwrap().values[[0, 0, 0, 1]], 0.2));
    assert_eq!(read(&path, &Options::default()).unwrap().values.shape(), [1, 3, 2, 2]);
    let error = Dataset::open(&path, &shaped(&[3, 8, 8])).unwrap_err();
    assert!(error.to_string().contains("(3, 2, 2) can't be made (3, 8, 8)"), "{error}");
    assert!(matches!(error.problem(), Problem::Shape { only_size: true, .. }), "{error:?}");
}

#[test]
fn depth_and_alpha_are_handled() {
    let folder = Folder::new();
    let deep = folder.path("deep.png");
    save(ImageBuffer::<Luma<u16>, _>::from_pixel(1, 1, Luma([13107])), &deep);
    assert!(same(read(&deep, &Options::default()).unwrap().values[[0, 0, 0, 0]], 0.2));
    let clear = folder.path("clear.png");
    save(RgbaImage::from_pixel(1, 1, image::Rgba([255, 0, 51, 7])), &clear);
    let found = read(&clear, &Options::default()).unwrap().values;
    assert_eq!(found.iter().copied().collect::<Vec<_>>(), [1.0, 0.0, 0.2]);
    let jpeg = folder.path("flat.jpeg");
    save(grey(8, 8, 128), &jpeg);
    let found = read(&jpeg, &Options::default()).unwrap().values;
    assert!(found.iter().all(|v| (v - 128.0 / 255.0).abs() < 0.01));
}

#[test]
fn images_of_two_sizes_need_resizing() {
    let folder = Folder::new();
    save(grey(4, 4, 9), &folder.path("a.png"));
    save(grey(6, 4, 9), &folder.path("b.png"));
    let set = Dataset::open(folder.root(), &Options::default()).unwrap();
    let error = set.chunks(2).unwrap().next().unwrap().unwrap_err();
    let sentence = error.to_string();
    assert!(sentence.contains("b.png: it is 4 × 6, and"), "{sentence}");
    assert!(sentence.ends_with("a.png is 4 × 4"), "{sentence}");
    assert_eq!(error.kind(), ErrorKind::Shape);
    assert!(matches!(
        error.problem(),
        Problem::ImageSize { size: (4, 6), first_size: (4, 4), first } if first.ends_with("a.png")
    ));
    let resize = Options { resize: Some(Resize::To(2, 5)), raw: true, ..Options::default() };
    let found = read(folder.root(), &resize).unwrap();
    assert_eq!(found.values.shape(), [2, 1, 2, 5]);
    assert!(found.values.iter().all(|v| (v - 9.0).abs() < 1e-4));
    save(red(4, 4), &folder.path("b.png"));
    let mixed = read(folder.root(), &Options::default()).unwrap_err();
    assert!(mixed.contains("b.png: it is in colour, and"), "{mixed}");
    assert_eq!(read(folder.root(), &shaped(&[3, 4, 4])).unwrap().values.shape(), [2, 3, 4, 4]);
}

#[test]
fn bad_images_stop_everything_or_are_left_out_by_name() {
    let folder = Folder::new();
    for (number, shade) in [(1, 10), (3, 30), (4, 40), (6, 60)] {
        save(grey(2, 2, shade), &folder.path(&format!("{number}.png")));
    }
    let whole = fs::read(folder.path("1.png")).unwrap();
    folder.put("0.png", "");
    folder.put("2.png", &whole[..whole.len() - 20]);
    folder.put("5.jpg", "this is text");
    let error = Dataset::open(folder.root(), &Options::default()).unwrap_err();
    assert!(error.place().ends_with("0.png") && error.problem().to_string() == "it is empty");
    assert_eq!(error.kind(), ErrorKind::Entry);
    let options = Options { skip_bad: true, raw: true, ..Options::default() };
    let set = Dataset::open(folder.root(), &options).unwrap();
    assert_eq!(set.count(), None);
    for _ in 0..2 {
        let found = all(&set).unwrap();
        let shades: Vec<f32> = found.values.outer_iter().map(|v| v[[0, 0, 0]]).collect();
        assert_eq!(shades, [10.0, 30.0, 40.0, 60.0]);
        let skipped = set.skipped();
        let names: Vec<&str> = skipped.iter().map(|(n, _)| n.rsplit('/').next().unwrap()).collect();
        assert_eq!(names, ["0.png", "2.png", "5.jpg"]);
        assert!(skipped.iter().all(|(_, why)| !why.is_empty()));
    }
    for (index, name) in [(0, "1.png"), (1, "3.png"), (2, "4.png"), (3, "6.png")] {
        assert!(set.row_name(index).unwrap().ends_with(name));
        assert!(name.starts_with(&set.place(index).to_string()), "{name}");
    }
}

#[test]
fn a_folder_without_data_says_so() {
    let folder = Folder::new();
    folder.put("readme.md", "nothing here");
    assert!(refused(folder.root(), &Options::default()).contains("holds no data"));
    folder.put("only.png", "broken");
    let options = Options { skip_bad: true, ..Options::default() };
    assert!(refused(folder.root(), &options).contains("none of its images can be read"));
}

#[cfg(unix)]
#[test]
fn links_in_circles_end() {
    let folder = Folder::new();
    save(grey(2, 2, 10), &folder.path("a/1.png"));
    std::os::unix::fs::symlink(folder.root(), folder.path("a/again")).unwrap();
    assert_eq!(read(folder.root(), &Options::default()).unwrap().values.shape(), [1, 1, 2, 2]);
}
