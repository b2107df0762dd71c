//! Small models to start from: one for every sample of every operator.

use std::{collections::BTreeSet, error::Error, fmt::Write as _, fs, path::Path, sync::OnceLock};

use taste_graph::{DType, Tensor};
use taste_onnx::{
    DimSpec, ElemType, Model, builders,
    proto::{GraphProto, OperatorSetIdProto, TensorProto},
};
use taste_ops::{Argument, Entry, Sample, operators};

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
fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for entry in operators() {
        for (i, sample) in (entry.samples)().iter().enumerate() {
            seeds.extend(model(entry, sample).map(|m| (format!("{}-{i}.onnx", entry.name), m)));
        }
    }
    seeds
}

/// The names of operators and of attributes.
pub fn words() -> &'static (Vec<&'static str>, Vec<String>) {
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

/// Writes the seed corpus and the dictionary into this folder.
pub fn write_seeds() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = root.join("corpus/import");
    fs::create_dir_all(&corpus)?;
    for (name, bytes) in seeds() {
        fs::write(corpus.join(name), bytes)?;
    }
    let golden = root.join("../crates/engine/tests/fixtures/golden");
    for exporter in fs::read_dir(golden)? {
        let exporter = exporter?.path();
        if !exporter.is_dir() {
            continue;
        }
        for case in fs::read_dir(&exporter)? {
            let case = case?.path();
            let bytes = fs::read(case.join("model.onnx")).unwrap_or_default();
            if !bytes.is_empty() && bytes.len() < 50 << 10 {
                let place = case.strip_prefix(root.join("..")).unwrap_or(&case);
                let name: Vec<_> =
                    place.iter().rev().take(2).map(|p| p.to_string_lossy()).collect();
                fs::write(corpus.join(format!("golden-{}.onnx", name.join("-"))), bytes)?;
            }
        }
    }
    let regressions = root.join("../crates/ops/tests/regressions");
    for kept in fs::read_dir(regressions).into_iter().flatten() {
        let kept = kept?.path();
        if let Some(name) = kept.file_name() {
            fs::copy(&kept, corpus.join(name))?;
        }
    }
    let mut dictionary = String::new();
    let (operators, attributes) = words();
    for word in operators.iter().copied().chain(attributes.iter().map(String::as_str)) {
        writeln!(dictionary, "{word:?}")?;
    }
    fs::write(root.join("import.dict"), dictionary)?;
    Ok(())
}
