//! Experiments on images, with drawn digits and pictures in the formats that they are published in.

mod common;
mod published;

use std::{fs, path::Path};

use ndarray::{Array4, ArrayD};
use taste_data::InMemory;
use taste_lab::{Effort, ErrorKind, Run, experiment, reproduce};
use taste_stats::random::Random;
use taste_train::{Training, networks};

use common::{check_files, folder};
use published::publish;

/// Bars whose place tells the class, on a grid of bytes.
fn picture(class: u8, side: usize, channels: usize, random: &mut Random) -> Vec<u8> {
    let row = 2 + usize::from(class) * (side - 4) / 10;
    let mut pixels = vec![0; channels * side * side];
    for (i, pixel) in pixels.iter_mut().enumerate() {
        let (y, x) = (i / side % side, i % side);
        let is_bar = (row..row + 3).contains(&y) && x > 3 && x < side - 4;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a byte")]
        let noise = (40.0 * random.uniform()) as u8;
        *pixel = if is_bar { 200 + noise } else { noise };
    }
    pixels
}

/// Images and labels as MNIST has them.
fn write_idx(folder: &Path, stem: &str, count: usize, seed: u64) {
    fs::create_dir_all(folder).expect("a folder");
    let mut random = Random::new(seed);
    let number = |n: usize| u32::try_from(n).expect("small").to_be_bytes();
    let mut images = [0, 0, 8, 3].to_vec();
    for size in [count, 28, 28] {
        images.extend(number(size));
    }
    let mut labels = [0, 0, 8, 1].to_vec();
    labels.extend(number(count));
    for i in 0..count {
        let class = u8::try_from(i % 10).expect("a digit");
        images.extend(picture(class, 28, 1, &mut random));
        labels.push(class);
    }
    fs::write(folder.join(format!("{stem}-images-idx3-ubyte")), images).expect("written");
    fs::write(folder.join(format!("{stem}-labels-idx1-ubyte")), labels).expect("written");
}

/// Images as CIFAR-10 has them.
fn write_cifar(path: &Path, count: usize, seed: u64) -> (Vec<u8>, Vec<i64>) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    let mut random = Random::new(seed);
    let (mut bytes, mut pixels, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..count {
        let class = u8::try_from(i % 10).expect("a class");
        let picture = picture(class, 32, 3, &mut random);
        bytes.push(class);
        bytes.extend(&picture);
        pixels.extend(picture);
        labels.push(i64::from(class));
    }
    fs::write(path, bytes).expect("written");
    (pixels, labels)
}

/// A folder of data and one of models, with all that the experiments on digits need.
fn digits(folder: &Path) {
    let mnist = folder.join("mnist");
    write_idx(&mnist, "train", 800, 1);
    write_idx(&mnist, "t10k", 40, 2);
    write_idx(&folder.join("fashion-mnist"), "t10k", 20, 3);
    // The experiments look for files as they are published, packed.
    for (set, stem) in [("mnist", "train"), ("mnist", "t10k"), ("fashion-mnist", "t10k")] {
        for kind in ["images-idx3", "labels-idx1"] {
            let name = folder.join(set).join(format!("{stem}-{kind}-ubyte"));
            fs::rename(&name, name.with_file_name(format!("{stem}-{kind}-ubyte.gz")))
                .expect("named");
        }
    }
}

#[test]
fn digits_that_are_moved_turned_and_mixed() {
    let (data, out) = (folder(), folder());
    digits(data.path());
    let run = Run::new(out.path()).data(data.path()).effort(Effort::Least);
    let page = reproduce(experiment("mnist").expect("listed"), &run).expect("a page");
    check_files(out.path(), &page);
    let sets = page.table_named("sets").expect("a table");
    assert_eq!(
        sets.number("moved by up to 0 px", "accuracy"),
        sets.number("turned by 0°", "accuracy")
    );

    // The networks are those of the first experiment.
    let page = reproduce(experiment("mixed").expect("listed"), &run).expect("a page");
    check_files(out.path(), &page);
    let files = fs::read_dir(out.path().join("kept/files")).expect("files").flatten();
    let networks = files.filter(|f| f.file_name().to_string_lossy().starts_with("digits-c"));
    assert_eq!(networks.filter(|f| f.path().extension().is_some_and(|e| e == "onnx")).count(), 1);
}

#[test]
fn pictures_under_one_rule() {
    let (data, models, out) = (folder(), folder(), folder());
    let (pixels, labels) = write_cifar(&data.path().join("cifar10/data_batch_1.bin"), 400, 1);
    write_cifar(&data.path().join("cifar10/test_batch.bin"), 400, 2);
    write_cifar(&data.path().join("svhn/test.bin"), 40, 3);
    let values = Array4::from_shape_vec((400, 3, 32, 32), pixels).expect("pictures");
    let values: ArrayD<f32> = values.mapv(|v| f32::from(v) / 255.0).into_dyn();
    let network = networks::small_cnn([3, 32, 32], 10);
    let samples = InMemory::new("pictures", values).with_labels(labels);
    let trained =
        Training::classifier(&network).steps(60).batch(32).rate(2e-3).seed(1).run(&samples);
    let model = trained.expect("trained").model().expect("a model");
    model.onnx().save(&models.path().join("cifar10_resnet20.onnx")).expect("saved");

    let run = Run::new(out.path()).data(data.path()).models(models.path()).effort(Effort::Least);
    for name in ["cifar10", "harm", "ablation"] {
        let page = reproduce(experiment(name).expect("listed"), &run).expect(name);
        check_files(out.path(), &page);
    }
    let page = reproduce(experiment("cifar10").expect("listed"), &run).expect("again");
    let sets = page.table_named("sets").expect("a table");
    let area = sets.number("C/gaussian-noise:3", "taste, full");
    let area = area.unwrap_or_else(|| panic!("no such area: {}", sets.csv()));
    assert!((0.0..=1.0).contains(&area));
    assert_eq!(page.numbers().len(), 70);
}

#[test]
fn a_published_network_goes_on_learning_and_a_published_score_is_taken() {
    let (data, models, out) = (folder(), folder(), folder());
    write_cifar(&data.path().join("cifar10/data_batch_1.bin"), 400, 1);
    write_cifar(&data.path().join("cifar10/test_batch.bin"), 400, 2);
    publish(models.path(), "resnet18-f37072fd.pth", "ddpm-cifar10-32", 32);
    let run = Run::new(out.path()).data(data.path()).models(models.path()).effort(Effort::Least);
    let page = reproduce(experiment("cifar10").expect("listed"), &run).expect("a page");
    check_files(out.path(), &page);
    let text = page.markdown();
    assert!(text.contains("| network | resnet18-f37072fd.pth, fine-tuned here"), "{text}");
    assert!(
        text.contains("| score model of the paper's residual | ddpm-cifar10-32, t = 50"),
        "{text}"
    );
    assert!(page.numbers()[0].why.starts_with("its network, tuned here, its score model"));
    // It told another number of classes apart.
    let files = fs::read_dir(out.path().join("kept/files")).expect("files").flatten();
    let tuned = files.map(|f| f.path()).find(|f| f.extension().is_some_and(|e| e == "onnx"));
    let tuned = taste_engine::Model::open(&tuned.expect("a network")).expect("a model");
    let draft = tuned.draft(&taste_engine::Request::default()).expect("a draft");
    assert_eq!((draft.sample_shape(), draft.width()), (vec![3, 32, 32], 10));
}

#[test]
fn what_is_missing_is_named() {
    let (data, out) = (folder(), folder());
    let run = Run::new(out.path()).data(data.path()).effort(Effort::Least);
    let error = reproduce(experiment("mnist").expect("listed"), &run).expect_err("no digits");
    assert_eq!(error.kind(), ErrorKind::Data);
    assert!(error.to_string().contains("train-images-idx3-ubyte"), "{error}");
    let run = Run::new(out.path()).effort(Effort::Least);
    let error = reproduce(experiment("mnist").expect("listed"), &run).expect_err("no folder");
    assert!(error.to_string().contains("no folder of such was given"), "{error}");
}
