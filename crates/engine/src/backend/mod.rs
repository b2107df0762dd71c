//! The engines that run a graph.
//!
//! An engine is one file and one line in [`BACKENDS`]. Each gets a graph and never a file as it came: what is loaded from a
//! file passes the importer and its limits first, and an engine that reads ONNX gets what we write of that graph.

mod shared;

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use taste_choice::{Choice, Entry, pick};
use taste_graph::{Dim, Graph, Id};
use taste_onnx::Limits;

use crate::{Batch, Error, Model, Session, Value, View, error::request, session::Inputs};
pub(crate) use shared::{Samples, instance};

taste_choice::table! {
    /// All engines.
    pub BACKENDS: [&Engine] = {
        rten::ENGINE,
        ort::ENGINE,
        reference::ENGINE,
    }
}

type Read = fn(&Program<'_>, Option<&Path>) -> Result<Arc<dyn Loaded>, Error>;

/// An entry of the table of engines.
pub struct Engine {
    choice: Choice,
    /// Whether it comes from a shared library.
    has_library: bool,
    /// Reads a graph; the path is that of the library.
    read: Read,
}

impl Entry for Engine {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

/// A choice of an engine.
#[derive(Clone)]
pub struct Backend {
    engine: &'static Engine,
    library: Option<PathBuf>,
}

impl Backend {
    const fn of(engine: &'static Engine) -> Self {
        Self { engine, library: None }
    }

    /// The name that it is chosen by.
    pub fn name(&self) -> &'static str {
        self.engine.choice.name
    }

    /// Takes the engine from a shared library.
    pub fn with_library(self, library: impl Into<PathBuf>) -> Result<Self, Error> {
        if !self.engine.has_library {
            return Err(request(format!("the backend {self} comes from no library")));
        }
        Ok(Self { library: Some(library.into()), ..self })
    }

    /// Prepares a graph to be run many times. Samples must not depend on each other: threads run parts of a batch.
    pub fn compile(
        &self,
        graph: &Graph,
        outputs: &[(String, Id)],
        threads: usize,
    ) -> Result<Session, Error> {
        self.session(&Program::new(graph, outputs), false, threads)
    }

    /// Like [`Self::compile`], for a graph whose outputs are sums over the samples where they don't belong to one sample
    /// each.
    pub fn compile_sums(
        &self,
        graph: &Graph,
        outputs: &[(String, Id)],
        threads: usize,
    ) -> Result<Session, Error> {
        self.session(&Program::new(graph, outputs), true, threads)
    }

    /// Prepares a file that stands alone to be run many times. Samples lie along the first axis of everything, and do not
    /// depend on each other. The file passes the importer, so that no engine meets it as it came.
    pub fn load(&self, model: &Model, outputs: &[&str], threads: usize) -> Result<Session, Error> {
        let names: Vec<String> = outputs.iter().map(|&o| o.to_owned()).collect();
        let imported = taste_ops::import(model.onnx(), &names, &HashMap::new())
            .map_err(|e| model.import_error(e))?;
        let (graph, outputs) = (&imported.graph, &imported.outputs);
        let limits = model.onnx().limits();
        let session = self.session(&Program { graph, outputs, limits }, false, threads)?;
        Ok(session.with_batch(batch_of(graph)))
    }

    fn session(&self, program: &Program<'_>, sums: bool, threads: usize) -> Result<Session, Error> {
        let loaded = (self.engine.read)(program, self.library.as_deref())?;
        let samples = Samples::of(program.graph, program.outputs, sums);
        Session::new(loaded, samples, Inputs::of(program.graph, program.outputs), threads)
    }
}

/// The number of samples that all inputs of a graph agree on, if it is fixed.
fn batch_of(graph: &Graph) -> Batch {
    let mut sizes = graph.inputs().into_iter().map(|(_, id)| graph.fact(id).shape.first().copied());
    let first = sizes.next().flatten().and_then(Dim::as_fixed);
    match first.and_then(|size| usize::try_from(size).ok()) {
        Some(size) if size > 0 && sizes.all(|s| s == Some(Dim::from(size))) => Batch::Fixed(size),
        _ => Batch::Open,
    }
}

impl Default for Backend {
    fn default() -> Self {
        Self::RTEN
    }
}

impl PartialEq for Backend {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.library == other.library
    }
}

impl Eq for Backend {}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.library {
            Some(library) => write!(f, "{}:{}", self.name(), library.display()),
            None => f.write_str(self.name()),
        }
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Backend({self})")
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("choice", &self.choice).finish_non_exhaustive()
    }
}

impl FromStr for Backend {
    type Err = taste_choice::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (engine, mut arguments) = pick("backend", BACKENDS, text)?;
        let library = if engine.has_library { arguments.rest() } else { String::new() };
        arguments.finish()?;
        Ok(Self { engine, library: (!library.is_empty()).then(|| library.into()) })
    }
}

/// A graph with its outputs, as engines read it.
struct Program<'a> {
    graph: &'a Graph,
    outputs: &'a [(String, Id)],
    limits: Limits,
}

impl<'a> Program<'a> {
    fn new(graph: &'a Graph, outputs: &'a [(String, Id)]) -> Self {
        Self { graph, outputs, limits: Limits::default() }
    }

    /// The names of the outputs.
    fn names(&self) -> Vec<String> {
        self.outputs.iter().map(|o| o.0.clone()).collect()
    }

    /// The graph as a file. It may be larger than a message can be.
    fn file(&self) -> Result<taste_onnx::Model, Error> {
        let proto = self.graph.to_onnx(self.outputs)?;
        Ok(taste_onnx::Model::new(proto).with_limits(self.limits))
    }
}

/// A graph that an engine has read.
pub(crate) trait Loaded: Send + Sync {
    /// Makes what runs it, with a number of threads; several run beside each other.
    fn instance(&self, threads: usize) -> Result<Box<dyn Instance>, Error>;

    /// The bytes that every instance takes for weights of its own.
    fn weight_bytes(&self) -> usize {
        0
    }
}

/// What runs a graph for one caller at a time.
pub(crate) trait Instance: Send {
    /// Computes the outputs. A feed that the graph does not use is passed over.
    fn run(&mut self, feeds: &[(&str, View<'_>)]) -> Result<Vec<Value>, Error>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_is_written_as_it_is_read() {
        for text in ["rten", "ort", "ort:/lib/a,b.so", "reference"] {
            let backend: Backend = text.parse().expect(text);
            assert_eq!(backend.to_string(), text);
        }
        assert_eq!("rten".parse(), Ok(Backend::default()));
        assert_eq!("ort:a.so".parse(), Ok(Backend::ORT.with_library("a.so").expect("has one")));
    }

    #[test]
    fn a_backend_that_is_not_there_gets_a_suggestion() {
        let message = |text: &str| text.parse::<Backend>().expect_err(text).to_string();
        assert_eq!(
            message("refrence"),
            "no backend \"refrence\"; did you mean reference? There are rten, ort[:LIBRARY] and reference"
        );
        assert!(message("rten:x.so").contains("means nothing here"));
        let refused = Backend::REFERENCE.with_library("x.so").expect_err("has none").to_string();
        assert_eq!(refused, "the backend reference comes from no library");
    }
}
