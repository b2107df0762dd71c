//! The engines that run a graph.

mod ort;
mod reference;
mod rten;
mod shared;

use std::{collections::HashMap, fmt, path::PathBuf, str::FromStr};

use taste_graph::{Graph, Id};

use crate::{Error, Model, Value};
use shared::Samples;

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

    /// Prepares a graph to be run many times. Samples must not depend on each other: threads run parts of a batch.
    pub fn compile(
        &self,
        graph: &Graph,
        outputs: &[(String, Id)],
        threads: usize,
    ) -> Result<Box<dyn Session>, Error> {
        shared::session(self.read(graph, outputs)?, Samples::of(graph, outputs, false), threads)
    }

    /// Like [`Self::compile`], for a graph whose outputs are sums over the samples where they don't belong to one sample each.
    pub fn compile_sums(
        &self,
        graph: &Graph,
        outputs: &[(String, Id)],
        threads: usize,
    ) -> Result<Box<dyn Session>, Error> {
        shared::session(self.read(graph, outputs)?, Samples::of(graph, outputs, true), threads)
    }

    fn read(&self, graph: &Graph, outputs: &[(String, Id)]) -> Result<Box<dyn Loaded>, Error> {
        let names: Vec<String> = outputs.iter().map(|o| o.0.clone()).collect();
        let file = || Ok::<_, Error>(taste_onnx::Model::new(graph.to_onnx(outputs)?));
        Ok(match self {
            Self::Rten => {
                rten::check(graph, outputs)?;
                Box::new(rten::RtenModel::new(&file()?, &names)?)
            }
            Self::Ort { library } => {
                Box::new(ort::OrtModel::new(&file()?, library.as_deref(), names)?)
            }
            Self::Reference => Box::new(reference::ReferenceModel::new(graph, outputs)),
        })
    }

    /// Prepares a file that stands alone to be run many times. Samples lie along the first axis of everything, and do not
    /// depend on each other.
    pub fn load(
        &self,
        model: &Model,
        outputs: &[&str],
        threads: usize,
    ) -> Result<Box<dyn Session>, Error> {
        let names: Vec<String> = outputs.iter().map(|&o| o.to_owned()).collect();
        let loaded: Box<dyn Loaded> = match self {
            Self::Rten => Box::new(rten::RtenModel::new(model.onnx(), &names)?),
            Self::Ort { library } => {
                Box::new(ort::OrtModel::new(model.onnx(), library.as_deref(), names)?)
            }
            Self::Reference => {
                let (imported, _) = model.import(&names, &HashMap::new())?;
                Box::new(reference::ReferenceModel::new(&imported.graph, &imported.outputs))
            }
        };
        shared::session(loaded, Samples::of_file(model.onnx(), outputs.len()), threads)
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

/// A graph that an engine has read.
trait Loaded: Send + Sync {
    /// A session with a number of threads; several run beside each other.
    fn session(&self, threads: usize) -> Result<Box<dyn Session>, Error>;

    /// The bytes that every session takes for weights of its own.
    fn weight_bytes(&self) -> usize {
        0
    }
}
