//! Models.

use std::{path::PathBuf, sync::Arc};

use ndarray::{Axis, Slice};
use numpy::{PyArrayDyn, PyReadonlyArrayDyn};
use pyo3::{prelude::*, types::PyDict};
use taste_detector::Error;
use taste_engine::{Outputs, Port, Request, Value, Wants};

use crate::{engine::Engine, errors::choice, errors::raise, watch::Watch};

/// An ONNX model.
#[pyclass(frozen, module = "taste_ood._taste", skip_from_py_object)]
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) inner: Arc<taste_engine::Model>,
}

type Sizes = Option<Vec<Option<usize>>>;

#[pymethods]
impl Model {
    /// Reads a file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let model = py.detach(|| taste_engine::Model::open(&path));
        let inner = model.map_err(|e| raise(&Error::from(e)))?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Reads the bytes of a file that stands alone.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, name: &str, bytes: &[u8]) -> PyResult<Self> {
        let model = py.detach(|| taste_engine::Model::from_bytes(name, bytes));
        let inner = model.map_err(|e| raise(&Error::from(e)))?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What the model is called in messages.
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// Whether it is a detector.
    #[getter]
    fn is_detector(&self) -> bool {
        taste_detector::Detector::is_one(self.inner.onnx())
    }

    /// The sizes of one sample, if the file fixes them.
    #[getter]
    fn sample_shape(&self) -> PyResult<Option<Vec<usize>>> {
        self.inner.sample_shape().map_err(|e| raise(&Error::from(e)))
    }

    /// Name, type and sizes of every input; none for a size that is open.
    #[getter]
    fn inputs(&self) -> Vec<(String, String, Sizes)> {
        self.inner.inputs().into_iter().map(described).collect()
    }

    /// Name, type and sizes of every output.
    #[getter]
    fn outputs(&self) -> Vec<(String, String, Sizes)> {
        self.inner.outputs().into_iter().map(described).collect()
    }

    /// The outputs of these names for samples along the first axis.
    fn run<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArrayDyn<'py, f32>,
        outputs: Vec<String>,
        engine: &Engine,
    ) -> PyResult<Vec<Bound<'py, PyArrayDyn<f32>>>> {
        let (view, engine) = (x.as_array(), &engine.inner);
        let results = py.detach(|| {
            let names: Vec<&str> = outputs.iter().map(String::as_str).collect();
            let session = engine.backend.load(&self.inner, &names, engine.threads)?;
            let inputs: Vec<String> = self.inner.inputs().into_iter().map(|p| p.name).collect();
            session.run_samples(&inputs, view)
        });
        let results = results.map_err(|e| raise(&Error::from(e)))?;
        Ok(results.iter().map(|v| PyArrayDyn::from_owned_array(py, v.to_f32())).collect())
    }

    /// Value and derivatives of a target at samples along the first axis, by name.
    #[pyo3(signature = (x, *, wants, engine, target=None, output=None, method=None, seed=0, batch=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument of taste_ood.derive")]
    fn derive<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArrayDyn<'py, f32>,
        wants: Vec<String>,
        engine: &Engine,
        target: Option<&str>,
        output: Option<String>,
        method: Option<&str>,
        seed: u64,
        batch: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let names = wants.iter().map(String::as_str).filter(|name| *name != "value");
        let wants = Wants::from_names(names).map_err(|e| choice(&e.to_string()))?;
        let target = target.map(str::parse).transpose();
        let method = method.map(str::parse).transpose();
        let view = x.as_array();
        let sample = view.shape().get(1..).unwrap_or_default();
        let request = Request {
            target: target.map_err(|e: taste_choice::Error| choice(&e.to_string()))?,
            laplacian_method: method
                .map_err(|e: taste_choice::Error| choice(&e.to_string()))?
                .unwrap_or(taste_engine::LaplacianMethod::AUTO),
            output,
            wants,
            seed,
            sample_shapes: self.inner.sample_shapes(sample),
            ..Request::default()
        };
        let watch = Watch::new(progress);
        let work = || -> Result<(Outputs, String), Error> {
            let derived = self.inner.derive(&request)?;
            let compiled = derived.compile(&engine.inner.backend, engine.inner.threads)?;
            let chunk = batch.unwrap_or(derived.chunk()).max(1);
            let rows = view.shape().first().copied().unwrap_or(0);
            let mut parts = Vec::new();
            for start in (0..rows).step_by(chunk) {
                let end = rows.min(start + chunk);
                let samples = view.slice_axis(Axis(0), Slice::from(start..end));
                let samples = Value::F32(samples.as_standard_layout().into_owned());
                parts.push(compiled.run(&[(derived.wrt(), &samples)], start)?);
                watch.go_on(end, rows)?;
            }
            Ok((Outputs::join(&parts)?, derived.laplacian_method().to_string()))
        };
        let (outputs, method) = py.detach(work).map_err(|e| watch.raise(&e))?;
        let results = PyDict::new(py);
        for (name, value) in outputs.present() {
            results.set_item(name, PyArrayDyn::from_owned_array(py, value.to_f32()))?;
        }
        results.set_item("method", method)?;
        Ok(results)
    }
}

fn described(port: Port) -> (String, String, Sizes) {
    let sizes = port.shape.map(|sizes| sizes.into_iter().map(Result::ok).collect());
    (port.name, port.elem_type, sizes)
}
