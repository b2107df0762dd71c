//! The ONNX project's own node tests, for every operator of the table.
//!
//! `conformance/onnx_node_tests.py --out DIR` writes the tests; `TASTE_NODE_TESTS=DIR` runs them here.
//! `onnx_node_tests.txt` names those that pass, and `onnx_node_tests_excluded.txt` the others with the
//! reason. Both are checked, and `TASTE_UPDATE_MANIFEST=1` writes them anew. With
//! `TASTE_NODE_TESTS_EMIT=DIR` what passes is written out again, for `conformance/run_emitted.py`.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use prost::Message;
use taste_graph::{DType, Id, Tensor};
use taste_onnx::{
    ElemType, Model,
    proto::{TensorProto, type_proto},
};
use taste_ops::{ImportError, Imported, decode, find, import};

const MANIFEST: &str = "tests/onnx_node_tests.txt";
const EXCLUDED: &str = "tests/onnx_node_tests_excluded.txt";
const UPDATE: &str = "TASTE_UPDATE_MANIFEST";

/// Whether an input, by position, becomes a constant.
type Choice<'a> = &'a dyn Fn(usize, &TensorProto) -> bool;

/// A test as it was written to a folder.
struct Case {
    model: Model,
    inputs: Vec<TensorProto>,
    outputs: Vec<TensorProto>,
}

impl Case {
    fn open(folder: &Path) -> Result<Self, String> {
        let model = Model::open(&folder.join("model.onnx")).map_err(|e| e.to_string())?;
        let side = |name: &str| {
            let mut tensors = Vec::new();
            loop {
                let path = folder.join(format!("{name}_{}.pb", tensors.len()));
                if !path.exists() {
                    return tensors;
                }
                tensors.push(read(&path));
            }
        };
        Ok(Self { inputs: side("input"), outputs: side("output"), model })
    }

    /// Whether every node is of an operator in the table.
    fn is_ours(&self) -> bool {
        let graph = self.model.proto.graph.as_ref();
        graph.is_some_and(|g| g.node.iter().all(|n| find(&n.domain, &n.op_type).is_some()))
    }

    /// Why the test is outside what the project is for, if it is.
    fn out_of_scope(&self) -> Option<String> {
        let graph = self.model.proto.graph.as_ref()?;
        for info in graph.input.iter().chain(&graph.output) {
            let Some(type_proto::Value::TensorType(tensor)) =
                info.r#type.as_ref().and_then(|t| t.value.as_ref())
            else {
                return Some("out of scope: values that are not tensors".into());
            };
            match ElemType::from_code(tensor.elem_type) {
                Some(ElemType::String) => return Some("out of scope: strings".into()),
                None => return Some("out of scope: 8-bit floats, integers below 8 bits".into()),
                Some(_) => {}
            }
        }
        None
    }

    /// Imports the model with some inputs as constants: as few as it takes. Node tests feed everything
    /// when the model runs, and shapes, axes and the like have to be known before.
    fn import(&self) -> Result<(Imported, Vec<bool>), String> {
        let ints = |_: usize, t: &TensorProto| {
            !matches!(
                ElemType::from_code(t.data_type),
                Some(ElemType::F16 | ElemType::Bf16 | ElemType::F32 | ElemType::F64)
            )
        };
        let choices: [Choice<'_>; 4] = [&|_, _| false, &ints, &|i, _| i > 0, &|_, _| true];
        let mut problem = String::new();
        for constant in choices {
            let constant: Vec<bool> =
                self.inputs.iter().enumerate().map(|(i, t)| constant(i, t)).collect();
            let mut model = self.model.clone();
            let graph = model.proto.graph.as_mut().expect("a graph");
            for ((info, tensor), constant) in graph.input.iter().zip(&self.inputs).zip(&constant) {
                if *constant {
                    let tensor = TensorProto { name: info.name.clone(), ..tensor.clone() };
                    graph.initializer.push(tensor);
                }
            }
            match import(&model, &[], &HashMap::new()) {
                Ok(imported) => return Ok((imported, constant)),
                Err(e) => problem = reason(&e),
            }
        }
        Err(problem)
    }

    fn run(&self, emitted: Option<&Path>) -> Result<(), String> {
        if let Some(reason) = self.out_of_scope() {
            return Err(reason);
        }
        let (imported, constant) = self.import()?;
        let fed: Vec<&TensorProto> =
            self.inputs.iter().zip(&constant).filter(|(_, c)| !**c).map(|(t, _)| t).collect();
        assert_eq!(imported.inputs.len(), fed.len(), "inputs");
        assert_eq!(imported.outputs.len(), self.outputs.len(), "outputs");
        let mut feeds = HashMap::new();
        for ((_, id), tensor) in imported.inputs.iter().zip(&fed) {
            feeds.insert(*id, decode(&self.model, tensor).map_err(|e| e.to_string())?);
        }
        let ends: Vec<_> = imported.outputs.iter().map(|o| o.1).collect();
        let results = imported.graph.eval(&ends, &feeds, 1).map_err(|e| e.to_string())?;
        for ((result, want), (name, id)) in results.iter().zip(&self.outputs).zip(&imported.outputs)
        {
            let inferred = imported.graph.fact(*id).at(1);
            if inferred != result.concrete() {
                return Err(format!("{name}: inferred {inferred:?}, got {:?}", result.concrete()));
            }
            compare(&self.model, result, want).map_err(|e| format!("{name}: {e}"))?;
        }
        if let Some(folder) = emitted {
            let proto = imported.graph.to_onnx(&imported.outputs).map_err(|e| e.to_string())?;
            fs::create_dir_all(folder).expect("a folder");
            Model::new(proto).save(&folder.join("model.onnx")).map_err(|e| e.to_string())?;
            let outputs: Vec<&TensorProto> = self.outputs.iter().collect();
            write(folder, "input", &imported.inputs, &fed);
            write(folder, "output", &imported.outputs, &outputs);
        }
        Ok(())
    }
}

fn write(folder: &Path, side: &str, names: &[(String, Id)], tensors: &[&TensorProto]) {
    for (i, ((name, _), &tensor)) in names.iter().zip(tensors).enumerate() {
        let bytes = TensorProto { name: name.clone(), ..tensor.clone() }.encode_to_vec();
        fs::write(folder.join(format!("{side}_{i}.pb")), bytes).expect("a tensor is written");
    }
}

fn read(path: &Path) -> TensorProto {
    let bytes = fs::read(path).expect("a readable file");
    TensorProto::decode(bytes.as_slice()).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What keeps a model from being imported, in one line.
fn reason(error: &ImportError) -> String {
    match error {
        ImportError::Nodes(problems) => {
            let lines: BTreeSet<String> =
                problems.iter().map(|p| format!("{}: {}", p.op, p.reason)).collect();
            lines.into_iter().collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    }
}

fn compare(model: &Model, got: &Tensor, want: &TensorProto) -> Result<(), String> {
    let (relative, absolute) = match ElemType::from_code(want.data_type) {
        Some(ElemType::F16) => (1e-2, 1e-3),
        Some(ElemType::Bf16) => (5e-2, 1e-2),
        _ => (1e-3, 1e-5),
    };
    let want = decode(model, want).map_err(|e| e.to_string())?;
    if got.concrete() != want.concrete() {
        return Err(format!("got {:?}, want {:?}", got.concrete(), want.concrete()));
    }
    if got.dtype() != DType::Float {
        return if got == &want { Ok(()) } else { Err("elements differ".into()) };
    }
    let (got, want) = (got.as_float().expect("floats"), want.as_float().expect("floats"));
    #[expect(clippy::float_cmp, reason = "infinities are equal or not")]
    let equal = |g: f64, w: f64| {
        let near = w.is_finite() && (g - w).abs() <= absolute + relative * w.abs();
        near || g == w || (g.is_nan() && w.is_nan())
    };
    match got.iter().zip(want).find(|(g, w)| !equal(**g, **w)) {
        Some((g, w)) => Err(format!("got {g}, want {w}")),
        None => Ok(()),
    }
}

fn in_crate(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

fn lines(of: impl IntoIterator<Item = String>) -> String {
    of.into_iter().flat_map(|line| [line, "\n".to_owned()]).collect()
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that did not run must say so")]
fn node_tests_of_known_operators_pass_as_listed() {
    let Some(folder) = env::var_os("TASTE_NODE_TESTS").map(PathBuf::from) else {
        assert!(
            env::var_os("CI").is_none(),
            "TASTE_NODE_TESTS is not set: see the top of this file"
        );
        eprintln!("skipped: TASTE_NODE_TESTS is not set, see the top of {}", file!());
        return;
    };
    let emitted = env::var_os("TASTE_NODE_TESTS_EMIT").map(PathBuf::from);
    let mut passing = BTreeSet::new();
    let mut failing = BTreeMap::new();
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for path in entries.map(|e| e.expect("a readable folder").path()).filter(|p| p.is_dir()) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let case = Case::open(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        if !case.is_ours() {
            continue;
        }
        let emitted = emitted.as_ref().map(|e| e.join(&name));
        let run = AssertUnwindSafe(|| case.run(emitted.as_deref()));
        match catch_unwind(run).unwrap_or_else(|_| panic!("{name} panics")) {
            Ok(()) => {
                passing.insert(name);
            }
            Err(reason) => {
                failing.insert(name, reason.replace('\n', " "));
            }
        }
    }
    let manifest = lines(passing.iter().cloned());
    let excluded = lines(failing.iter().map(|(n, why)| format!("{n}: {why}")));
    if env::var_os(UPDATE).is_some() {
        fs::write(in_crate(MANIFEST), manifest).expect("manifest is written");
        fs::write(in_crate(EXCLUDED), excluded).expect("exclusions are written");
        eprintln!("{} tests pass and {} do not", passing.len(), failing.len());
        return;
    }
    let committed = |file: &str| fs::read_to_string(in_crate(file)).unwrap_or_default();
    let expected: BTreeSet<String> = committed(MANIFEST).lines().map(str::to_owned).collect();
    let why = |n: &String| failing.get(n).map_or("not in the folder", String::as_str);
    let broken = lines(expected.difference(&passing).map(|n| format!("  {n}: {}", why(n))));
    let surprising = lines(passing.difference(&expected).map(|n| format!("  {n}")));
    assert!(
        broken.is_empty() && surprising.is_empty(),
        "the node tests in {} do not pass as {MANIFEST} lists them.\n\
         Listed, but broken:\n{broken}Passing, but not listed:\n{surprising}\
         If this is right, run the test again with {UPDATE}=1 and commit the lists.",
        folder.display(),
    );
    assert!(
        committed(EXCLUDED) == excluded,
        "reasons in {EXCLUDED} have changed: run the test again with {UPDATE}=1 and commit the lists"
    );
}
