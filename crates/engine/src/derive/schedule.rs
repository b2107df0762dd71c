//! How often a graph runs for a batch of samples, and with what.

use std::fmt;

use ndarray::{ArrayD, IxDyn};
use taste_graph::{Build, Dim, Id, OpError, Tensor};

use super::check_directions;
use crate::{Error, Outputs, Value, names::Fed};

/// The samples of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub(crate) count: usize,
    /// The number of the first one in the whole data set.
    pub(crate) first: usize,
    /// The seed of random signs.
    pub(crate) seed: u64,
}

/// Runs the graph once with feeds beside the model's inputs. Gives the quantities, and the schedule's own ends.
pub(crate) type RunOnce<'a> =
    dyn FnMut(&[(&str, &Value)]) -> Result<(Outputs, Vec<Value>), Error> + 'a;

/// How a graph is run for a batch of samples.
pub(crate) trait Schedule: fmt::Debug + Send + Sync {
    /// Values that runs have to give beside the quantities.
    fn ends(&self) -> Vec<Id> {
        Vec::new()
    }

    /// The results for some samples.
    fn run(&self, rows: Rows, run: &mut RunOnce<'_>) -> Result<Outputs, Error>;
}

/// Once: what comes out is the result.
#[derive(Debug)]
pub(crate) struct Once {
    /// Random signs, if some are fed.
    pub(crate) signs: Option<SignInput>,
}

impl Schedule for Once {
    fn run(&self, rows: Rows, run: &mut RunOnce<'_>) -> Result<Outputs, Error> {
        let signs = self.signs.as_ref().map(|input| (input.fed.name.as_str(), input.draw(rows)));
        let feeds: Vec<(&str, &Value)> = signs.iter().map(|(name, value)| (*name, value)).collect();
        Ok(run(&feeds)?.0)
    }
}

/// Where random signs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signs {
    /// Fed with every run, other ones for every sample.
    Fed,
    /// Part of the graph, the same for every sample: for files that stand alone.
    Baked(u64),
}

/// An input that takes random signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignInput {
    pub(crate) fed: Fed,
    /// How many probes.
    pub(crate) lanes: usize,
    /// Signs of one probe of one sample.
    pub(crate) shape: Vec<usize>,
}

impl SignInput {
    fn draw(&self, rows: Rows) -> Value {
        let full: Vec<usize> =
            [self.lanes, rows.count].into_iter().chain(self.shape.clone()).collect();
        draw(rows, 0..self.lanes, self.shape.iter().product()).reshaped(&full)
    }
}

/// Signs of some probes for every sample: probes × samples × `width`.
pub(crate) fn draw(rows: Rows, probes: std::ops::Range<usize>, width: usize) -> Value {
    let shape = [probes.len(), rows.count, width];
    let mut values = Vec::with_capacity(shape.iter().product());
    for probe in probes {
        for row in rows.first..rows.first + rows.count {
            let signs = taste_stats::random::signs(rows.seed, row as u64, probe as u64, width);
            #[expect(clippy::cast_possible_truncation, reason = "±1 is exact")]
            values.extend(signs.map(|s| s as f32));
        }
    }
    Value::F32(ArrayD::from_shape_vec(IxDyn(&shape), values).expect("probes × samples × width"))
}

/// Lanes of signs for a value like `like`: fed with every run, or part of the graph.
pub(super) fn sign_lanes(
    b: &mut Build<'_>,
    like: Id,
    lanes: usize,
    signs: Signs,
) -> Result<(Id, Option<SignInput>), OpError> {
    let mut fact = b.fact(like).clone();
    let shape: Vec<usize> = fact.shape[1..].iter().map(|d| d.at(0)).collect();
    let (id, input) = match signs {
        Signs::Fed => {
            fact.shape.insert(0, Dim::from(lanes));
            let fed = Fed::new(b.graph_mut(), "signs", fact);
            (fed.id, Some(SignInput { fed, lanes, shape }))
        }
        Signs::Baked(seed) => {
            let rows = fact.shape[0].as_fixed().map_or(1, |r| usize::try_from(r).unwrap_or(1));
            let width: usize = shape.iter().product();
            check_directions(lanes, rows, width)?;
            let mut values = Vec::with_capacity(lanes * rows * width);
            for lane in 0..lanes {
                for row in 0..rows {
                    values.extend(taste_stats::random::signs(seed, row as u64, lane as u64, width));
                }
            }
            let full: Vec<usize> = [lanes, rows].into_iter().chain(shape).collect();
            (b.graph_mut().constant(Tensor::floats(&full, values)?), None)
        }
    };
    Ok((b.declare_lanes(id, like)?, input))
}

/// An array in the precision of an engine's results.
#[expect(clippy::cast_possible_truncation, reason = "results have the engine's precision")]
pub(super) fn precision(array: ArrayD<f64>, double: bool) -> Value {
    if double { Value::F64(array) } else { Value::F32(array.mapv(|v| v as f32)) }
}
