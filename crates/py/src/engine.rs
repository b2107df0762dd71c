//! What runs graphs.

use std::path::PathBuf;

use pyo3::prelude::*;
use taste_engine::Backend;

use crate::errors::{choice, raise};

/// A backend with its threads.
#[pyclass(frozen, module = "taste_ood._taste", skip_from_py_object)]
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub(crate) inner: taste_detector::Engine,
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (backend=None, library=None, threads=None))]
    fn new(
        backend: Option<&str>,
        library: Option<PathBuf>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let named = backend.map(str::parse::<Backend>).transpose();
        let backend = named.map_err(|e| choice(&e.to_string()))?.unwrap_or_default();
        let backend = match library {
            Some(library) => {
                backend.with_library(library).map_err(|e| raise(&taste_detector::Error::from(e)))?
            }
            None => backend,
        };
        let threads = taste_threads::count(threads);
        Ok(Self { inner: taste_detector::Engine { backend, threads } })
    }

    /// How many threads it uses.
    #[getter]
    fn threads(&self) -> usize {
        self.inner.threads
    }

    /// The name of the backend.
    #[getter]
    fn backend(&self) -> &'static str {
        self.inner.backend.name()
    }
}
