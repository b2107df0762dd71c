//! From a model and a request to a graph that computes derivatives, and how to run it.

mod frontier;
mod jacobian;
mod schedule;

use std::{collections::HashSet, sync::Arc};

use taste_graph::{Build, Dim, Graph, Id, OpError, diff};

use crate::{
    Accuracy, Error, LaplacianKind, LaplacianMethod, Metric, Parts, Reading, Target, Wants,
    error::request, names, target::Head,
};
pub(crate) use auto::first_that_suits;
pub(crate) use frontier::{Cut, cut, mixed};
pub(crate) use schedule::{Once, Rows, RunOnce, Schedule, SignInput, Signs};
use schedule::{draw, precision, sign_lanes};

taste_choice::table! {
    /// Every way to compute a Laplacian. `auto` is the first of the others that suits the model.
    pub LAPLACIAN_METHODS: [&LaplacianKind] = {
        auto::KIND,
        closed_form::KIND,
        probe::KIND,
        exact::KIND,
        hutchinson::KIND,
        hutchpp::KIND,
    }
}

/// What a graph of derivatives is built for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) wants: Wants,
    pub(crate) signs: Signs,
    /// How many directions fit into the memory at once.
    pub(crate) lanes: usize,
    /// What the drift goes along.
    pub(crate) field: Option<Id>,
}

/// How derivatives are computed.
#[derive(Clone, Debug)]
pub struct How {
    /// How second derivatives are.
    pub method: LaplacianMethod,
    /// Why this method, in words.
    pub reason: String,
    /// Whether f is piecewise affine, so that Δf is zero almost everywhere.
    pub is_flat: bool,
}

/// A graph of derivatives.
#[derive(Clone, Debug)]
pub(crate) struct Derivation {
    pub(crate) graph: Graph,
    pub(crate) parts: Parts,
    pub(crate) schedule: Arc<dyn Schedule>,
    pub(crate) how: How,
}

impl Derivation {
    /// What a run has to give: the quantities in their order, then what the schedule needs. No name is an input's.
    pub(crate) fn ends(&self) -> Vec<(String, Id)> {
        let mut taken: HashSet<String> = self.graph.inputs().into_iter().map(|i| i.0).collect();
        let further = self.schedule.ends().into_iter().map(|id| ("part", id));
        let mut named = |(stem, id): (&str, Id)| {
            let name = names::free(stem, |name| taken.contains(name));
            taken.insert(name.clone());
            (name, id)
        };
        self.parts.present().chain(further).map(&mut named).collect()
    }
}

/// Probes when nobody says how many.
const PROBES: usize = 16;

/// A model with a target, before a method is chosen.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) graph: Graph,
    /// The output's name.
    pub(crate) output: String,
    pub(crate) x: Id,
    pub(crate) head: Head,
    pub(crate) target: Target,
    pub(crate) f: Id,
    /// Entries of one input.
    pub(crate) dimension: usize,
    pub(crate) cut: Cut,
    pub(crate) metric: Metric,
}

impl Problem {
    pub(crate) fn new(
        mut graph: Graph,
        x: Id,
        output: (&str, Id),
        target: Option<Target>,
        reading: Option<Reading>,
    ) -> Result<Self, Error> {
        let dimension = graph.fact(x).shape[1..]
            .iter()
            .map(|d| d.as_fixed().and_then(|d| usize::try_from(d).ok()))
            .try_fold(1usize, |p, d| p.checked_mul(d?))
            .ok_or_else(|| {
                request(format!(
                    "the input's shape {} is not fixed beside its first axis",
                    graph.fact(x)
                ))
            })?;
        if dimension == 0 {
            return Err(request(format!("the input {} has no entries", graph.fact(x))));
        }
        let head = Head::of(&mut graph, output.0, output.1)?;
        if graph.fact(head.output).shape[0] != graph.fact(x).shape[0] {
            return Err(request(format!(
                "output {:?} has {} rows for an input of {} samples: it is not computed sample by sample",
                output.0,
                graph.fact(head.output).shape[0],
                graph.fact(x).shape[0]
            )));
        }
        if let Some(place) = mixed(&graph, head.output, x)? {
            return Err(request(format!(
                "{place} mixes the samples of a batch, so output {:?} is not computed sample by sample",
                output.0
            )));
        }
        let head = match reading {
            Some(reading) => head.read(&mut Build::new(&mut graph), reading)?,
            None => head,
        };
        Self::with_head(graph, x, (output.0, head.output), head, target, dimension)
    }

    /// For an output that was looked at before.
    pub(crate) fn with_head(
        mut graph: Graph,
        x: Id,
        output: (&str, Id),
        head: Head,
        target: Option<Target>,
        dimension: usize,
    ) -> Result<Self, Error> {
        let target = target.unwrap_or_else(|| head.default_target());
        let f = head.build(&mut graph, target)?;
        let cut = cut(&graph, f, x, head.width)?;
        let (output, metric) = (output.0.to_owned(), Metric::default());
        Ok(Self { graph, output, x, head, target, f, dimension, cut, metric })
    }

    /// Builds the graph.
    pub(crate) fn derive(
        mut self,
        method: LaplacianMethod,
        job: &Job,
    ) -> Result<Derivation, Error> {
        let (method, reason) = method.resolve(&self);
        let wants = job.wants;
        if wants.stderr {
            check_has_error(method)?;
        }
        let mut parts = Parts::of(self.f);
        let mut schedule: Arc<dyn Schedule> = Arc::new(Once { signs: None });
        if wants.jacobian {
            parts.jacobian = Some(jacobian::jacobian(&mut self)?);
        }
        if wants.second_order() {
            let rule = method.kind().rule;
            if let Some(reason) = rule.obstacle(&self, method.count()) {
                return Err(Error::LaplacianMethod { method: method.to_string(), reason });
            }
            schedule = rule.build(&mut self, job, method.count(), &mut parts)?;
        } else if wants.gradient {
            parts.gradient = Some(self.gradient()?);
        }
        // A method that has the rows of the Jacobian anyway has made it of them.
        if let (Some(field), None) = (job.field, parts.drift) {
            parts.drift = Some(self.drift(field)?);
        }
        let is_flat = matches!(self.cut, Cut::Flat);
        Ok(Derivation { graph: self.graph, parts, schedule, how: How { method, reason, is_flat } })
    }

    /// s·∇f along a field s, zeros if f does not depend on x.
    fn drift(&mut self, field: Id) -> Result<Id, Error> {
        let mut b = Build::new(&mut self.graph);
        let seeds = diff::Derivatives::from([(self.x, field)]);
        Ok(match diff::jvp(&mut b, &[self.f], &seeds)?[0] {
            Some(drift) => drift,
            None => b.zeros_like(self.f)?,
        })
    }

    /// ∇f, zeros if f does not depend on x.
    fn gradient(&mut self) -> Result<Id, Error> {
        self.scalar_target("a gradient")?;
        let mut b = Build::new(&mut self.graph);
        Ok(match diff::gradient(&mut b, self.f, self.x)? {
            Some(gradient) => gradient,
            None => b.zeros_like(self.x)?,
        })
    }

    /// A target that is one scalar a sample.
    fn scalar_target(&self, what: &str) -> Result<(), Error> {
        if self.target.is_every_class() {
            return Err(request(format!(
                "{what} of every class at once is available with the methods closed-form and exact only"
            )));
        }
        Ok(())
    }

    /// The name of the input that is differentiated by.
    pub(crate) fn wrt(&self) -> String {
        let named = self.graph.inputs().into_iter().find(|(_, id)| *id == self.x);
        named.map_or_else(String::new, |(name, _)| name)
    }

    /// The sizes of one sample of the input.
    fn sample_shape(&self) -> Vec<Dim> {
        self.graph.fact(self.x).shape[1..].to_vec()
    }

    /// The size of the first axis.
    fn rows(&self) -> Dim {
        self.graph.fact(self.x).shape[0]
    }
}

/// Fails if a method has no standard error.
fn check_has_error(method: LaplacianMethod) -> Result<(), Error> {
    let nature = match method.accuracy() {
        Accuracy::Random { draws: 2.. } => return Ok(()),
        Accuracy::Random { .. } => {
            return Err(request(format!(
                "a standard error needs at least two probes, and {method} has one"
            )));
        }
        Accuracy::Biased => "biased, not random",
        Accuracy::Exact => "exact",
    };
    Err(request(format!("method {method} has no standard error: it is {nature}")))
}

/// Constants that hold directions stay below this many elements.
const DIRECTION_LIMIT: usize = 1 << 25;

/// Fails if directions would not fit into a constant.
fn check_directions(lanes: usize, rows: usize, width: usize) -> Result<(), OpError> {
    let count = lanes.saturating_mul(rows).saturating_mul(width);
    if count > DIRECTION_LIMIT {
        return Err(OpError::invalid(format!(
            "{lanes} directions of {width} entries for {rows} samples take more than {DIRECTION_LIMIT} numbers as a \
             constant"
        )));
    }
    Ok(())
}

/// Mean and standard error over the first axis of `draws` (M × N × …), as values without it.
fn mean_and_error(b: &mut Build<'_>, draws: Id, count: usize) -> Result<(Id, Option<Id>), OpError> {
    let shape = b.fact(draws).shape[1..].to_vec();
    let sum = b.sum(draws, &[0])?;
    let mean = b.scale(sum, 1.0 / count as f64)?;
    let flat_mean = b.reshape(mean, &shape)?;
    if count < 2 {
        return Ok((flat_mean, None));
    }
    let off = b.sub(draws, mean)?;
    let squares = b.square(off)?;
    let sum = b.sum(squares, &[0])?;
    let variance = b.scale(sum, 1.0 / (count * (count - 1)) as f64)?;
    let error = taste_ops::functions::sqrt(b, variance)?;
    Ok((flat_mean, Some(b.reshape(error, &shape)?)))
}
