//! The embedded engine: rten, with convolutions of our own.

mod constants;
mod convolution;
mod cut;
mod neutral;
mod piece;
mod spare;
mod steps;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

use ndarray::{ArrayD, ArrayViewD, IxDyn};
use rten::{ThreadPool, ValueOrView};
use rten_tensor::{AsView, Layout, Tensor, TensorView};
use taste_choice::Choice;
use taste_graph::{Graph, Id};

use self::{spare::Spare, steps::Steps};
use super::{Backend, Engine, Instance, Loaded, Program};
use crate::{Error, Value, View};

pub(super) const ENGINE: &Engine = &Engine {
    choice: Choice {
        name: "rten",
        usage: "rten",
        about: "the embedded engine, in single precision",
    },
    has_library: false,
    read,
};

impl Backend {
    /// The embedded engine, in single precision.
    pub const RTEN: Self = Self::of(ENGINE);
}

fn read(program: &Program<'_>, _library: Option<&Path>) -> Result<Arc<dyn Loaded>, Error> {
    check(program.graph, program.outputs)?;
    let mut file = program.file()?;
    neutral::keep_axes(&mut file)?;
    let steps = Steps::new(&file, &program.names())?;
    Ok(Arc::new(RtenModel { steps: Arc::new(steps) }))
}

#[expect(clippy::needless_pass_by_value, reason = "made to be handed to map_err")]
fn failed(message: impl ToString) -> Error {
    Error::Backend { backend: "rten", message: message.to_string() }
}

/// Runs a part of the engine; a panic in it becomes an error.
fn guarded<T, E: ToString>(run: impl FnOnce() -> Result<T, E>) -> Result<T, Error> {
    caught(|| run().map_err(failed))
}

fn caught<T>(run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(failed(format!("the engine panicked: {}", text.unwrap_or("it does not say why"))))
    })
}

/// Operators that take windows along axes.
const WINDOWED: [&str; 5] = ["Conv", "ConvTranspose", "ConvWeights", "AveragePool", "MaxPool"];

/// Operators of the engine that have no rule here.
const OWN: [&str; 2] = ["GRU", "LSTM"];

/// Fails if the graph has a node that the engine does not know, or windows over more axes than it supports.
fn check(graph: &Graph, outputs: &[(String, Id)]) -> Result<(), Error> {
    let ends: Vec<Id> = outputs.iter().map(|o| o.1).collect();
    for n in graph.ancestors(&ends, &[]) {
        let node = &graph.nodes()[n];
        if let Some(operator) = taste_ops::carried(&*node.op)
            && !OWN.contains(&operator.as_str())
        {
            let node = node.label.as_deref().unwrap_or_default().to_owned();
            return Err(Error::LeftToEngine { operator, node });
        }
        let name = node.op.name();
        let axes = node.args.first().map_or(0, |&x| graph.fact(x).rank().saturating_sub(2));
        if WINDOWED.contains(&name) && axes > 2 {
            let place =
                node.label.as_deref().map_or_else(String::new, |l| format!(" (node {l:?})"));
            return Err(failed(format!(
                "{name}{place} runs over {axes} axes, and this engine knows one or two; \
                 the backends ort and reference take it"
            )));
        }
    }
    Ok(())
}

/// A graph that is ready to run.
struct RtenModel {
    steps: Arc<Steps>,
}

impl Loaded for RtenModel {
    fn instance(&self, threads: usize) -> Result<Box<dyn Instance>, Error> {
        let pool = Arc::new(ThreadPool::with_num_threads(threads));
        let workers = Workers { pool, threads };
        Ok(Box::new(RtenInstance { steps: self.steps.clone(), workers, spare: Spare::default() }))
    }
}

/// Threads of an instance.
#[derive(Clone)]
struct Workers {
    pool: Arc<ThreadPool>,
    threads: usize,
}

/// A graph with threads.
struct RtenInstance {
    steps: Arc<Steps>,
    workers: Workers,
    spare: Spare,
}

impl Instance for RtenInstance {
    fn run(&mut self, feeds: &[(&str, View<'_>)]) -> Result<Vec<Value>, Error> {
        let mut inputs: Vec<(&str, ValueOrView<'_>)> = Vec::new();
        for (name, value) in feeds {
            let input = match value {
                View::F32(a) => match a.as_slice() {
                    Some(data) => TensorView::from_data(a.shape(), data).into(),
                    None => float_tensor(a).into(),
                },
                View::F64(_) => float_tensor(&value.to_f32().view()).into(),
                View::I64(a) => {
                    let ints = a.iter().map(|&v| i32::try_from(v)).collect::<Result<Vec<_>, _>>();
                    let ints = ints.map_err(|_| failed("an integer input beyond 32 bits"))?;
                    Tensor::from_data(a.shape(), ints).into()
                }
            };
            inputs.push((name, input));
        }
        let Self { steps, workers, spare } = self;
        // Within the pool, so that no step has to change threads.
        let results = caught(|| workers.pool.run(|| steps.run(inputs, workers, spare)))?;
        results.into_iter().map(from_rten).collect()
    }
}

fn float_tensor(a: &ArrayViewD<'_, f32>) -> Tensor<f32> {
    let (entries, _) = a.as_standard_layout().into_owned().into_raw_vec_and_offset();
    Tensor::from_data(a.shape(), entries)
}

fn from_rten(value: rten::Value) -> Result<Value, Error> {
    match value {
        rten::Value::FloatTensor(t) => {
            let shape = t.shape().to_vec();
            ArrayD::from_shape_vec(IxDyn(&shape), t.into_data()).map(Value::F32).map_err(failed)
        }
        rten::Value::Int32Tensor(t) => {
            let ints = t.iter().map(|&v| i64::from(v)).collect();
            ArrayD::from_shape_vec(IxDyn(t.shape()), ints).map(Value::I64).map_err(failed)
        }
        _ => Err(failed("an output that is neither float nor integer")),
    }
}
