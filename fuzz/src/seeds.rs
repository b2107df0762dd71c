//! Small models to start from: one for every sample of every operator.

use std::{collections::BTreeSet, error::Error, fmt::Write as _, fs, path::Path, sync::OnceLock};

use taste_graph::{DType, Tensor};
use taste_onnx::{
    DimSpec, ElemType, Model, builders,
    proto::{GraphProto, OperatorSetIdProto, TensorProto},
};
use taste_ops::{Argument, Entry, Sample, operators};

use crate::detector;

/// The name of a file and its bytes.
type Seed = (String, Vec<u8>);

fn tensor(name: &str, tensor: &Tensor) -> TensorProto {
    match tensor {
        Tensor::Float(a) => {
            builders::tensor_f64(name, a.shape(), &a.iter().copied().collect::<Vec<_>>())
        }
        Tensor::Int(a) => {
            builders::tensor_i64(name, a.shape(), &a.iter().copied().collect::<Vec<_>>())
        }
        Tensor::Bool(a) => {
            builders::tensor_bool(name, a.shape(), &a.iter().copied().collect::<Vec<_>>())
        }
    }
}

fn model(entry: &Entry, sample: &Sample) -> Option<Vec<u8>> {
    let mut graph = GraphProto { name: "seed".into(), ..Default::default() };
    let mut names = Vec::new();
    for (i, argument) in sample.arguments.iter().enumerate() {
        let name = format!("x{i}");
        match argument {
            Argument::Omitted => {
                names.push(String::new());
                continue;
            }
            Argument::Fixed(t) => graph.initializer.push(tensor(&name, t)),
            Argument::Active(t) => {
                let elem = match t.dtype() {
                    DType::Float => ElemType::F32,
                    DType::Int => ElemType::I64,
                    DType::Bool => ElemType::Bool,
                };
                let mut dims: Vec<DimSpec> =
                    t.shape().iter().map(|&d| DimSpec::Fixed(d as i64)).collect();
                if sample.batched && !dims.is_empty() {
                    dims[0] = DimSpec::Symbol("N".into());
                }
                graph.input.push(builders::value_info(&name, elem, &dims));
            }
        }
        names.push(name);
    }
    let outs: Vec<String> = (0..sample.results).map(|i| format!("y{i}")).collect();
    let mut node = builders::node(entry.name, &names, &outs, "n");
    node.domain = entry.domain.to_owned();
    node.attribute.clone_from(&sample.attributes);
    graph.node.push(node);
    for out in &outs {
        graph.output.push(builders::value_info(out, ElemType::F32, &[]));
    }
    let mut proto = builders::model(graph, sample.opset);
    if !entry.domain.is_empty() {
        let domain = entry.domain.to_owned();
        proto.opset_import.push(OperatorSetIdProto { domain, version: 1 });
    }
    Model::new(proto).to_bytes().ok()
}

/// Every sample as a file, with a name.
fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for entry in operators() {
        for (i, sample) in (entry.samples)().iter().enumerate() {
            seeds.extend(model(entry, sample).map(|m| (format!("{}-{i}.onnx", entry.name), m)));
        }
    }
    seeds
}

/// The names of operators and of attributes.
pub(crate) fn words() -> &'static (Vec<&'static str>, Vec<String>) {
    static WORDS: OnceLock<(Vec<&'static str>, Vec<String>)> = OnceLock::new();
    WORDS.get_or_init(|| {
        let mut attributes = BTreeSet::new();
        for entry in operators() {
            for sample in (entry.samples)() {
                attributes.extend(sample.attributes.into_iter().map(|a| a.name));
            }
        }
        (operators().map(|e| e.name).collect(), attributes.into_iter().collect())
    })
}

/// Writes the corpus and the dictionary of a target if the variable `TASTE_SEEDS` is set.
pub fn write_seeds_if_asked(target: &str) {
    if std::env::var_os("TASTE_SEEDS").is_some()
        && let Err(e) = write_seeds(target)
    {
        eprintln!("no seeds: {e}");
    }
}

fn write_seeds(target: &str) -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = root.join("corpus").join(target);
    fs::create_dir_all(&corpus)?;
    let regressions = root.join("../crates/ops/tests/regressions");
    if target == "detector" {
        for (name, seed) in detector::seeds()? {
            let path = corpus.join(format!("{name}.onnx"));
            seed.save(&path)?;
            for (kept, hostile) in files(&regressions)? {
                let bytes = disguised(&fs::read(&path)?, &hostile)?;
                fs::write(corpus.join(format!("{name}-{kept}")), bytes)?;
            }
        }
    } else {
        for (name, bytes) in seeds().into_iter().chain(golden(root)?).chain(files(&regressions)?) {
            fs::write(corpus.join(name), bytes)?;
        }
    }
    let mut dictionary = String::new();
    let (operators, attributes) = words();
    for word in operators.iter().copied().chain(attributes.iter().map(String::as_str)) {
        writeln!(dictionary, "{word:?}")?;
    }
    fs::write(root.join(format!("{target}.dict")), dictionary)?;
    Ok(())
}

/// The files of a folder with their names.
fn files(folder: &Path) -> Result<Vec<Seed>, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        found.push((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?));
    }
    Ok(found)
}

/// A hostile graph with the manifest and the constants of a detector.
fn disguised(detector: &[u8], hostile: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let detector = Model::from_bytes(detector, None)?.proto;
    let mut proto = Model::from_bytes(hostile, None)?.proto;
    proto.metadata_props = detector.metadata_props;
    if let (Some(graph), Some(of)) = (&mut proto.graph, detector.graph) {
        graph.initializer.extend(of.initializer);
    }
    Ok(Model::new(proto).to_bytes()?)
}

/// Small models of exporters.
fn golden(root: &Path) -> Result<Vec<Seed>, Box<dyn Error>> {
    let mut found = Vec::new();
    for exporter in fs::read_dir(root.join("../crates/engine/tests/fixtures/golden"))? {
        let exporter = exporter?;
        if !exporter.path().is_dir() {
            continue;
        }
        for case in fs::read_dir(exporter.path())? {
            let case = case?;
            let bytes = fs::read(case.path().join("model.onnx")).unwrap_or_default();
            if !bytes.is_empty() && bytes.len() < 50 << 10 {
                let (case, exporter) = (case.file_name(), exporter.file_name());
                let name = format!("golden-{}-{}.onnx", case.display(), exporter.display());
                found.push((name, bytes));
            }
        }
    }
    Ok(found)
}
