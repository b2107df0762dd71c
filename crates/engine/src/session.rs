//! A graph that is ready to run, and what may be fed to it.

use std::{collections::HashMap, fmt, sync::Arc};

use ndarray::{ArrayViewD, Axis};
use taste_graph::{DType, Dim, Fact, Graph, Id};
use taste_threads::PerProcess;

use crate::{
    Batch, Error, Given, InputInfo, Value, View,
    backend::{Instance, Loaded, Samples, instance},
    error::request,
};

/// A graph that is ready to run, from any number of threads at once.
///
/// Feeds are lent and named. What comes out depends on them alone, whatever runs beside them. A session that was made
/// before a `fork` runs in the child as well.
pub struct Session {
    loaded: Arc<dyn Loaded>,
    samples: Option<Samples>,
    threads: usize,
    inputs: Inputs,
    /// What was made for callers that are done: as many as ever ran at once.
    idle: PerProcess<Vec<Box<dyn Instance>>>,
}

impl Session {
    pub(crate) fn new(
        loaded: Arc<dyn Loaded>,
        samples: Option<Samples>,
        inputs: Inputs,
        threads: usize,
    ) -> Result<Self, Error> {
        let session = Self { loaded, samples, threads, inputs, idle: PerProcess::default() };
        let first = session.instance()?;
        session.idle.with(|idle| idle.push(first));
        Ok(session)
    }

    /// A session of a graph for a fixed number of samples, which lie along the first axis of every input and output. It
    /// takes any number: full batches, the last one filled up with copies of its last sample.
    #[must_use]
    pub fn with_batch(mut self, batch: Batch) -> Self {
        self.inputs.batch = batch;
        self
    }

    /// The inputs of the graph.
    pub fn inputs(&self) -> impl Iterator<Item = &InputInfo> {
        self.inputs.all.iter().map(|(info, _)| info)
    }

    /// How many samples the engine takes at once.
    pub fn batch(&self) -> Batch {
        self.inputs.batch
    }

    /// Computes the outputs. Something must be fed to every input that they need.
    pub fn run<'v, V>(&self, feeds: &[(&str, V)]) -> Result<Vec<Value>, Error>
    where
        V: Clone + Into<View<'v>>,
    {
        let feeds: Vec<(&str, View<'_>)> =
            feeds.iter().map(|(name, value)| (*name, value.clone().into())).collect();
        let rows = self.inputs.check(&feeds)?;
        let size = match self.inputs.batch {
            Batch::Fixed(size) if rows.is_some_and(|rows| rows != size) => size,
            _ => return self.run_at_once(&feeds),
        };
        let rows = rows.unwrap_or(size);
        let parts =
            self.inputs.in_batches(&feeds, rows, size, |feeds, _| self.run_at_once(feeds))?;
        let count = parts.first().map_or(0, |(results, _)| results.len());
        let column = |i: usize| {
            let shape = parts[0].0[i].shape();
            if shape.first() != Some(&size) {
                return Err(request(format!(
                    "output {i} of shape {shape:?} has no row for every one of {size} samples"
                )));
            }
            let cut: Vec<Value> = parts.iter().map(|(r, rows)| r[i].rows(0, *rows)).collect();
            Value::join(&cut.iter().collect::<Vec<_>>())
        };
        (0..count).map(column).collect()
    }

    /// Computes the outputs for samples whose entries are spread over these inputs, in order: rows of a table, one input a
    /// column. A single input takes samples as they are.
    pub fn run_samples(
        &self,
        inputs: &[String],
        samples: ArrayViewD<'_, f32>,
    ) -> Result<Vec<Value>, Error> {
        let fact = |name: &str| self.inputs().find(|i| i.name == *name).map(|i| &i.fact);
        if let [name] = inputs
            && fact(name).is_none_or(|f| f.dtype == DType::Float)
        {
            return self.run(&[(name.as_str(), samples)]);
        }
        let rows = samples.shape().first().copied().unwrap_or(0);
        let (mut start, mut feeds) = (0, Vec::with_capacity(inputs.len()));
        for name in inputs {
            let Some(fact) = fact(name) else { continue };
            let shape: Vec<usize> =
                std::iter::once(rows).chain(fact.at(rows).shape.into_iter().skip(1)).collect();
            let width: usize = shape.iter().skip(1).product();
            if samples.ndim() != 2 || start + width > samples.shape()[1] {
                let (wanted, got) = (vec![Some(start + width)], samples.shape().to_vec());
                return Err(Error::Shape { name: name.clone(), wanted, got: Given::Array(got) });
            }
            let part = samples.slice_axis(Axis(1), (start..start + width).into());
            start += width;
            let part = if fact.dtype == DType::Float {
                Value::F32(part.to_owned())
            } else {
                Value::I64(part.mapv(whole))
            };
            let part = part.standard();
            feeds.push((name.as_str(), part.reshaped(&shape)));
        }
        let feeds: Vec<(&str, View<'_>)> = feeds.iter().map(|(n, v)| (*n, v.into())).collect();
        self.run(&feeds)
    }

    fn run_at_once(&self, feeds: &[(&str, View<'_>)]) -> Result<Vec<Value>, Error> {
        let mut instance = match self.idle.with(Vec::pop) {
            Some(instance) => instance,
            None => self.instance()?,
        };
        let results = instance.run(feeds);
        self.idle.with(|idle| idle.push(instance));
        results
    }

    fn instance(&self) -> Result<Box<dyn Instance>, Error> {
        instance(&self.loaded, self.samples.as_ref(), self.threads)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inputs, threads, .. } = self;
        let mut shown = f.debug_struct("Session");
        shown.field("inputs", inputs).field("threads", threads).finish_non_exhaustive()
    }
}

/// A number as a whole one; −1, which is no code of a word, where it is missing.
#[expect(clippy::cast_possible_truncation, reason = "columns of whole numbers")]
fn whole(value: f32) -> i64 {
    if value.is_nan() { -1 } else { value.round() as i64 }
}

/// What may be fed to a graph.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    /// With whether something must be fed.
    all: Vec<(InputInfo, bool)>,
    batch: Batch,
}

impl Inputs {
    /// Inputs that all must be fed.
    pub(crate) fn new(inputs: &[InputInfo], batch: Batch) -> Self {
        Self { all: inputs.iter().map(|i| (i.clone(), true)).collect(), batch }
    }

    /// The inputs of a graph, of which outputs need some.
    pub(crate) fn of(graph: &Graph, outputs: &[(String, Id)]) -> Self {
        let ends: Vec<Id> = outputs.iter().map(|o| o.1).collect();
        let needed = graph.ancestors(&ends, &[]);
        let inputs = graph.inputs().into_iter().enumerate();
        // Files that are written always have the first, to read the number of samples from.
        let all = inputs.map(|(place, (name, id))| {
            let needed = place == 0 || needed.binary_search(&graph.node_index(id)).is_ok();
            (InputInfo { name, fact: graph.fact(id).clone() }, needed)
        });
        Self { all: all.collect(), batch: Batch::Open }
    }

    /// The number of samples, if the graph has samples and every feed has the name, type and shape of an input.
    pub(crate) fn check(&self, feeds: &[(&str, View<'_>)]) -> Result<Option<usize>, Error> {
        let fail = |name: &str, message: String| Error::Input { name: name.to_owned(), message };
        let mut given: HashMap<&str, &View<'_>> = HashMap::with_capacity(feeds.len());
        for (name, value) in feeds {
            if given.insert(name, value).is_some() {
                return Err(fail(name, "is given twice".to_owned()));
            }
        }
        let rows = |(input, _): &(InputInfo, bool)| {
            let axis = self.axis_of_samples(&input.fact)?;
            given.get(&*input.name)?.shape().get(axis).copied()
        };
        let rows = self.all.iter().find_map(rows);
        for (input, needed) in &self.all {
            match given.remove(&*input.name) {
                Some(value) => self.check_one(input, value, rows)?,
                None if *needed => {
                    return Err(fail(&input.name, "nothing was given for it".to_owned()));
                }
                None => {}
            }
        }
        if let Some((name, _)) = feeds.iter().find(|(name, _)| given.contains_key(name)) {
            let names: Vec<&str> = self.all.iter().map(|(i, _)| i.name.as_str()).collect();
            return Err(fail(
                name,
                format!("the model has no such input, only {}", names.join(", ")),
            ));
        }
        if rows == Some(0) { Err(request("there are no samples")) } else { Ok(rows) }
    }

    fn check_one(
        &self,
        InputInfo { name, fact }: &InputInfo,
        value: &View<'_>,
        rows: Option<usize>,
    ) -> Result<(), Error> {
        let fail = |message: String| Err(Error::Input { name: name.clone(), message });
        let got = value.shape();
        let axis = self.axis_of_samples(fact);
        let found = axis.and_then(|axis| got.get(axis).copied());
        let rows = rows.unwrap_or(1);
        let mut wanted = fact.at(rows).shape;
        if let (Some(axis), Some(found)) = (axis, found) {
            wanted[axis] = found;
        }
        if got != wanted {
            if axis == Some(0) {
                let sample = wanted.into_iter().skip(1).map(Some).collect();
                let got = Given::Array(got.to_vec());
                return Err(Error::Shape { name: name.clone(), wanted: sample, got });
            }
            return fail(format!("wants an array {fact}, got one of shape {got:?}"));
        }
        if let Some(found) = found.filter(|found| *found != rows) {
            return fail(format!("has {found} samples, another input {rows}"));
        }
        match (fact.dtype, value) {
            (DType::Float, View::I64(_)) => fail("wants floats, got integers".to_owned()),
            (DType::Int | DType::Bool, View::F32(_) | View::F64(_)) => {
                fail("wants integers, got floats".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Runs full batches of `size` samples; the last one is filled up with copies of its last sample. `run` also gets the
    /// number of the first sample. Results come with the number of samples that count.
    pub(crate) fn in_batches<T>(
        &self,
        feeds: &[(&str, View<'_>)],
        rows: usize,
        size: usize,
        mut run: impl FnMut(&[(&str, View<'_>)], usize) -> Result<T, Error>,
    ) -> Result<Vec<(T, usize)>, Error> {
        let has_samples = |name: &str| {
            let input = self.all.iter().find(|(i, _)| i.name == name);
            input.is_some_and(|(i, _)| self.axis_of_samples(&i.fact) == Some(0))
        };
        let mut results = Vec::with_capacity(rows.div_ceil(size));
        for start in (0..rows).step_by(size) {
            let end = rows.min(start + size);
            let fill = |(name, value): &(&str, View<'_>)| {
                (end - start < size && has_samples(name)).then(|| value.filled(start..end, size))
            };
            let filled: Vec<Option<Value>> = feeds.iter().map(fill).collect();
            let batch = feeds.iter().zip(&filled).map(|((name, value), filled)| match filled {
                Some(filled) => (*name, View::from(filled)),
                None if has_samples(name) => (*name, value.part(0, start..end)),
                None => (*name, value.view()),
            });
            results.push((run(&batch.collect::<Vec<_>>(), start)?, end - start));
        }
        Ok(results)
    }

    /// The axis along which an input's samples lie.
    fn axis_of_samples(&self, fact: &Fact) -> Option<usize> {
        match self.batch {
            Batch::Fixed(size) => (fact.shape.first() == Some(&Dim::from(size))).then_some(0),
            Batch::Open => fact.shape.iter().position(|d| *d == Dim::BATCH),
        }
    }
}
