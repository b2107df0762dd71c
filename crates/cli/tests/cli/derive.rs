//! `taste derive` from files to files.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use crate::common::{Place, array, distance, golden};
use ndarray::{ArrayD, Axis, IxDyn, Slice};
use serde_json::Value as Json;
use taste_data::npy::DType;
use taste_onnx::{DimSpec, ElemType, builders, proto::GraphProto};

const CASES: [&str; 6] = [
    "legacy/mlp_relu",
    "legacy/cnn_relu_avg",
    "legacy/vit",
    "dynamo/mlp_tanh",
    "dynamo/cnn_silu_gn",
    "dynamo/zoo",
];
const FILES: &str = "--value f.npy --grad grad.npy --laplacian lap.npy --diagonal diag.npy";

fn agrees(backend: &str, first: f64, second: f64, dtype: DType) {
    for case in CASES {
        let place = Place::golden(case);
        let run = place.ok(&format!("derive model.onnx --input x.npy --backend {backend} {FILES}"));
        assert_eq!(run.out, "", "{case}");
        for (name, tolerance) in [("f", first), ("grad", first), ("lap", second), ("diag", second)]
        {
            let name = format!("{name}.npy");
            let (found, got) = array(&place.path(&name));
            let (_, want) = array(&golden(case).join(&name));
            assert_eq!(found, dtype);
            let d = distance(&got, &want);
            assert!(d < tolerance, "{case} {name}: off by {d:.1e}");
        }
    }
}

#[test]
fn the_reference_backend_agrees_with_pytorch() {
    agrees("reference", 1e-9, 1e-9, DType::F64);
}

#[test]
fn rten_agrees_with_pytorch() {
    agrees("rten", 1e-4, 1e-3, DType::F32);
}

#[test]
fn ort_agrees_with_pytorch() {
    if std::env::var_os("ORT_DYLIB_PATH").is_some() {
        agrees("ort", 1e-4, 1e-3, DType::F32);
    }
}

#[test]
fn a_summary_is_printed_when_no_file_is_named() {
    let place = Place::golden("legacy/mlp_relu");
    let run = place.ok("derive model.onnx -i x.npy");
    for word in
        ["model.onnx", "float32 (6, 7)", "prob", "closed-form (exact)", "piecewise affine", "rten"]
    {
        assert!(run.out.contains(word), "{word}\n{}", run.out);
    }
    let want = array(&golden("legacy/mlp_relu/f.npy")).1;
    assert!(run.out.contains(&format!("{:.5}", want[0])), "{}", run.out);
    for row in ["value", "gradient norm", "laplacian"] {
        assert!(run.out.lines().any(|l| l.starts_with(row)), "{row}\n{}", run.out);
    }
    assert_eq!((run.err.as_str(), run.out.contains("stderr")), ("", false));
    assert_eq!(place.names(), ["model.onnx", "x.npy"]);
    let some = place.ok("derive model.onnx -i x.npy --want diagonal --backend reference");
    assert!(some.out.contains("diagonal") && !some.out.contains("gradient"), "{}", some.out);
    let value = place.ok("derive model.onnx -i x.npy --want value");
    assert!(value.out.contains("value") && !value.out.contains("method"), "{}", value.out);
}

#[test]
fn an_estimate_comes_with_its_error_and_its_seed() {
    let place = Place::golden("legacy/mlp_relu");
    let run =
        place.ok("derive model.onnx -i x.npy --laplacian-method hutchinson:8 --seed 3 --json");
    let json: Json = serde_json::from_str(&run.out).unwrap();
    assert_eq!(json["method"]["name"], "hutchinson:8");
    assert_eq!(json["method"]["stochastic"], true);
    assert_eq!(json["method"]["seed"], 3);
    assert!(json["quantities"]["stderr"]["mean"].as_f64().unwrap() > 0.0);
    let files = |seed: u64, name: &str| {
        let flags = format!(
            "--laplacian {name}.npy --stderr {name}-e.npy --laplacian-method hutchinson:8 --seed {seed}"
        );
        place.ok(&format!("derive model.onnx -i x.npy {flags}"));
        fs::read(place.path(&format!("{name}.npy"))).unwrap()
    };
    let first = files(3, "a");
    assert_eq!(first, files(3, "b"));
    assert_ne!(first, files(4, "c"));
    assert_eq!(array(&place.path("a-e.npy")).1.shape(), [6]);
}

#[test]
fn results_do_not_depend_on_how_samples_are_grouped() {
    let place = Place::golden("dynamo/mlp_tanh");
    for method in ["auto", "hutchinson:4", "hutchpp:6"] {
        for batch in [1, 4, 7] {
            let flags = format!(
                "--batch {batch} --laplacian-method {method} --backend reference --laplacian {batch}.npy"
            );
            place.ok(&format!("derive model.onnx -i x.npy {flags}"));
        }
        for batch in [4, 7] {
            let d = distance(&place.array(&format!("{batch}.npy")), &place.array("1.npy"));
            assert!(d < 1e-12, "{method}, {batch} at once: off by {d:.1e}");
        }
    }
    for batch in [1, 7] {
        place.ok(&format!(
            "derive model.onnx -i x.npy --batch {batch} --grad {batch}.npy --threads 1"
        ));
    }
    assert!(distance(&place.array("7.npy"), &place.array("1.npy")) < 1e-6);
}

#[test]
fn json_tells_what_was_done() {
    let place = Place::golden("legacy/cnn_relu_max_bn");
    let run = place
        .ok("derive model.onnx -i x.npy --grad g.npy --target prob:2 --batch 2 --json --quiet");
    let json: Json = serde_json::from_str(&run.out).unwrap();
    assert_eq!(run.err, "");
    assert_eq!(json["target"], "prob:2");
    assert_eq!(json["files"]["gradient"], "g.npy");
    assert_eq!(
        (&json["samples"], &json["chunk"], &json["dimension"]),
        (&3.into(), &2.into(), &192.into())
    );
    assert_eq!(json["method"], Json::Null);
    let quantities: Vec<&String> = json["quantities"].as_object().unwrap().keys().collect();
    assert_eq!(quantities, ["gradient", "value"]);
    let biased = place.ok("derive model.onnx -i x.npy --laplacian-method closed-form:2 --json");
    let json: Json = serde_json::from_str(&biased.out).unwrap();
    assert_eq!(json["method"]["biased"], true);
    assert!(biased.err.contains("biased"), "{}", biased.err);
}

#[test]
fn zeros_that_are_known_are_announced() {
    let place = Place::golden("legacy/mlp_relu");
    for method in ["auto", "exact"] {
        let run = place.ok(&format!(
            "derive model.onnx -i x.npy --target logit:1 --laplacian-method {method} --laplacian l.npy"
        ));
        assert!(
            run.err.contains("note: ") && run.err.contains("zero almost everywhere"),
            "{}",
            run.err
        );
        assert!(place.array("l.npy").iter().all(|v| *v == 0.0));
    }
    let quiet = place.ok("derive model.onnx -i x.npy --target logit:1 --laplacian l.npy --quiet");
    assert_eq!(quiet.err, "");
    let gradient = place.ok("derive model.onnx -i x.npy --target logit:1 --grad g.npy");
    assert!(!gradient.err.contains("note"), "{}", gradient.err);
}

#[test]
fn every_class_at_once_adds_an_axis() {
    let place = Place::golden("legacy/mlp_relu");
    place.ok(
        "derive model.onnx -i x.npy --target probs --value p.npy --grad g.npy --laplacian l.npy",
    );
    assert_eq!(place.array("p.npy").shape(), [6, 4]);
    assert_eq!(place.array("g.npy").shape(), [6, 4, 7]);
    assert_eq!(place.array("l.npy").shape(), [6, 4]);
}

#[test]
fn an_emitted_file_is_a_model_of_the_same_numbers() {
    let place = Place::golden("legacy/cnn_relu_max_bn");
    let run = place.ok("derive model.onnx --emit d.onnx --want gradient,laplacian");
    assert_eq!(run.out, "");
    assert!(run.err.contains("value, gradient, laplacian"), "{}", run.err);
    let (_, want) = array(&golden("legacy/cnn_relu_max_bn/lap.npy"));
    place.ok("derive d.onnx -i x.npy --output laplacian --value l.npy");
    let d = distance(&place.array("l.npy"), &want);
    assert!(d < 1e-3, "off by {d:.1e}");
    let both = place
        .ok("derive model.onnx -i x.npy --laplacian l2.npy --emit e.onnx --laplacian-method hutchinson:4");
    assert!(both.err.contains("the same ones for every sample"), "{}", both.err);
    assert_eq!(place.names(), ["d.onnx", "e.onnx", "l.npy", "l2.npy", "model.onnx", "x.npy"]);
    place.fails("derive model.onnx --emit h.onnx --laplacian-method hutchpp:9", "Hutch++");
}

/// y = Σ (image + time)²: two inputs, one of them with an open size.
fn two_inputs(place: &Place) {
    let open = |name: &str| DimSpec::Symbol(name.to_owned());
    let graph = GraphProto {
        name: "two".into(),
        node: vec![
            builders::node("Add", &["image", "time"], &["sum"], ""),
            builders::node("Mul", &["sum", "sum"], &["square"], ""),
            builders::node("ReduceSum", &["square", "axes"], &["y"], ""),
        ],
        initializer: vec![builders::tensor_i64("axes", &[1], &[1])],
        input: vec![
            builders::value_info("image", ElemType::F32, &[open("n"), open("width")]),
            builders::value_info("time", ElemType::F32, &[open("n"), DimSpec::Fixed(1)]),
        ],
        output: vec![builders::value_info("y", ElemType::F32, &[open("n"), DimSpec::Fixed(1)])],
        ..GraphProto::default()
    };
    taste_onnx::Model::new(builders::model(graph, 20)).save(&place.path("two.onnx")).unwrap();
}

#[test]
fn several_inputs_are_given_by_name() {
    let place = Place::new();
    two_inputs(&place);
    place.write(
        "x.npy",
        &ArrayD::from_shape_vec(IxDyn(&[2, 3]), vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap(),
    );
    place.write("t.npy", &ArrayD::from_shape_vec(IxDyn(&[2, 1]), vec![1.0f64, -1.0]).unwrap());
    place.ok("derive two.onnx -i x.npy -i time=t.npy --value v.npy --grad g.npy --laplacian l.npy");
    assert_eq!(place.array("v.npy").as_slice().unwrap(), [29.0, 50.0]);
    assert_eq!(place.array("g.npy").as_slice().unwrap(), [4.0, 6.0, 8.0, 6.0, 8.0, 10.0]);
    assert_eq!(place.array("l.npy").as_slice().unwrap(), [6.0, 6.0]);
    place.ok("derive two.onnx -i image=x.npy -i t.npy --wrt time --grad g.npy");
    assert_eq!(place.array("g.npy").shape(), [2, 1]);
    place.write("far.npy", &ArrayD::from_elem(IxDyn(&[2, 3]), 1e30f32));
    let far = place.ok("derive two.onnx -i far.npy -i time=t.npy --value v.npy");
    let warning = "warning: 2 of 2 entries of value are NaN or infinite";
    assert!(far.err.contains(warning), "{}", far.err);
    place.ok("derive two.onnx --shape 3 --emit d.onnx");
    place.ok("derive two.onnx --shape image=3 --wrt time --emit d.onnx");
    place.fails(
        "derive two.onnx -i x.npy --value a.npy",
        "input \"time\": nothing was given for it",
    );
    place.fails("derive two.onnx -i x.npy -i x.npy", "given twice");
    place.fails("derive two.onnx --emit a.onnx", "axis 1 open");
    place.fails("derive two.onnx --shape 3,x --emit a.onnx", "not a list of sizes");
    place.write("t3.npy", &ArrayD::<f32>::zeros(IxDyn(&[3, 1])));
    place.fails("derive two.onnx -i x.npy -i time=t3.npy", "x.npy has 2 samples and t3.npy 3");
}

#[test]
fn bytes_are_scaled_unless_they_are_kept() {
    let place = Place::golden("legacy/mlp_relu");
    let bytes =
        ArrayD::from_shape_fn(IxDyn(&[4, 7]), |i| u8::try_from(i[0] * 50 + i[1] * 7).unwrap());
    place.write("u8.npy", &bytes);
    place.write("scaled.npy", &bytes.mapv(|v| f64::from(v) / 255.0));
    place.write("whole.npy", &bytes.mapv(i64::from));
    let value = |flags: &str, name: &str| {
        let run =
            place.ok(&format!("derive model.onnx {flags} --backend reference --value {name}"));
        (run.err.contains("scaled by 1/255"), fs::read(place.path(name)).unwrap())
    };
    let (told, scaled) = value("-i u8.npy", "a.npy");
    assert!(told);
    assert_eq!((false, scaled), value("-i scaled.npy", "b.npy"));
    let (told, raw) = value("-i u8.npy --raw", "c.npy");
    assert!(!told);
    assert_eq!((false, raw), value("-i whole.npy", "d.npy"));
}

#[test]
fn bad_input_is_one_sentence_and_no_file() {
    let place = Place::golden("legacy/mlp_relu");
    let model = fs::read(place.path("model.onnx")).unwrap();
    fs::write(place.path("cut.onnx"), &model[..model.len() / 2]).unwrap();
    fs::write(place.path("text.onnx"), "this is no model\n").unwrap();
    fs::write(place.path("text.npy"), "1, 2, 3\n").unwrap();
    let x = fs::read(place.path("x.npy")).unwrap();
    fs::write(place.path("cut.npy"), &x[..x.len() - 5]).unwrap();
    place.write("flat.npy", &ArrayD::<f32>::zeros(IxDyn(&[7])));
    place.write("wide.npy", &ArrayD::<f32>::zeros(IxDyn(&[2, 8])));
    place.write("empty.npy", &ArrayD::<f32>::zeros(IxDyn(&[0, 7])));
    place.write("huge.npy", &ArrayD::from_elem(IxDyn(&[2, 7]), 1e300));
    let mut nan = ArrayD::<f32>::zeros(IxDyn(&[20, 7]));
    nan[[13, 2]] = f32::NAN;
    place.write("nan.npy", &nan);
    let object = String::from_utf8_lossy(&x).replace("'<f4'", "'|O' ");
    fs::write(place.path("object.npy"), object.as_bytes()).unwrap();
    let all = "--value v.npy --grad g.npy --emit e.onnx";
    for (arguments, message) in [
        ("derive missing.onnx -i x.npy", "missing.onnx"),
        ("derive cut.onnx -i x.npy", "cut.onnx"),
        ("derive text.onnx -i x.npy", "text.onnx is not an ONNX model: it is a text file"),
        ("derive x.npy -i x.npy", "not an ONNX model"),
        ("derive model.onnx", "give --input"),
        ("derive model.onnx -i missing.npy", "missing.npy"),
        ("derive model.onnx -i text.npy", "text.npy: not an npy file"),
        ("derive model.onnx -i cut.npy", "the file is cut off"),
        ("derive model.onnx -i object.npy", "object.npy"),
        (
            "derive model.onnx -i wide.npy",
            "wants an array of shape (N, 7), and the file has (2, 8)",
        ),
        ("derive model.onnx -i flat.npy", "a first axis of samples is missing"),
        ("derive model.onnx -i empty.npy", "it holds no samples"),
        ("derive model.onnx -i nan.npy", "nan.npy: sample 13 (counted from 0) holds NaN"),
        ("derive model.onnx -i nan.npy --batch 5", "nan.npy: sample 13 (counted from 0) holds NaN"),
        ("derive model.onnx -i huge.npy", "too large for single precision"),
        ("derive model.onnx -i x.npy --target nonsense", "no target \"nonsense\""),
        ("derive model.onnx -i x.npy --target prob:4", "there is no class 4"),
        (
            "derive model.onnx -i x.npy --laplacian-method nonsense",
            "no Laplacian method \"nonsense\"",
        ),
        (
            "derive model.onnx -i x.npy --laplacian-method probe:0",
            "M wants a number of at least 1, got \"0\"",
        ),
        (
            "derive model.onnx -i x.npy --output nonsense",
            "no output \"nonsense\"; the model has logits",
        ),
        ("derive model.onnx -i x.npy --wrt nonsense", "no input \"nonsense\"; the model has x"),
        ("derive model.onnx -i x.npy --backend nonsense", "no backend \"nonsense\""),
        ("derive model.onnx -i x.npy --ort-library missing.so", "no such file"),
        (
            "derive model.onnx -i x.npy --ort-library x.npy --backend rten",
            "goes with --backend ort",
        ),
        ("derive model.onnx -i x.npy --ort-library x.npy", "ort: "),
        ("derive model.onnx -i x.npy --stderr s.npy", "no standard error"),
        ("derive model.onnx -i x.npy --batch 0", "--batch"),
        ("derive model.onnx -i x.npy --threads 0", "--threads"),
        ("derive model.onnx -i x.npy --diagonal g.npy", "--grad writes to the same file"),
        ("derive model.onnx -i x.npy --diagonal x.npy", "would overwrite what is read"),
        ("derive model.onnx -i x.npy --diagonal model.onnx", "would overwrite what is read"),
        ("derive model.onnx -i x.npy --diagonal no/such/d.npy", "there is no folder no/such"),
        ("derive model.onnx -i x.npy --nonsense", "unexpected argument"),
    ] {
        // Without an input, emitting alone would be fine.
        let files = if arguments == "derive model.onnx" { "--value v.npy" } else { all };
        place.fails(&format!("{arguments} {files}"), message);
    }
    place.ok("derive model.onnx -i huge.npy --backend reference --grad g.npy");
}

#[test]
fn a_failure_keeps_what_was_there() {
    let place = Place::golden("legacy/mlp_relu");
    fs::write(place.path("g.npy"), "precious").unwrap();
    let mut x = place.array("x.npy");
    x[[5, 0]] = f64::INFINITY;
    place.write("bad.npy", &x);
    place.fails("derive model.onnx -i bad.npy --grad g.npy --batch 1", "sample 5");
    assert_eq!(fs::read(place.path("g.npy")).unwrap(), b"precious");
}

#[test]
fn a_long_file_is_computed_in_parts() {
    let place = Place::golden("legacy/mlp_relu");
    let x = place.array("x.npy");
    let long = ArrayD::from_shape_fn(IxDyn(&[2500, 7]), |i| x[[i[0] % 6, i[1]]]);
    place.write("long.npy", &long);
    let run = place.ok("derive model.onnx -i long.npy --laplacian l.npy --json");
    let json: Json = serde_json::from_str(&run.out).unwrap();
    assert!(json["chunk"].as_u64().unwrap() <= 1024);
    let got = place.array("l.npy");
    let want = array(&golden("legacy/mlp_relu/lap.npy")).1;
    assert_eq!(got.shape(), [2500]);
    let last = got.slice_axis(Axis(0), Slice::from(2496..2500)).to_owned();
    let same = want.slice_axis(Axis(0), Slice::from(0..4)).to_owned();
    assert!(distance(&last, &same) < 1e-3);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::golden("legacy/mlp_relu");
    for arguments in [
        &["ops"][..],
        &["inspect", "model.onnx"],
        &["derive", "model.onnx", "-i", "x.npy"],
        &["--help"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_taste"))
            .args(arguments)
            .current_dir(place.folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut complaints = Vec::new();
        for line in BufReader::new(child.stderr.take().unwrap()).lines() {
            complaints.push(line.unwrap());
        }
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}: {complaints:?}");
        assert!(complaints.is_empty(), "{complaints:?}");
    }
}
