//! Experiments with pictures, on pictures and networks that are drawn here.

mod common;
mod published;

use std::{fs, io::Write as _, path::Path};

use flate2::{Compression, write::GzEncoder};
use image::{GrayImage, Luma, Rgb, RgbImage};
use taste_lab::{Effort, Run, experiment, reproduce};
use taste_onnx::{
    DimSpec, ElemType, builders,
    proto::{GraphProto, NodeProto, TensorProto},
};
use taste_stats::random::Random;

use common::{check_files, folder};
use published::publish;

fn node(op: &str, args: &[&str], out: &str) -> NodeProto {
    builders::node(op, args, &[out], out)
}

fn weights(name: &str, dims: &[usize], random: &mut Random) -> TensorProto {
    let scale = 1.5 / (dims[1..].iter().product::<usize>() as f64).sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "weights are single precision")]
    let values: Vec<f32> =
        (0..dims.iter().product()).map(|_| (scale * random.normal()) as f32).collect();
    builders::tensor_f32(name, dims, &values)
}

fn input(name: &str, kind: ElemType, sizes: &[usize]) -> taste_onnx::proto::ValueInfoProto {
    let mut dims = vec![DimSpec::Symbol("n".into())];
    dims.extend(sizes.iter().map(|&size| DimSpec::Fixed(size as i64)));
    builders::value_info(name, kind, &dims)
}

fn save(graph: GraphProto, path: &Path) {
    taste_onnx::Model::new(builders::model(graph, 17)).save(path).expect("a file");
}

/// A classifier of four classes: two convolutions that halve the size, the mean over places, a linear layer.
fn classifier(shape: [usize; 3], path: &Path) {
    let mut random = Random::new(4);
    let conv = |args: &[&str], out: &str| NodeProto {
        attribute: vec![
            builders::attr_ints("strides", &[2, 2]),
            builders::attr_ints("pads", &[1, 1, 1, 1]),
        ],
        ..node("Conv", args, out)
    };
    let graph = GraphProto {
        name: "classifier".into(),
        node: vec![
            conv(&["x", "k1"], "h1"),
            node("Relu", &["h1"], "r1"),
            conv(&["r1", "k2"], "h2"),
            node("Relu", &["h2"], "r2"),
            node("GlobalAveragePool", &["r2"], "pooled"),
            node("Flatten", &["pooled"], "features"),
            node("MatMul", &["features", "w"], "logits"),
        ],
        initializer: vec![
            weights("k1", &[6, shape[0], 3, 3], &mut random),
            weights("k2", &[8, 6, 3, 3], &mut random),
            weights("w", &[8, 4], &mut random),
        ],
        input: vec![input("x", ElemType::F32, &shape)],
        output: vec![builders::value_info("logits", ElemType::F32, &[])],
        ..GraphProto::default()
    };
    save(graph, path);
}

/// The noise of data that are Gaussian: a share of the sample, whatever the time.
fn diffusion(path: &Path) {
    let graph = GraphProto {
        name: "noise".into(),
        node: vec![
            builders::node("Cast", &["t"], &["time"], "time"),
            node("Reshape", &["time", "shape"], "flat"),
            node("Mul", &["flat", "none"], "nothing"),
            node("Mul", &["x", "share"], "own"),
            node("Add", &["own", "nothing"], "noise"),
        ],
        initializer: vec![
            builders::tensor_i64("shape", &[4], &[-1, 1, 1, 1]),
            builders::tensor_f32("none", &[], &[0.0]),
            builders::tensor_f32("share", &[], &[0.3]),
        ],
        input: vec![input("x", ElemType::F32, &[3, 32, 32]), input("t", ElemType::I64, &[])],
        output: vec![builders::value_info("noise", ElemType::F32, &[])],
        ..GraphProto::default()
    };
    let mut graph = graph;
    graph.node[0].attribute = vec![builders::attr_int("to", 1)];
    save(graph, path);
}

/// A picture of soft stripes with some noise.
fn stripes(random: &mut Random, side: u32) -> RgbImage {
    let phase = 6.3 * random.uniform();
    RgbImage::from_fn(side, side, |x, y| {
        let wave = (f64::from(x + y) / 4.0 + phase).sin();
        let value = |shade: f64| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a byte")]
            let byte = (128.0 + shade * wave + 6.0 * random.normal()).clamp(0.0, 255.0) as u8;
            byte
        };
        let mut value = value;
        Rgb([value(50.0), value(40.0), value(30.0)])
    })
}

/// A category in the layout of `MVTec AD`: stripes, and stripes with a dark square.
fn category(root: &Path) {
    let mut random = Random::new(9);
    for (part, count) in [("train/good", 72), ("test/good", 6), ("test/square", 6)] {
        let folder = root.join(part);
        fs::create_dir_all(&folder).expect("a folder");
        for i in 0..count {
            let mut picture = stripes(&mut random, 40);
            if part == "test/square" {
                let masks = root.join("ground_truth/square");
                fs::create_dir_all(&masks).expect("a folder");
                let mut mask = GrayImage::new(40, 40);
                for (x, y) in (0..10).flat_map(|x| (0..10).map(move |y| (x + 3 * i, y + 12))) {
                    picture.put_pixel(x, y, Rgb([5, 5, 5]));
                    mask.put_pixel(x, y, Luma([255]));
                }
                mask.save(masks.join(format!("{i:03}_mask.png"))).expect("a file");
            }
            picture.save(folder.join(format!("{i:03}.png"))).expect("a file");
        }
    }
}

/// Stripes as files of MNIST and CIFAR-10.
fn archives(root: &Path) {
    let mut random = Random::new(7);
    let zipped = |path: &Path, bytes: &[u8]| {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let mut file = GzEncoder::new(fs::File::create(path).expect("a file"), Compression::fast());
        file.write_all(bytes).and_then(|()| file.finish().map(|_| ())).expect("written");
    };
    let (mut digits, mut photographs) =
        (vec![0, 0, 8, 3, 0, 0, 0, 140, 0, 0, 0, 28, 0, 0, 0, 28], Vec::new());
    for _ in 0..140 {
        digits.extend(stripes(&mut random, 28).pixels().map(|p| p.0[0]));
        let picture = stripes(&mut random, 32);
        photographs.extend([0]);
        for channel in 0..3 {
            photographs.extend(picture.pixels().map(|p| p.0[channel]));
        }
    }
    zipped(&root.join("mnist/t10k-images-idx3-ubyte.gz"), &digits);
    zipped(&root.join("cifar10/test_batch.bin.gz"), &photographs);
}

fn drawn() -> tempfile::TempDir {
    let root = folder();
    let models = root.path().join("models");
    fs::create_dir_all(&models).expect("a folder");
    category(&root.path().join("data/mvtec/stripes"));
    archives(&root.path().join("data"));
    classifier([3, 32, 32], &models.join("efficientnet_lite0.onnx"));
    classifier([3, 32, 32], &models.join("cifar10_resnet20.onnx"));
    classifier([1, 28, 28], &models.join("mnist_cnn.onnx"));
    diffusion(&models.join("cifar10_ddpm_small.onnx"));
    root
}

fn page(name: &str) -> (tempfile::TempDir, taste_lab::Page) {
    page_of(drawn(), name)
}

fn page_of(root: tempfile::TempDir, name: &str) -> (tempfile::TempDir, taste_lab::Page) {
    let out = root.path().join("out");
    let run = Run::new(&out)
        .data(&root.path().join("data"))
        .models(&root.path().join("models"))
        .effort(Effort::Least);
    let page = reproduce(experiment(name).expect("listed"), &run).expect("a page");
    check_files(&out, &page);
    (root, page)
}

#[test]
fn squares_among_stripes_are_found_where_they_are() {
    let (_root, page) = page("mvtec");
    let table = page.table_named("stripes").expect("a table");
    for map in ["evidence map (F)", "evidence map of a batch (B)"] {
        let auroc = table.number(map, "pixel AUROC").expect("a number");
        assert!(auroc > 0.85, "{map}: {auroc}");
    }
    assert_eq!(table.number("evidence map (F)", "image AUROC"), Some(1.0));
    assert!(page.table_named("means").is_some() && page.numbers().len() == 4);
}

#[test]
fn defects_of_every_kind_have_a_number() {
    let (_root, page) = page("maps");
    for set in ["digits", "photographs"] {
        let kinds = page.table_named(&format!("{set}-kinds")).expect("a table");
        let erased = kinds.number("evidence map (F)", "erased").expect("a number");
        assert!(erased > 0.8, "{set}: {erased}");
    }
}

#[test]
fn metrics_are_told_for_every_time() {
    let (_root, page) = page("timestep");
    let text = page.table_named("times").expect("a table").csv();
    assert_eq!(text.lines().count(), 1 + 2 * 2, "{text}");
    assert_eq!(page.claims().len(), 4);
}

#[test]
fn networks_of_the_paper_are_taken_where_they_are() {
    let root = drawn();
    let models = root.path().join("models");
    fs::remove_file(models.join("efficientnet_lite0.onnx")).expect("removed");
    fs::remove_file(models.join("cifar10_ddpm_small.onnx")).expect("removed");
    publish(&models, "resnet50-11ad3fa6.pth", "ddpm-cifar10-32", 32);
    publish(&models, "resnet50-11ad3fa6.pth", "ddpm-ema-celebahq-256", 32);
    let (root, page) = page_of(root, "timestep");
    let text = page.markdown();
    assert!(
        text.contains("resnet50-11ad3fa6.pth and cifar10_resnet20.onnx; ddpm-cifar10-32"),
        "{text}"
    );
    let (_root, page) = page_of(root, "mvtec");
    assert!(page.numbers()[0].why.contains("its classifier; its diffusion model of faces"));
}

#[test]
fn a_folder_without_categories_is_named() {
    let root = drawn();
    fs::remove_dir_all(root.path().join("data/mvtec/stripes/train")).expect("removed");
    let run = Run::new(&root.path().join("out"))
        .data(&root.path().join("data"))
        .models(&root.path().join("models"));
    let error = reproduce(experiment("mvtec").expect("listed"), &run).expect_err("nothing there");
    assert!(error.to_string().contains("train/good"), "{error}");
}
