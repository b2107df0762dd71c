//! U-Nets of diffusers.

use std::{fs, path::Path};

use ndarray::ArrayD;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::{Value as Json, json};
use taste_data::InMemory;
use taste_engine::{Backend, Value};
use taste_graph::{Build, Dim, Fact, Graph};
use taste_stein::fields::{self, Families, Field};
use taste_train::{
    FAMILIES,
    import::{self, Options, Schedule},
};

use crate::common::{agrees, array, copy, fixture, imported, refusal};

const WEIGHTS: &str = "diffusion_pytorch_model.safetensors";

#[test]
fn outputs_are_those_of_diffusers() {
    for (name, shape) in [
        ("plain", [3, 8, 8]),
        ("sharded", [3, 8, 8]),
        ("pipeline", [3, 8, 8]),
        ("legacy", [3, 8, 8]),
        ("heads", [2, 4, 8]),
    ] {
        let unet = imported(&fixture(name), &Options::default());
        assert_eq!(unet.sample_shape, shape, "{name}");
        let read = |what: &str| array(&format!("{name}/{what}.npy"));
        let feeds = [("sample", read("sample")), ("timestep", read("timestep"))];
        agrees(&unet, &feeds, "noise", &read("noise"));
    }
}

#[test]
fn published_configurations_have_their_known_numbers_of_parameters() {
    for (name, parameters) in
        [("ddpm-cifar10-32", 35_746_307), ("ddpm-ema-celebahq-256", 113_673_219)]
    {
        assert_eq!(import::count_parameters(&fixture(name)).expect(name), parameters, "{name}");
    }
    let plain = imported(&fixture("plain"), &Options::default());
    assert_eq!(import::count_parameters(&fixture("plain")).expect("plain"), plain.parameters);
}

#[test]
fn the_schedule_comes_from_the_pipeline() {
    let cosine = Schedule { name: "cosine", steps: 1000, beta_start: 1e-4, beta_end: 0.02 };
    let found = |name: &str| imported(&fixture(name), &Options::default()).schedule;
    assert_eq!(found("pipeline"), Some(cosine));
    assert_eq!(found("plain"), None);
    let place = copy("plain");
    let schedule = r#"{"beta_schedule": "linear", "prediction_type": "v_prediction"}"#;
    fs::write(place.path().join("scheduler_config.json"), schedule).expect("written");
    let message = refusal(place.path());
    assert!(
        message.contains("v_prediction") && message.contains("scheduler_config.json"),
        "{message}"
    );
}

/// The score model that is written so, for samples of the fixtures.
fn field(text: &str) -> Box<dyn Field> {
    let samples = InMemory::new("data", ArrayD::zeros(vec![1, 3, 8, 8]));
    let spec = Families::default().with(FAMILIES).parse(text).expect(text);
    assert!(!spec.learns() && spec.assumed_input().is_some());
    fields::fit(&*spec, &samples, 0).expect(text)
}

#[test]
fn an_imported_network_serves_as_a_score_model() {
    let unet = imported(&fixture("plain"), &Options::default());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("unet.onnx");
    unet.model.onnx().save(&file).expect("saved");
    for place in [file, fixture("plain")] {
        let fitted = field(&format!("ddpm:{},t=50", place.display()));
        let mut graph = Graph::new();
        let shape = [Dim::BATCH, 3.into(), 8.into(), 8.into()];
        let x = graph.input("x", Fact::float(shape.to_vec()));
        let y = fitted.build(&mut Build::new(&mut graph), x).expect("built");
        let outputs = [("score".to_owned(), y)];
        let session = Backend::RTEN.compile(&graph, &outputs, 1).expect("a session");
        // s(x) = −√ᾱ·ε(√ᾱ·x, 50) / σ, and ε is known at sample 1 of the fixture.
        let (root, sigma) = (0.984_861, 0.173_345);
        let sample = array("plain/sample.npy").mapv(|v| v / root);
        let found = session.run(&[("x", &Value::from(sample))]).expect("scores")[0].to_f64();
        let noise = array("plain/noise.npy");
        let row = ndarray::Axis(0);
        for (score, noise) in found.index_axis(row, 1).iter().zip(noise.index_axis(row, 1)) {
            let wanted = -f64::from(root) * f64::from(*noise) / sigma;
            assert!((score - wanted).abs() < 1e-3, "{score} instead of {wanted}");
        }
    }
}

#[test]
fn a_folder_says_its_schedule_unless_another_is_asked_for() {
    let place = copy("plain");
    let outer = tempfile::tempdir().expect("a folder");
    let folder = outer.path().join("a, b");
    fs::rename(place.path(), &folder).expect("moved");
    let schedule =
        r#"{"beta_schedule": "scaled_linear", "beta_end": 0.012, "num_train_timesteps": 500}"#;
    fs::write(folder.join("scheduler_config.json"), schedule).expect("written");
    let told = |options: &str| field(&format!("ddpm:{},{options}", folder.display())).describe();
    let facts = told("t=50");
    assert_eq!(facts["schedule"], json!({ "name": "scaled-linear", "beta": [1e-4, 0.012] }));
    assert_eq!(
        (&facts["steps"], &facts["file"]),
        (&json!(500), &json!(folder.display().to_string()))
    );
    let facts = told("t=700,steps=800,schedule=linear,beta-start=0.001");
    assert_eq!(facts["schedule"], json!({ "name": "linear", "beta": [1e-3, 0.012] }));
    assert_eq!(facts["steps"], 800);
    let refused = |options: &str| {
        let text = format!("ddpm:{}{options}", folder.display());
        Families::default().with(FAMILIES).parse(&text).expect_err(&text).to_string()
    };
    assert!(refused("").contains("t is missing"), "{}", refused(""));
    assert!(refused(",t=500").contains("a step from 0 to 499"), "{}", refused(",t=500"));
    assert!(refused(",t=5,depth=3").contains("\"depth=3\""), "{}", refused(",t=5,depth=3"));
}

/// Changes a file of weights.
fn rewrite(path: &Path, change: impl Fn(&mut Vec<(String, Vec<usize>, Vec<u8>)>)) {
    let bytes = fs::read(path).expect("weights");
    let tensors = SafeTensors::deserialize(&bytes).expect("weights");
    let mut list: Vec<(String, Vec<usize>, Vec<u8>)> = tensors
        .iter()
        .map(|(name, view)| (name.to_owned(), view.shape().to_vec(), view.data().to_vec()))
        .collect();
    list.sort();
    change(&mut list);
    let views = list.iter().map(|(name, shape, data)| {
        (name.as_str(), TensorView::new(Dtype::F32, shape.clone(), data).expect("a tensor"))
    });
    fs::write(path, safetensors::serialize(views, None).expect("written")).expect("written");
}

#[test]
fn tensors_that_are_missing_or_extra_are_listed() {
    let place = copy("plain");
    let weights = place.path().join(WEIGHTS);
    rewrite(&weights, |list| {
        list.retain(|t| t.0 != "conv_in.bias" && !t.0.starts_with("mid_block"));
        list.push(("class_embedding.weight".to_owned(), vec![1], vec![0; 4]));
    });
    let message = refusal(place.path());
    for part in [
        WEIGHTS,
        "21 tensors are missing (conv_in.bias [4], mid_block.resnets.0.norm1.weight [8]",
        ", …)",
        "1 tensor is not part of it (class_embedding.weight)",
    ] {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
    let place = copy("plain");
    configure(place.path(), "in_channels", &1.into());
    let message = refusal(place.path());
    let part =
        "1 tensor has another shape (conv_in.weight is [4, 3, 3, 3] instead of [4, 1, 3, 3])";
    assert!(message.contains(part), "{message}");
}

/// Changes a folder's configuration.
fn configure(folder: &Path, key: &str, value: &Json) {
    let path = folder.join("config.json");
    let text = fs::read_to_string(&path).expect("a configuration");
    let mut config: Json = serde_json::from_str(&text).expect("JSON");
    *config.get_mut(key).expect(key) = value.clone();
    fs::write(&path, config.to_string()).expect("written");
}

#[test]
fn what_a_configuration_asks_beyond_this_is_named() {
    for (key, value, part) in [
        ("num_class_embeds", json!(10), "num_class_embeds"),
        ("time_embedding_type", json!("fourier"), "time_embedding_type"),
        ("resnet_time_scale_shift", json!("scale_shift"), "scale_shift"),
        ("downsample_type", json!("resnet"), "downsample_type"),
        ("act_fn", json!("gelu"), "act_fn"),
        ("down_block_types", json!(["SkipDownBlock2D", "DownBlock2D"]), "SkipDownBlock2D"),
        ("_class_name", json!("UNet2DConditionModel"), "UNet2DConditionModel"),
        ("layers_per_block", json!(1_000_000_000), "layers_per_block = 1000000000"),
        ("layers_per_block", json!(-1), "config.json"),
        ("sample_size", json!(null), "sample_size"),
        ("sample_size", json!(9), "9x9"),
        ("norm_num_groups", json!(3), "norm_num_groups"),
        ("norm_num_groups", json!(0), "norm_num_groups"),
    ] {
        let place = copy("plain");
        configure(place.path(), key, &value);
        let message = refusal(place.path());
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
    let place = copy("plain");
    fs::write(place.path().join("config.json"), "\"act_fn\": ").expect("written");
    assert!(refusal(place.path()).contains("config.json"));
}

#[test]
fn images_may_have_another_size() {
    let options = Options { size: Some((16, 4)), ..Options::default() };
    let unet = imported(&fixture("plain"), &options);
    let session = Backend::RTEN.load(&unet.model, &["noise"], 1).expect("a session");
    let sample = Value::from(ArrayD::<f32>::zeros(vec![5, 3, 16, 4]));
    let step = Value::from(ArrayD::<f32>::ones(vec![5]));
    let noise = &session.run(&[("sample", &sample), ("timestep", &step)]).expect("a result")[0];
    assert_eq!(noise.shape(), [5, 3, 16, 4]);
}

#[test]
fn folders_without_a_model_are_told_apart() {
    let place = copy("plain");
    fs::remove_file(place.path().join(WEIGHTS)).expect("removed");
    let message = refusal(place.path());
    assert!(message.contains("no weights") && message.contains(WEIGHTS), "{message}");
    fs::remove_file(place.path().join("config.json")).expect("removed");
    assert!(refusal(place.path()).contains("no config.json"));
    assert!(refusal(&place.path().join("gone")).contains("no such file"));
}
