//! The engines that run a graph.

mod ort;
mod reference;
mod rten;

use std::{collections::HashMap, fmt, path::PathBuf, str::FromStr};

use taste_graph::{Graph, Id};

use crate::{Error, Model, Value};

/// An engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// The embedded engine, in single precision.
    #[default]
    Rten,
    /// ONNX Runtime, from a shared library found when it is asked for, in single precision.
    Ort {
        /// The library; `ORT_DYLIB_PATH` or the system's search path if absent.
        library: Option<PathBuf>,
    },
    /// The interpreter in double precision: slow, and the oracle of the others.
    Reference,
}

impl Backend {
    /// The name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Rten => "rten",
            Self::Ort { .. } => "ort",
            Self::Reference => "reference",
        }
    }

    /// Prepares a graph to be run many times.
    pub fn compile(
        &self,
        graph: &Graph,
        outputs: &[(String, Id)],
        threads: usize,
    ) -> Result<Box<dyn Session>, Error> {
        let names: Vec<String> = outputs.iter().map(|o| o.0.clone()).collect();
        let bytes = || -> Result<Vec<u8>, Error> {
            Ok(taste_onnx::Model::new(graph.to_onnx(outputs)?).to_bytes()?)
        };
        Ok(match self {
            Self::Rten => {
                rten::check(graph, outputs)?;
                Box::new(rten::RtenSession::load(bytes()?, &names, threads)?)
            }
            Self::Ort { library } => {
                Box::new(ort::OrtSession::load(bytes()?, library.as_deref(), &names, threads)?)
            }
            Self::Reference => Box::new(reference::ReferenceSession::new(graph, outputs)),
        })
    }
}

impl Backend {
    /// Prepares a file that stands alone to be run many times.
    pub fn load(
        &self,
        model: &Model,
        outputs: &[&str],
        threads: usize,
    ) -> Result<Box<dyn Session>, Error> {
        let names: Vec<String> = outputs.iter().map(|&o| o.to_owned()).collect();
        Ok(match self {
            Self::Rten => {
                Box::new(rten::RtenSession::load(model.onnx().to_bytes()?, &names, threads)?)
            }
            Self::Ort { library } => {
                let bytes = model.onnx().to_bytes()?;
                Box::new(ort::OrtSession::load(bytes, library.as_deref(), &names, threads)?)
            }
            Self::Reference => {
                let (imported, _) = model.import(&names, &HashMap::new())?;
                Box::new(reference::ReferenceSession::new(&imported.graph, &imported.outputs))
            }
        })
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "rten" => Ok(Self::Rten),
            "ort" => Ok(Self::Ort { library: None }),
            "reference" => Ok(Self::Reference),
            _ => Err(format!("no backend {s:?}; there are rten, ort and reference")),
        }
    }
}

/// A graph that is ready to run.
pub trait Session: Send {
    /// Computes the outputs. A feed that the graph does not use is passed over.
    fn run(&mut self, feeds: &[(&str, &Value)]) -> Result<Vec<Value>, Error>;
}
