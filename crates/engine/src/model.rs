//! A model and what can be asked of it.

use std::{collections::HashMap, path::Path};

use taste_graph::{DType, Dim, Fact, Id};
use taste_ops::{ImportError, Imported, import};

use crate::{
    Answer, Backend, Compiled, Error, LaplacianMethod, Metric, Port, Reading, Target, Wants, batch,
    derive::{Derivation, Job, Problem, Signs},
    error::{Given, request, sizes},
    front::{self, Front},
    memory,
    names::{self, Fed},
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
    /// The output; by default that which looks most like an answer of those that hold floats.
    pub output: Option<String>,
    /// What the output holds; by default what it looks like.
    pub answer: Option<Answer>,
    /// What the output was found to hold, as [`Draft::reading`](crate::Draft::reading) says; by default several numbers are
    /// logits unless a softmax made them.
    pub reading: Option<Reading>,
    /// Further outputs that stay in the graph, to be found by [`Draft::value`](crate::Draft::value).
    pub also: Vec<String>,
    /// The input to differentiate by; by default what [`Model::input`] says.
    pub wrt: Option<String>,
    /// How second derivatives are computed.
    pub laplacian_method: LaplacianMethod,
    /// What they are weighed with.
    pub metric: Metric,
    /// What to compute beside the value.
    pub wants: Wants,
    /// The seed of random signs.
    pub seed: u64,
    /// What stands in for missing entries of a table, by entry, where the model takes them as missing itself; zeros as far as
    /// there is nothing. What its imputers fill in they fill in. With `None` nothing is filled in.
    pub fill: Option<Vec<f64>>,
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
            answer: None,
            reading: None,
            also: Vec::new(),
            wrt: None,
            laplacian_method: LaplacianMethod::AUTO,
            metric: Metric::default(),
            wants: Wants::default(),
            seed: 0,
            fill: Some(Vec::new()),
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
        Ok(Self::read(path.display().to_string(), taste_onnx::Model::open(path)?))
    }

    /// Reads bytes; external data is not reachable.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, Error> {
        Ok(Self::read(name.to_owned(), taste_onnx::Model::from_bytes(bytes, None)?))
    }

    fn read(name: String, mut onnx: taste_onnx::Model) -> Self {
        batch::add_axis(&mut onnx.proto);
        Self { name, onnx }
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

    /// The derivative as one ONNX model that stands alone; random signs become part of it. Its outputs are named after
    /// [`crate::Quantities::NAMES`]. An input of the model that has the name of one of them is called `model_…` in the
    /// file; the order of the inputs is that of [`Derived::inputs`].
    pub fn derive_file(&self, asked: &Request) -> Result<taste_onnx::Model, Error> {
        let derived = self.derive_with(asked, Signs::Baked(asked.seed))?;
        let Derivation { mut graph, parts, .. } = derived.derivation;
        names::make_way(&mut graph, &parts.present().map(|p| p.0).collect::<Vec<_>>());
        let outputs: Vec<_> = parts.present().map(|(name, id)| (name.to_owned(), id)).collect();
        Ok(taste_onnx::Model::new(graph.to_onnx(&outputs)?))
    }

    fn derive_with(&self, asked: &Request, signs: Signs) -> Result<Derived, Error> {
        let Opened { mut problem, batch, .. } = self.problem(asked)?;
        let field = asked.wants.drift.then(|| {
            let fact = problem.graph.fact(problem.x).clone();
            Fed::new(&mut problem.graph, "field", fact)
        });
        let inputs = problem.graph.inputs().into_iter();
        let inputs = inputs
            .map(|(name, id)| InputInfo { name, fact: problem.graph.fact(id).clone() })
            .collect();
        let (wrt, output) = (problem.wrt(), problem.output.clone());
        let (dimension, target) = (problem.dimension, problem.target);
        let job = Job {
            wants: asked.wants,
            signs,
            lanes: memory::lanes(&problem.graph, problem.f, asked.memory),
            field: field.as_ref().map(|f| f.id),
        };
        Ok(Derived {
            derivation: problem.derive(asked.laplacian_method, &job)?,
            inputs,
            wrt,
            field: field.map(|f| f.name),
            output,
            target,
            dimension,
            batch,
            seed: asked.seed,
            memory: asked.memory,
        })
    }

    /// The graph with its target, before a method is chosen.
    pub(crate) fn problem(&self, asked: &Request) -> Result<Opened, Error> {
        self.opened(asked, false)
    }

    /// The same; with `front`, inputs that samples are spread over become one.
    pub(crate) fn opened(&self, asked: &Request, front: bool) -> Result<Opened, Error> {
        let output = match &asked.output {
            Some(name) => Some(name.clone()),
            None => self.answer_output(),
        };
        let wanted: Vec<String> = output.iter().chain(&asked.also).cloned().collect();
        let joins = front && asked.wrt.is_none();
        let imported = self.import(&wanted, &asked.sample_shapes);
        let (imported, batch) = imported.map_err(|cause| match &cause {
            // The shape is a share of a row, which says nothing to who brought the samples.
            Error::Shape { name, wanted, .. } if joins && self.takes_rows() && wanted.len() > 1 => {
                front::no_row(&self.name, name, &format!("of shape {} a sample", sizes(wanted)))
            }
            _ => cause,
        })?;
        let is_scalar = |i: &&(String, Id)| imported.graph.fact(i.1).rank() == 0;
        if let Some((name, _)) = imported.inputs.iter().find(is_scalar) {
            return Err(request(format!(
                "input {name:?} is a scalar: there is no axis of samples"
            )));
        }
        let (imported, front) = match &asked.wrt {
            None if joins => front::put(&self.name, imported, asked.fill.as_deref())?,
            _ => (imported, None),
        };
        let Imported { graph, inputs, outputs, values, .. } = imported;
        let x = if let Some(front) = &front {
            front.x
        } else {
            let wrt = self.input(asked.wrt.as_deref())?.name;
            let x = inputs.iter().find(|(name, _)| *name == wrt);
            x.ok_or_else(|| request(format!("no input {wrt:?}")))?.1
        };
        let is_float = |id: &Id| graph.fact(*id).dtype == DType::Float;
        let is_wanted = |name: &str| output.as_deref().is_none_or(|output| output == name);
        let float = outputs.into_iter().find(|(name, id)| is_wanted(name) && is_float(id));
        let (name, id) =
            float.ok_or_else(|| request(format!("{}: no output holds floats", self.name)))?;
        let mut problem = Problem::new(graph, x, (&name, id), asked.target, asked.reading)?;
        asked.metric.check(problem.dimension)?;
        problem.metric = asked.metric.clone();
        Ok(Opened { problem, batch, values, front })
    }

    /// Whether samples are rows that are spread over several inputs, or hold whole numbers or words.
    pub fn takes_rows(&self) -> bool {
        let ports = self.inputs();
        ports.len() > 1 || ports.iter().any(|p| !p.is_float)
    }

    /// The sizes of one sample, if the file fixes them; those of all inputs together where they are joined.
    pub fn sample_shape(&self) -> Result<Option<Vec<usize>>, Error> {
        if !self.takes_rows() {
            let sizes = self.input(None)?.shape;
            return Ok(sizes.and_then(|s| s.into_iter().skip(1).map(Result::ok).collect()));
        }
        let widths: Option<Vec<usize>> = self.inputs().iter().map(Port::row_width).collect();
        Ok(widths.map(|w| vec![w.iter().sum()]))
    }

    /// The inputs that take sequences of one length, such as token ids and their mask, by name, and that length where the file
    /// fixes it; none if the model takes something else. All have two axes, and the first takes whole numbers.
    pub fn sequences(&self) -> Vec<(String, Option<usize>)> {
        let ports = self.inputs();
        let length = |port: &Port| match port.shape.as_deref() {
            Some([_, length]) => Some(length.clone().ok()),
            _ => None,
        };
        let Some(lengths) = ports.iter().map(length).collect::<Option<Vec<_>>>() else {
            return Vec::new();
        };
        let fixed: Vec<usize> = lengths.iter().flatten().copied().collect();
        let agree = fixed.iter().all(|l| *l > 1 && *l == fixed[0]);
        if !agree || ports.first().is_none_or(|p| !p.is_whole()) {
            return Vec::new();
        }
        ports.into_iter().map(|p| p.name).zip(lengths).collect()
    }

    /// The sizes of a sample by input, given those of a whole sample. Inputs that leave theirs open share what the others
    /// leave.
    pub fn sample_shapes(&self, sample: &[usize]) -> HashMap<String, Vec<usize>> {
        let ports = self.inputs();
        let is_open = |port: &&Port| {
            let open = |sizes: &[Result<usize, String>]| sizes.iter().skip(1).any(Result::is_err);
            port.shape.as_deref().is_none_or(open)
        };
        if !self.takes_rows() {
            let open = ports.iter().filter(|p| p.is_float).take(1).filter(is_open);
            return open.map(|p| (p.name.clone(), sample.to_vec())).collect();
        }
        let known: usize = ports.iter().filter_map(Port::row_width).sum();
        let open: Vec<&Port> = ports.iter().filter(is_open).collect();
        let left = sample.iter().product::<usize>().saturating_sub(known);
        let each = left.checked_div(open.len()).unwrap_or(0);
        open.into_iter().map(|p| (p.name.clone(), vec![each])).collect()
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

/// A model's graph with a target.
pub(crate) struct Opened {
    pub(crate) problem: Problem,
    pub(crate) batch: Batch,
    /// The model's values by the names that they have in the file.
    pub(crate) values: Vec<(String, Id)>,
    pub(crate) front: Option<Front>,
}

/// A derivative, ready to be compiled.
#[derive(Clone, Debug)]
pub struct Derived {
    pub(crate) derivation: Derivation,
    pub(crate) inputs: Vec<InputInfo>,
    wrt: String,
    field: Option<String>,
    output: String,
    target: Target,
    dimension: usize,
    pub(crate) batch: Batch,
    pub(crate) seed: u64,
    memory: usize,
}

impl Derived {
    /// The method that computes second derivatives.
    pub fn laplacian_method(&self) -> LaplacianMethod {
        self.derivation.how.method
    }

    /// Why this method, in words.
    pub fn reason(&self) -> &str {
        &self.derivation.how.reason
    }

    /// The function of the output that is derived.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The input that is differentiated by.
    pub fn wrt(&self) -> &str {
        &self.wrt
    }

    /// The input that takes the field of the drift, if that is wanted: `field`, or a name that no input of the model
    /// has.
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// The output that the target is a function of.
    pub fn output(&self) -> &str {
        &self.output
    }

    /// Whether the target is piecewise affine in the input, so that its second derivatives are zero almost
    /// everywhere.
    pub fn is_flat(&self) -> bool {
        self.derivation.how.is_flat
    }

    /// The inputs of the model, and that of the field if a drift is wanted.
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
        let ends: Vec<Id> = self.derivation.ends().into_iter().map(|end| end.1).collect();
        self.derivation.graph.ancestors(&ends, &[]).len()
    }

    /// How many samples at once stay within the memory asked for.
    pub fn chunk(&self) -> usize {
        match self.batch {
            Batch::Fixed(rows) => rows,
            Batch::Open => {
                memory::chunk(&self.derivation.graph, &self.derivation.ends(), self.memory)
            }
        }
    }

    /// Runs the graph through an engine.
    pub fn compile(&self, backend: &Backend, threads: usize) -> Result<Compiled, Error> {
        Compiled::new(self.clone(), backend, threads)
    }
}
