use std::{
    env,
    path::Path,
    sync::{Arc, Mutex},
};

use ndarray::{ArrayD, IxDyn};
use ort::{
    environment::Environment,
    session::{Session as Inner, SessionInputValue, builder::GraphOptimizationLevel},
    value::{DynValue, Tensor, TensorRef},
};
use taste_choice::Choice;
use taste_onnx::{
    ElemType, Values,
    proto::{
        DataLocation, StringStringEntryProto, ValueInfoProto,
        tensor_shape_proto::{self, dimension},
        type_proto,
    },
};

use super::{Backend, Engine, Instance, Loaded, Program};
use crate::{Error, Value, View};

pub(super) const ENGINE: &Engine = &Engine {
    choice: Choice {
        name: "ort",
        usage: "ort[:LIBRARY]",
        about: "ONNX Runtime, from a shared library of yours, in single precision",
    },
    has_library: true,
    read,
};

impl Backend {
    /// ONNX Runtime, in single precision, from the library that `ORT_DYLIB_PATH` names or the system finds.
    pub const ORT: Self = Self::of(ENGINE);
}

fn read(program: &Program<'_>, library: Option<&Path>) -> Result<Arc<dyn Loaded>, Error> {
    Ok(Arc::new(OrtModel::new(&program.file()?, library, program.names())?))
}

/// The name of the size that files leave open.
const BATCH: &str = "N";

/// Sessions that are kept: most numbers of samples are a chunk's, and at last what remains of a file.
const KEPT: usize = 2;
/// Sessions that are made for one number of samples each. After that, a new number gets the session for any number.
const MADE: usize = 16;

/// A graph in ONNX Runtime.
struct OrtInstance {
    source: OrtModel,
    threads: usize,
    /// By the number of samples; without one for any number. Where sizes are known, a session is made in a tenth of the time
    /// and keeps more values in the layout of its convolutions.
    sessions: Vec<(Option<usize>, Inner)>,
    made: usize,
}

/// What sessions are made from.
#[derive(Clone)]
struct OrtModel {
    environment: Environment,
    bytes: Arc<[u8]>,
    /// Weights that are handed over beside the message, where that would be too large with them.
    weights: Vec<(String, Arc<DynValue>)>,
    inputs: Vec<Input>,
    outputs: Vec<String>,
}

/// What is to be fed.
#[derive(Clone)]
struct Input {
    name: String,
    element: Option<ElemType>,
    /// The axis of samples, if their number is open.
    samples: Option<usize>,
}

impl Input {
    fn of(info: &ValueInfoProto) -> Self {
        let mut input = Self { name: info.name.clone(), element: None, samples: None };
        if let Some(type_proto::Value::TensorType(tensor)) =
            info.r#type.as_ref().and_then(|t| t.value.as_ref())
        {
            let is_batch = |d: &tensor_shape_proto::Dimension| matches!(&d.value, Some(dimension::Value::DimParam(n)) if n == BATCH);
            input.element = ElemType::from_code(tensor.elem_type);
            input.samples = tensor.shape.as_ref().and_then(|s| s.dim.iter().position(is_batch));
        }
        input
    }
}

#[expect(clippy::needless_pass_by_value, reason = "made to be handed to map_err")]
fn failed(message: impl ToString) -> Error {
    Error::Backend { backend: "ort", message: message.to_string() }
}

/// The library is loaded once a process; a second path would be ignored by the loader.
static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

fn environment(library: Option<&Path>) -> Result<Environment, Error> {
    let mut slot = ENVIRONMENT.lock().map_err(failed)?;
    if let Some(environment) = &*slot {
        return Ok(environment.clone());
    }
    let default = format!("{}onnxruntime{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let path = match library {
        Some(path) => path.to_owned(),
        None => {
            env::var_os("ORT_DYLIB_PATH").filter(|p| !p.is_empty()).unwrap_or(default.into()).into()
        }
    };
    let builder = ort::init_from(&path).map_err(|e| {
        failed(format!(
            "the ONNX Runtime library {} can't be loaded ({e}); give its path, or set \
             ORT_DYLIB_PATH (the Python package onnxruntime has it in its folder capi)",
            path.display()
        ))
    })?;
    let environment = builder.with_telemetry(false).build().map_err(failed)?;
    *slot = Some(environment.clone());
    Ok(environment)
}

impl OrtInstance {
    fn session(&mut self, rows: Option<usize>) -> Result<&mut Inner, Error> {
        let is_known = |size: Option<usize>| self.sessions.iter().any(|s| s.0 == size);
        let size = if is_known(rows) || self.made < MADE { rows } else { None };
        if let Some(place) = self.sessions.iter().position(|s| s.0 == size) {
            return Ok(&mut self.sessions[place].1);
        }
        if self.sessions.len() >= KEPT {
            self.sessions.remove(0);
        }
        let session = self.source.open(size, self.threads)?;
        self.made += 1;
        Ok(&mut self.sessions.push_mut((size, session)).1)
    }
}

impl OrtModel {
    fn new(
        file: &taste_onnx::Model,
        library: Option<&Path>,
        outputs: Vec<String>,
    ) -> Result<Self, Error> {
        let environment = environment(library)?;
        let inputs = file.proto.graph.iter().flat_map(|g| &g.input).map(Input::of).collect();
        let (bytes, weights) = match file.to_bytes() {
            Err(taste_onnx::Error::MessageTooLarge { .. }) => {
                let mut rest = file.clone();
                let weights = take_weights(&mut rest)?;
                (rest.to_bytes()?, weights)
            }
            bytes => (bytes?, Vec::new()),
        };
        Ok(Self { environment, bytes: bytes.into(), weights, inputs, outputs })
    }

    /// The number of samples in the feeds, if that is what the file leaves open.
    fn rows(&self, feeds: &[(&str, View<'_>)]) -> Option<usize> {
        self.inputs.iter().find_map(|input| {
            let (_, value) = feeds.iter().find(|(name, _)| *name == input.name)?;
            value.shape().get(input.samples?).copied()
        })
    }

    fn wants(&self, name: &str) -> Option<ElemType> {
        self.inputs.iter().find(|i| i.name == name)?.element
    }

    fn open(&self, rows: Option<usize>, threads: usize) -> Result<Inner, Error> {
        let mut builder = Inner::builder(&self.environment)
            .map_err(failed)?
            .with_optimization_level(GraphOptimizationLevel::All)
            .map_err(failed)?
            .with_intra_threads(threads)
            .map_err(failed)?;
        if let Some(rows) = rows.and_then(|r| i64::try_from(r).ok()) {
            builder = builder.with_dimension_override(BATCH, rows).map_err(failed)?;
        }
        for (name, value) in &self.weights {
            builder = builder.with_external_initializer(name, value.clone()).map_err(failed)?;
        }
        builder.commit_from_memory(&self.bytes).map_err(failed)
    }
}

impl Loaded for OrtModel {
    fn instance(&self, threads: usize) -> Result<Box<dyn Instance>, Error> {
        let source = self.clone();
        Ok(Box::new(OrtInstance { source, threads, sessions: Vec::new(), made: 0 }))
    }

    fn weight_bytes(&self) -> usize {
        let beside = self.weights.iter().map(|(_, value)| value.shape().num_elements());
        self.bytes.len() + beside.sum::<usize>() * size_of::<f32>()
    }
}

impl Instance for OrtInstance {
    fn run(&mut self, feeds: &[(&str, View<'_>)]) -> Result<Vec<Value>, Error> {
        let mut inputs: Vec<(&str, SessionInputValue<'_>)> = Vec::new();
        for (name, value) in feeds {
            let Some(wanted) = self.source.wants(name) else { continue };
            let shape = value.shape().to_vec();
            let input = match (wanted, value) {
                (ElemType::I64, View::I64(a)) => {
                    let data: Vec<i64> = a.iter().copied().collect();
                    Tensor::from_array((shape, data)).map_err(failed)?.into()
                }
                (ElemType::I64, _) => {
                    return Err(failed(format!("input {name:?} wants integers")));
                }
                (ElemType::Bool, _) => {
                    let data: Vec<bool> = value.to_f64().iter().map(|&v| v != 0.0).collect();
                    Tensor::from_array((shape, data)).map_err(failed)?.into()
                }
                (_, View::F32(a)) if a.is_standard_layout() => {
                    let data = a.as_slice().unwrap_or(&[]);
                    TensorRef::from_array_view((shape, data)).map_err(failed)?.into()
                }
                _ => {
                    let data: Vec<f32> = value.to_f32().iter().copied().collect();
                    Tensor::from_array((shape, data)).map_err(failed)?.into()
                }
            };
            inputs.push((name, input));
        }
        let outputs = self.source.outputs.clone();
        let rows = self.source.rows(feeds);
        let session = self.session(rows)?;
        let results = session.run(inputs).map_err(failed)?;
        outputs
            .iter()
            .map(|name| {
                let value =
                    results.get(name).ok_or_else(|| failed(format!("no output {name:?}")))?;
                from_ort(value)
            })
            .collect()
    }
}

/// Takes the large weights out of a file. What is left of them says that they are elsewhere.
fn take_weights(file: &mut taste_onnx::Model) -> Result<Vec<(String, Arc<DynValue>)>, Error> {
    const LARGE: usize = 1024;
    let mut weights = Vec::new();
    let mut tensors =
        file.proto.graph.as_mut().map(|g| std::mem::take(&mut g.initializer)).unwrap_or_default();
    for tensor in tensors.iter_mut().filter(|t| t.raw_data().len() >= LARGE) {
        let data = file.tensor(tensor)?;
        let Values::F32(values) = data.values else { continue };
        let value = Tensor::from_array((data.dims, values)).map_err(failed)?;
        weights.push((tensor.name.clone(), Arc::new(value.into_dyn())));
        tensor.raw_data = None;
        tensor.data_location = DataLocation::External.into();
        let (key, value) = ("location".to_owned(), "memory".to_owned());
        tensor.external_data = vec![StringStringEntryProto { key, value }];
    }
    if let Some(graph) = &mut file.proto.graph {
        graph.initializer = tensors;
    }
    Ok(weights)
}

fn from_ort(value: &DynValue) -> Result<Value, Error> {
    let sizes = |shape: &[i64]| -> Vec<usize> {
        shape.iter().map(|&d| usize::try_from(d).unwrap_or(0)).collect()
    };
    if let Ok((shape, data)) = value.try_extract_tensor::<f32>() {
        let array = ArrayD::from_shape_vec(IxDyn(&sizes(shape)), data.to_vec());
        return array.map(Value::F32).map_err(failed);
    }
    if let Ok((shape, data)) = value.try_extract_tensor::<bool>() {
        let ints = data.iter().map(|&v| i64::from(v)).collect();
        return ArrayD::from_shape_vec(IxDyn(&sizes(shape)), ints).map(Value::I64).map_err(failed);
    }
    let (shape, data) = value.try_extract_tensor::<i64>().map_err(failed)?;
    ArrayD::from_shape_vec(IxDyn(&sizes(shape)), data.to_vec()).map(Value::I64).map_err(failed)
}
