//! Residual networks.

use std::fs;

use ndarray::ArrayD;
use safetensors::SafeTensors;
use taste_engine::{Backend, Value};
use taste_train::import::{self, Options, Stem};

use crate::common::{agrees, array, fixture, imported};

fn sized(side: usize) -> Options {
    Options { size: Some((side, side)), ..Options::default() }
}

#[test]
fn outputs_are_those_of_torchvision() {
    for (name, file, side, architecture) in [
        ("bottleneck", "bottleneck.safetensors", 24, "ResNet-14 with 1 + 1 + 1 + 1 bottleneck"),
        ("basic", "basic.pt", 16, "ResNet-12 with 1 + 2 + 1 + 1 basic"),
        ("padded", "padded.pth", 16, "ResNet-8 with 1 + 1 + 1 basic"),
    ] {
        let network = imported(&fixture(file), &sized(side));
        assert!(network.architecture.starts_with(architecture), "{}", network.architecture);
        assert_eq!(network.sample_shape, [3, side, side]);
        let feeds = [("input", array(&format!("{name}_input.npy")))];
        agrees(&network, &feeds, "logits", &array(&format!("{name}_logits.npy")));
    }
}

#[test]
fn normalisation_is_part_of_the_network() {
    let (mean, std) = (vec![0.5, 0.4, 0.3], vec![0.25, 0.2, 0.5]);
    let mut images = array("basic_input.npy");
    for (channel, mut part) in images.axis_iter_mut(ndarray::Axis(1)).enumerate() {
        part.mapv_inplace(|v| v * std[channel] + mean[channel]);
    }
    let network = imported(&fixture("basic.pt"), &Options { mean, std, ..sized(16) });
    agrees(&network, &[("input", images)], "logits", &array("basic_logits.npy"));
}

#[test]
fn stems_differ_and_the_usual_one_is_the_default() {
    let run = |file: &str, stem: Option<Stem>| {
        let network = imported(&fixture(file), &Options { stem, ..sized(32) });
        let session = Backend::RTEN.load(&network.model, &["logits"], 1).expect("a session");
        let image =
            ArrayD::from_shape_fn(vec![1, 3, 32, 32], |at| (at[1] + at[2] * at[3]) as f32 * 1e-3);
        session.run(&[("input", &Value::from(image))]).expect("logits")[0].to_f64()
    };
    let stems = [Stem::ImageNet, Stem::Cifar, Stem::CifarPool];
    let [imagenet, cifar, pool] = stems.map(|stem| run("basic.pt", Some(stem)));
    assert!(imagenet != cifar && cifar != pool && pool != imagenet);
    assert_eq!(run("basic.pt", None), cifar);
    let large = run("bottleneck.safetensors", Some(Stem::ImageNet));
    assert_eq!(run("bottleneck.safetensors", None), large);
    for (file, side) in [("basic.pt", 32), ("bottleneck.safetensors", 224)] {
        let network = imported(&fixture(file), &Options::default());
        assert_eq!(network.sample_shape, [3, side, side]);
    }
    assert_eq!("cifar-pool".parse(), Ok(Stem::CifarPool));
    assert!("cifar100".parse::<Stem>().is_err());
}

#[test]
fn tensors_that_are_missing_are_listed() {
    let bytes = fs::read(fixture("bottleneck.safetensors")).expect("weights");
    let tensors = SafeTensors::deserialize(&bytes).expect("weights");
    let kept = tensors.iter().filter(|(name, _)| {
        !name.starts_with("layer2.0.downsample") && *name != "layer1.0.conv2.weight"
    });
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("less.safetensors");
    fs::write(&path, safetensors::serialize(kept, None).expect("written")).expect("written");
    let message = import::open(&path, &Options::default()).expect_err("less").to_string();
    for part in [
        "less.safetensors",
        "6 tensors are missing (layer1.0.conv2.weight [2, 2, 3, 3]",
        "layer2.0.downsample.0.weight [16, 8, 1, 1]",
    ] {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}
