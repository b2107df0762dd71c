//! A model and what can be asked of it.

use std::{collections::HashMap, path::Path};

use taste_graph::{DType, Dim, Fact, Id};
use taste_ops::{ImportError, Imported, import};

use crate::{
    Backend, Compiled, Error, Method, Target, Wants,
    derive::{Cut, Derivation, Problem, SCORE, Schedule, Signs},
    error::{Given, request},
    memory,
};

/// An ONNX model.
#[derive(Debug)]
pub struct Model {
    name: String,
    onnx: taste_onnx::Model,
}

/// What to derive, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// The function of the output; by default the probability of the most likely class, or the output
    /// itself if it has one entry.
    pub target: Option<Target>,
    /// The output; by default the first that holds floats.
    pub output: Option<String>,
    /// The input to differentiate by; by default the first that holds floats.
    pub wrt: Option<String>,
    /// How second derivatives are computed.
    pub method: Method,
    /// What to compute beside the value.
    pub wants: Wants,
    /// The seed of random signs.
    pub seed: u64,
    /// The shape of one sample by input, where the file leaves it open.
    pub sample_shapes: HashMap<String, Vec<usize>>,
    /// How much memory intermediate values may take, in bytes.
    pub memory: usize,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            target: None,
            output: None,
            wrt: None,
            method: Method::Auto,
            wants: Wants::default(),
            seed: 0,
            sample_shapes: HashMap::new(),
            memory: 1 << 30,
        }
    }
}

/// How many samples a graph takes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// Any number.
    Open,
    /// As many as the file was exported for.
    Fixed(usize),
}

/// An input of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputInfo {
    /// Its name.
    pub name: String,
    /// Element type and shape.
    pub fact: Fact,
}

impl Model {
    /// Reads a file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self { name: path.display().to_string(), onnx: taste_onnx::Model::open(path)? })
    }

    /// Reads bytes; external data is not reachable.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, Error> {
        Ok(Self { name: name.to_owned(), onnx: taste_onnx::Model::from_bytes(bytes, None)? })
    }

    /// A model that is in memory, under a name for messages.
    pub fn from_onnx(name: &str, onnx: taste_onnx::Model) -> Self {
        Self { name: name.to_owned(), onnx }
    }

    /// The file, or the name given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file as it was read.
    pub fn onnx(&self) -> &taste_onnx::Model {
        &self.onnx
    }

    pub(crate) fn import_error(&self, cause: ImportError) -> Error {
        Error::Import { model: self.name.clone(), cause }
    }

    /// Imports the graph with the batch left open if that is possible, even if the file fixes it.
    pub(crate) fn import(
        &self,
        wanted: &[String],
        sample_shapes: &HashMap<String, Vec<usize>>,
    ) -> Result<(Imported, Batch), Error> {
        let proto = self.onnx.proto.graph.as_ref().ok_or_else(|| {
            self.import_error(ImportError::Model("the model has no graph".to_owned()))
        })?;
        let mut open = HashMap::new();
        let mut fixed = HashMap::new();
        let mut batch = None;
        for info in &proto.input {
            let declared = taste_ops::declared_shape(info);
            let sample: Option<Vec<Dim>> = match sample_shapes.get(&info.name) {
                Some(given) => {
                    check_sample_shape(&info.name, declared.as_deref(), given)?;
                    Some(given.iter().map(|&d| Dim::from(d)).collect())
                }
                None => declared.as_ref().and_then(|dims| {
                    let rest = dims.get(1..)?;
                    rest.iter().map(|d| d.map(Dim::from)).collect()
                }),
            };
            if let Some(axis) = declared.as_ref().and_then(|d| d.iter().position(|d| *d == Some(0)))
            {
                return Err(Error::Input {
                    name: info.name.clone(),
                    message: format!("is empty: axis {axis} has size 0"),
                });
            }
            let Some(sample) = sample else { continue };
            let with =
                |first: Dim| -> Vec<Dim> { std::iter::once(first).chain(sample.clone()).collect() };
            open.insert(info.name.clone(), with(Dim::BATCH));
            if let Some(Some(Some(rows))) = declared.as_ref().map(|d| d.first().copied()) {
                fixed.insert(info.name.clone(), with(Dim::from(rows)));
                batch = batch.or(Some(rows));
            } else {
                fixed.insert(info.name.clone(), with(Dim::BATCH));
            }
        }
        let attempt = import(&self.onnx, wanted, &open);
        match (attempt, batch) {
            (Ok(imported), None) => Ok((imported, Batch::Open)),
            (Ok(imported), Some(_)) if by_sample(&imported) => Ok((imported, Batch::Open)),
            (Err(cause), None) => Err(self.import_error(cause)),
            (_, Some(rows)) => {
                let imported =
                    import(&self.onnx, wanted, &fixed).map_err(|e| self.import_error(e))?;
                Ok((imported, Batch::Fixed(rows)))
            }
        }
    }

    /// Builds the graph that computes what is asked for.
    pub fn derive(&self, asked: &Request) -> Result<Derived, Error> {
        self.derive_with(asked, Signs::Fed)
    }

    /// The derivative as one ONNX model that stands alone; random signs become part of it.
    pub fn derive_file(&self, asked: &Request) -> Result<taste_onnx::Model, Error> {
        let derived = self.derive_with(asked, Signs::Baked(asked.seed))?;
        let Derivation { graph, outputs, .. } = &derived.derivation;
        Ok(taste_onnx::Model::new(graph.to_onnx(outputs)?))
    }

    fn derive_with(&self, asked: &Request, signs: Signs) -> Result<Derived, Error> {
        let (mut problem, batch) = self.problem(asked)?;
        let mut inputs: Vec<InputInfo> = problem
            .graph
            .inputs()
            .into_iter()
            .map(|(name, id)| InputInfo { name, fact: problem.graph.fact(id).clone() })
            .collect();
        let score = asked.wants.drift.then(|| {
            let fact = problem.graph.fact(problem.x).clone();
            inputs.push(InputInfo { name: SCORE.to_owned(), fact: fact.clone() });
            problem.graph.input(SCORE, fact)
        });
        let (wrt, output) = (problem.wrt(), problem.output.clone());
        let (dimension, target) = (problem.dimension, problem.target);
        let is_flat = matches!(problem.cut, Cut::Flat);
        let lanes = memory::lanes(&problem.graph, problem.f, asked.memory);
        let derivation = problem.derive(asked.method, asked.wants, signs, lanes, score)?;
        Ok(Derived {
            derivation,
            inputs,
            wrt,
            output,
            target,
            dimension,
            is_flat,
            batch,
            seed: asked.seed,
            wants: asked.wants,
            memory: asked.memory,
        })
    }

    /// The graph with its target, before a method is chosen.
    pub(crate) fn problem(&self, asked: &Request) -> Result<(Problem, Batch), Error> {
        let output = match &asked.output {
            Some(name) => Some(name.clone()),
            None => self.first_float_output(),
        };
        let wanted: Vec<String> = output.into_iter().collect();
        let (imported, batch) = self.import(&wanted, &asked.sample_shapes)?;
        let x = pick_input(&imported, asked.wrt.as_deref())?;
        let (name, id) = imported
            .outputs
            .iter()
            .find(|(_, id)| imported.graph.fact(*id).dtype == DType::Float)
            .ok_or_else(|| request(format!("{}: no output holds floats", self.name)))?;
        let (name, id) = (name.clone(), *id);
        Ok((Problem::new(imported.graph, x, (&name, id), asked.target)?, batch))
    }

    /// The first output that the file declares to hold floats.
    pub(crate) fn first_float_output(&self) -> Option<String> {
        let outputs = &self.onnx.proto.graph.as_ref()?.output;
        outputs.iter().find(|o| taste_ops::declares_floats(o)).map(|o| o.name.clone())
    }
}

/// Whether every output has one row a sample.
fn by_sample(imported: &Imported) -> bool {
    imported
        .outputs
        .iter()
        .all(|(_, id)| imported.graph.fact(*id).shape.first() == Some(&Dim::BATCH))
}

fn check_sample_shape(
    name: &str,
    declared: Option<&[Option<usize>]>,
    given: &[usize],
) -> Result<(), Error> {
    let Some(declared) = declared else { return Ok(()) };
    let fits = declared.len() == given.len() + 1
        && declared[1..].iter().zip(given).all(|(d, g)| d.is_none_or(|d| d == *g));
    if fits {
        return Ok(());
    }
    let (wanted, got) = (declared.iter().skip(1).copied().collect(), Given::Sample(given.to_vec()));
    Err(Error::Shape { name: name.to_owned(), wanted, got })
}

/// Names of inputs and outputs that derivatives add.
const RESERVED: &[&str] = &[
    "value",
    "drift",
    "gradient",
    "laplacian",
    "stderr",
    "diagonal",
    "directions",
    "signs",
    "slopes",
    "each",
    "sum",
    "products",
];

fn pick_input(imported: &Imported, wrt: Option<&str>) -> Result<Id, Error> {
    let float = |id: Id| imported.graph.fact(id).dtype == DType::Float;
    let names = || imported.inputs.iter().map(|i| i.0.as_str()).collect::<Vec<_>>().join(", ");
    let (name, id) = match wrt {
        Some(name) => imported
            .inputs
            .iter()
            .find(|(n, _)| n == name)
            .ok_or_else(|| request(format!("no input {name:?}; the model has {}", names())))?,
        None => imported
            .inputs
            .iter()
            .find(|(_, id)| float(*id))
            .ok_or_else(|| request("the model has no input that holds floats"))?,
    };
    if !float(*id) {
        return Err(request(format!("input {name:?} holds no floats to differentiate by")));
    }
    if let Some((name, _)) = imported.inputs.iter().find(|i| imported.graph.fact(i.1).rank() == 0) {
        return Err(request(format!("input {name:?} is a scalar: there is no axis of samples")));
    }
    if let Some((name, _)) = imported.inputs.iter().find(|i| RESERVED.contains(&i.0.as_str())) {
        return Err(request(format!(
            "input {name:?} has the name of a derivative's own input or output: rename it"
        )));
    }
    Ok(*id)
}

/// A derivative, ready to be compiled.
#[derive(Clone, Debug)]
pub struct Derived {
    pub(crate) derivation: Derivation,
    pub(crate) inputs: Vec<InputInfo>,
    pub(crate) wrt: String,
    pub(crate) output: String,
    pub(crate) target: Target,
    pub(crate) dimension: usize,
    pub(crate) is_flat: bool,
    pub(crate) batch: Batch,
    pub(crate) seed: u64,
    pub(crate) wants: Wants,
    pub(crate) memory: usize,
}

impl Derived {
    /// The method that computes second derivatives.
    pub fn method(&self) -> Method {
        self.derivation.method
    }

    /// Why this method, in words.
    pub fn reason(&self) -> &str {
        &self.derivation.reason
    }

    /// The function of the output that is derived.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The input that is differentiated by.
    pub fn wrt(&self) -> &str {
        &self.wrt
    }

    /// The output that the target is a function of.
    pub fn output(&self) -> &str {
        &self.output
    }

    /// Whether the target is piecewise affine in the input, so that its second derivatives are zero almost
    /// everywhere.
    pub fn is_flat(&self) -> bool {
        self.is_flat
    }

    /// The inputs of the model.
    pub fn inputs(&self) -> &[InputInfo] {
        &self.inputs
    }

    /// Entries of one input.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// How many samples the graph takes at once.
    pub fn batch(&self) -> Batch {
        self.batch
    }

    /// How many operators the graph has, without the ones that nothing needs.
    pub fn node_count(&self) -> usize {
        let ends: Vec<Id> = self.derivation.outputs.iter().map(|o| o.1).collect();
        self.derivation.graph.ancestors(&ends, &[]).len()
    }

    /// How many samples at once stay within the memory asked for.
    pub fn chunk(&self) -> usize {
        match self.batch {
            Batch::Fixed(rows) => rows,
            Batch::Open => {
                memory::chunk(&self.derivation.graph, &self.derivation.outputs, self.memory)
            }
        }
    }

    /// Runs the graph through an engine.
    pub fn compile(&self, backend: &Backend, threads: usize) -> Result<Compiled, Error> {
        Compiled::new(self.clone(), backend, threads)
    }

    /// Whether one run of the graph gives the results.
    pub fn is_single_run(&self) -> bool {
        self.derivation.schedule == Schedule::Once
    }
}
