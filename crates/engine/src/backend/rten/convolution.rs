//! A convolution, run directly where that is faster.

use std::{collections::HashMap, sync::Arc};

use rten::{Value, ValueView};
use rten_tensor::{AsView, Layout, Tensor, TensorView};
use taste_conv::{After, Channels, Direction, Filter, Numbers, Window};
use taste_onnx::proto::NodeProto;
use taste_ops::conv::Geometry;

use super::{Spare, Workers, constants::Constants, failed, piece::Later};
use crate::Error;

/// Whether a node is a convolution. What we don't do (padding that follows from a size, say) goes to rten when it runs.
pub(super) fn may_run(node: &NodeProto) -> bool {
    direction(node).is_some()
}

fn direction(node: &NodeProto) -> Option<Direction> {
    match (node.domain.as_str(), node.op_type.as_str()) {
        ("" | "ai.onnx", "Conv") => Some(Direction::Forward),
        ("" | "ai.onnx", "ConvTranspose") => Some(Direction::Transposed),
        _ => None,
    }
}

/// The windows of a geometry, if it has one axis or two.
fn windows(geometry: &Geometry) -> Option<[Window; 2]> {
    let Geometry { window, extra, .. } = geometry;
    let along = |axis: usize| Window {
        size: window.kernel[axis],
        stride: window.strides[axis],
        dilation: window.dilations[axis],
        before: window.begin[axis],
        after: window.end[axis],
        extra: extra[axis],
    };
    match extra.len() {
        1 => Some([Window::POINT, along(0)]),
        2 => Some([along(0), along(1)]),
        _ => None,
    }
}

/// A convolution and what is done with its result.
pub(super) struct Convolution {
    direction: Direction,
    node: NodeProto,
    input: Operand,
    weights: Weights,
    after: Vec<Then>,
    otherwise: Later,
}

/// A value that is read.
enum Operand {
    Constant(Tensor<f32>),
    /// The place among the values that are given.
    Given(usize),
}

enum Weights {
    Constant(Arc<Filter>),
    Given(Operand),
}

/// What follows.
enum Then {
    Bias(Operand),
    Add(Operand),
    Mul(Operand),
    Relu,
    Clip(f32, f32),
}

/// Filters that were made, by the name of their weights: derivatives apply the same ones many times.
#[derive(Default)]
pub(super) struct Filters(HashMap<(String, Direction, Geometry), Arc<Filter>>);

impl Convolution {
    /// The first of `nodes` is a convolution, and each of the others reads what the one before it writes; `otherwise` are the
    /// same nodes for rten.
    pub(super) fn new(
        nodes: &[&NodeProto],
        reads: &[&str],
        constants: &Constants<'_>,
        filters: &mut Filters,
        otherwise: Later,
    ) -> Result<Self, Error> {
        let operand = |name: &String| match reads.iter().position(|r| r == name) {
            Some(place) => Ok(Operand::Given(place)),
            None => constants.value(name).map(Operand::Constant),
        };
        let first = nodes[0];
        let unfit = || failed(format!("node {:?} is not a convolution", first.name));
        let direction = direction(first).ok_or_else(unfit)?;
        let [input, weights, ..] = &first.input[..] else { return Err(unfit()) };
        let weights = match reads.iter().position(|r| r == weights) {
            Some(place) => Weights::Given(Operand::Given(place)),
            None => filters.weights(weights, direction, first, constants)?,
        };
        let mut after = Vec::new();
        if let Some(bias) = first.input.get(2).filter(|b| !b.is_empty()) {
            after.push(Then::Bias(operand(bias)?));
        }
        for pair in nodes.windows(2) {
            let other = pair[1].input.iter().find(|i| **i != pair[0].output[0]);
            after.push(match (pair[1].op_type.as_str(), other) {
                ("Add", Some(other)) => Then::Add(operand(other)?),
                ("Mul", Some(other)) => Then::Mul(operand(other)?),
                ("Clip", _) => {
                    let bound = |place: usize, none| match pair[1].input.get(place) {
                        Some(name) if !name.is_empty() => constants.number(name),
                        _ => Ok(none),
                    };
                    Then::Clip(bound(1, f32::NEG_INFINITY)?, bound(2, f32::INFINITY)?)
                }
                _ => Then::Relu,
            });
        }
        let input = operand(input)?;
        Ok(Self { direction, node: first.clone(), input, weights, after, otherwise })
    }

    pub(super) fn run(
        &self,
        given: Vec<ValueView<'_>>,
        workers: &Workers,
        spare: &mut Spare,
    ) -> Result<Vec<Value>, Error> {
        match self.directly(&given, workers, spare) {
            Some(value) => Ok(vec![value]),
            None => self.otherwise.run(given, workers),
        }
    }

    /// The result, unless the values are of another kind or shape than what is done here.
    fn directly(
        &self,
        given: &[ValueView<'_>],
        workers: &Workers,
        spare: &mut Spare,
    ) -> Option<Value> {
        let fresh;
        let filter = match &self.weights {
            Weights::Constant(filter) => filter.as_ref(),
            Weights::Given(weights) => {
                let weights = weights.of(given)?;
                let geometry = geometry(&self.node, weights.shape())?;
                fresh = filter(self.direction, &geometry, &weights)?;
                &fresh
            }
        };
        let Channels { inputs, outputs, .. } = filter.channels();
        let input = self.input.of(given)?;
        let (samples, size) = match *input.shape() {
            [n, c, w] if c == inputs => (n, [1, w]),
            [n, c, h, w] if c == inputs => (n, [h, w]),
            _ => return None,
        };
        let result = filter.output_size(size).filter(|_| filter.suits(samples, size))?;
        let mut shape = input.shape().to_vec();
        shape[1] = outputs;
        let axes = shape.len() - 2;
        shape[2..].copy_from_slice(&result[2 - axes..]);
        let operands: Vec<Read<'_>> =
            self.after.iter().map(|then| then.read(given, &shape)).collect::<Option<_>>()?;
        let after: Vec<After<'_>> =
            self.after.iter().zip(&operands).map(|(then, read)| then.with(read)).collect();
        let mut output = spare.take(shape.iter().product());
        let input = input.data()?;
        filter.run(samples, size, input, &after, &mut output, workers.threads);
        Some(Tensor::from_data(&shape, output).into())
    }
}

impl Filters {
    /// Constant weights of a name as a filter, which is made once, unless a node does something with them that is not done here.
    fn weights(
        &mut self,
        name: &str,
        direction: Direction,
        node: &NodeProto,
        constants: &Constants<'_>,
    ) -> Result<Weights, Error> {
        let Some(geometry) = geometry(node, &constants.sizes(name)) else {
            return Ok(Weights::Given(Operand::Constant(constants.value(name)?)));
        };
        let key = (name.to_owned(), direction, geometry);
        if let Some(filter) = self.0.get(&key) {
            return Ok(Weights::Constant(filter.clone()));
        }
        let tensor = constants.value(name)?;
        let Some(filter) = filter(direction, &key.2, &tensor.view()).map(Arc::new) else {
            return Ok(Weights::Given(Operand::Constant(tensor)));
        };
        self.0.insert(key, filter.clone());
        Ok(Weights::Constant(filter))
    }
}

/// Where the windows of a node with weights of a shape lie, if its padding is given in numbers.
fn geometry(node: &NodeProto, weights: &[usize]) -> Option<Geometry> {
    Geometry::of(node, weights.get(2..)?).ok()?
}

/// Weights of a tensor as in ONNX; nothing if it is of another shape.
fn filter(
    direction: Direction,
    geometry: &Geometry,
    tensor: &TensorView<'_, f32>,
) -> Option<Filter> {
    let [a, b, ..] = tensor.shape() else { return None };
    let (groups, b) = (geometry.groups, b.checked_mul(geometry.groups)?);
    let (inputs, outputs) = match direction {
        Direction::Forward => (b, *a),
        Direction::Transposed => (*a, b),
    };
    let channels = Channels { inputs, outputs, groups };
    Filter::new(direction, windows(geometry)?, channels, tensor.data()?)
}

impl Operand {
    /// Its numbers, if it has floats.
    fn of<'a>(&'a self, given: &[ValueView<'a>]) -> Option<TensorView<'a, f32>> {
        match self {
            Self::Constant(tensor) => Some(tensor.view()),
            Self::Given(place) => match given.get(*place)? {
                ValueView::FloatTensor(view) => Some(view.clone()),
                _ => None,
            },
        }
    }
}

/// Numbers for the output of a convolution.
enum Read<'a> {
    Entries(&'a [f32]),
    Channels(&'a [f32]),
    /// The same for all channels.
    Scalar(Vec<f32>),
    Nothing,
}

impl Then {
    /// What it reads, if that goes with an output of a shape.
    fn read<'a>(&'a self, given: &[ValueView<'a>], shape: &[usize]) -> Option<Read<'a>> {
        let (operand, is_bias) = match self {
            Self::Bias(operand) => (operand, true),
            Self::Add(operand) | Self::Mul(operand) => (operand, false),
            Self::Relu | Self::Clip(..) => return Some(Read::Nothing),
        };
        let view = operand.of(given)?;
        let (numbers, channels) = (view.data()?, shape[1]);
        let mut spread = vec![1; shape.len()];
        spread[1] = channels;
        // Axes are counted from the last one, and those that are missing have one entry.
        let missing = shape.len().checked_sub(view.shape().len())?;
        let full: Vec<usize> =
            std::iter::repeat_n(1, missing).chain(view.shape().iter().copied()).collect();
        match numbers {
            [number] if !is_bias => Some(Read::Scalar(vec![*number; channels])),
            _ if view.shape() == shape => Some(Read::Entries(numbers)),
            _ if full == spread || (is_bias && view.shape() == [channels]) => {
                Some(Read::Channels(numbers))
            }
            _ => None,
        }
    }

    fn with<'a>(&self, read: &'a Read<'a>) -> After<'a> {
        let numbers = match read {
            Read::Entries(numbers) => Numbers::Entries(numbers),
            Read::Channels(numbers) => Numbers::Channels(numbers),
            Read::Scalar(numbers) => Numbers::Channels(numbers),
            Read::Nothing => Numbers::Channels(&[]),
        };
        match *self {
            Self::Mul(_) => After::Mul(numbers),
            Self::Bias(_) | Self::Add(_) => After::Add(numbers),
            Self::Relu => After::Relu,
            Self::Clip(low, high) => After::Clip(low, high),
        }
    }
}
