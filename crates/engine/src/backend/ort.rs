use std::{
    env,
    path::Path,
    sync::{Arc, Mutex},
};

use ndarray::{ArrayD, IxDyn};
use ort::{
    environment::Environment,
    session::{Session as Inner, SessionInputValue, builder::GraphOptimizationLevel},
    value::{DynValue, Tensor, TensorElementType, TensorRef, ValueType},
};

use super::{Loaded, Session};
use crate::{Error, Value};

/// The name of the size that files leave open.
const BATCH: &str = "N";

/// A graph in ONNX Runtime.
struct OrtSession {
    source: OrtModel,
    threads: usize,
    /// For any number of samples.
    session: Inner,
    /// For the number of samples that came twice in a row: where sizes are known, the engine keeps more values in the
    /// layout of its convolutions.
    fixed: Option<(usize, Inner)>,
    last: Option<usize>,
}

/// What sessions are made from.
#[derive(Clone)]
pub(super) struct OrtModel {
    environment: Environment,
    bytes: Arc<[u8]>,
    outputs: Vec<String>,
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
            "the ONNX Runtime library {} can't be loaded ({e}); give its path with --ort-library or \
             ORT_DYLIB_PATH (the Python package onnxruntime has it in its folder capi)",
            path.display()
        ))
    })?;
    let environment = builder.with_telemetry(false).build().map_err(failed)?;
    *slot = Some(environment.clone());
    Ok(environment)
}

impl OrtSession {
    /// Makes a session of its own for a number of samples that comes a second time.
    fn settle(&mut self, rows: Option<usize>) -> Result<(), Error> {
        let again = rows.filter(|_| self.last == rows);
        self.last = rows;
        match again {
            Some(rows) if self.fixed.as_ref().is_none_or(|f| f.0 != rows) => {
                self.fixed = Some((rows, self.source.open(Some(rows), self.threads)?));
            }
            _ => {}
        }
        Ok(())
    }

    /// The number of samples in the feeds, if that is what the file leaves open.
    fn rows(&self, feeds: &[(&str, &Value)]) -> Option<usize> {
        self.session.inputs().iter().find_map(|input| {
            let ValueType::Tensor { dimension_symbols, .. } = input.dtype() else { return None };
            let axis = dimension_symbols.iter().position(|s| s == BATCH)?;
            let (_, value) = feeds.iter().find(|(name, _)| *name == input.name())?;
            value.shape().get(axis).copied()
        })
    }

    fn wants(&self, name: &str) -> Option<TensorElementType> {
        let input = self.session.inputs().iter().find(|i| i.name() == name)?;
        match input.dtype() {
            ValueType::Tensor { ty, .. } => Some(*ty),
            _ => None,
        }
    }
}

impl OrtModel {
    pub(super) fn new(
        bytes: Vec<u8>,
        library: Option<&Path>,
        outputs: Vec<String>,
    ) -> Result<Self, Error> {
        Ok(Self { environment: environment(library)?, bytes: bytes.into(), outputs })
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
        builder.commit_from_memory(&self.bytes).map_err(failed)
    }
}

impl Loaded for OrtModel {
    fn session(&self, threads: usize) -> Result<Box<dyn Session>, Error> {
        let session = self.open(None, threads)?;
        let source = self.clone();
        Ok(Box::new(OrtSession { source, threads, session, fixed: None, last: None }))
    }

    fn weight_bytes(&self) -> usize {
        self.bytes.len()
    }
}

impl Session for OrtSession {
    fn run(&mut self, feeds: &[(&str, &Value)]) -> Result<Vec<Value>, Error> {
        let rows = self.rows(feeds);
        self.settle(rows)?;
        let mut inputs: Vec<(&str, SessionInputValue<'_>)> = Vec::new();
        for (name, value) in feeds {
            let Some(wanted) = self.wants(name) else { continue };
            let shape = value.shape().to_vec();
            let input = match (wanted, value) {
                (TensorElementType::Int64, Value::I64(a)) => {
                    let data: Vec<i64> = a.iter().copied().collect();
                    Tensor::from_array((shape, data)).map_err(failed)?.into()
                }
                (TensorElementType::Int64, _) => {
                    return Err(failed(format!("input {name:?} wants integers")));
                }
                (TensorElementType::Bool, _) => {
                    let data: Vec<bool> = value.to_f64().iter().map(|&v| v != 0.0).collect();
                    Tensor::from_array((shape, data)).map_err(failed)?.into()
                }
                (_, Value::F32(a)) if a.is_standard_layout() => {
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
        let session = match &mut self.fixed {
            Some((size, session)) if rows == Some(*size) => session,
            _ => &mut self.session,
        };
        let results = session.run(inputs).map_err(failed)?;
        self.source
            .outputs
            .iter()
            .map(|name| {
                let value =
                    results.get(name).ok_or_else(|| failed(format!("no output {name:?}")))?;
                from_ort(value)
            })
            .collect()
    }
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
