use std::{env, path::Path, sync::Mutex};

use ndarray::{ArrayD, IxDyn};
use ort::{
    environment::Environment,
    session::{Session as Inner, builder::GraphOptimizationLevel},
    value::{DynValue, Tensor, TensorElementType, ValueType},
};

use super::Session;
use crate::{Error, Value};

/// A graph loaded into ONNX Runtime.
pub(super) struct OrtSession {
    session: Inner,
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
    pub(super) fn load(
        bytes: &[u8],
        library: Option<&Path>,
        outputs: &[String],
        threads: usize,
    ) -> Result<Self, Error> {
        let environment = environment(library)?;
        let session = Inner::builder(&environment)
            .map_err(failed)?
            .with_optimization_level(GraphOptimizationLevel::All)
            .map_err(failed)?
            .with_intra_threads(threads)
            .map_err(failed)?
            .commit_from_memory(bytes)
            .map_err(failed)?;
        Ok(Self { session, outputs: outputs.to_vec() })
    }

    fn wants(&self, name: &str) -> Option<TensorElementType> {
        let input = self.session.inputs().iter().find(|i| i.name() == name)?;
        match input.dtype() {
            ValueType::Tensor { ty, .. } => Some(*ty),
            _ => None,
        }
    }
}

impl Session for OrtSession {
    fn run(&mut self, feeds: &[(&str, &Value)]) -> Result<Vec<Value>, Error> {
        let mut inputs: Vec<(String, DynValue)> = Vec::new();
        for (name, value) in feeds {
            let Some(wanted) = self.wants(name) else { continue };
            let shape = value.shape().to_vec();
            let input = match wanted {
                TensorElementType::Int64 => {
                    let Value::I64(a) = value else {
                        return Err(failed(format!("input {name:?} wants integers")));
                    };
                    let data: Vec<i64> = a.iter().copied().collect();
                    Tensor::from_array((shape, data)).map_err(failed)?.into_dyn()
                }
                TensorElementType::Bool => {
                    let data: Vec<bool> = value.to_f64().iter().map(|&v| v != 0.0).collect();
                    Tensor::from_array((shape, data)).map_err(failed)?.into_dyn()
                }
                _ => {
                    // Copying an array is many times faster than going through it element by element.
                    let array = value.to_f32();
                    let data = match array.as_slice() {
                        Some(flat) => flat.to_vec(),
                        None => array.iter().copied().collect(),
                    };
                    Tensor::from_array((shape, data)).map_err(failed)?.into_dyn()
                }
            };
            inputs.push(((*name).to_owned(), input));
        }
        let results = self.session.run(inputs).map_err(failed)?;
        self.outputs
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
