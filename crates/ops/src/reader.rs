//! What an operator sees of the ONNX node it is read from.

use std::collections::BTreeSet;

use taste_graph::{Build, DType, Dim, Fact, Id, OpError, Tensor};
use taste_onnx::{
    ElemType, Model,
    proto::{AttributeProto, GraphProto, NodeProto},
};

use crate::Words;

/// A node being read: its attributes, its arguments, and the graph that grows.
pub struct Reader<'a, 'g> {
    /// The graph that the node's results are built in.
    pub b: Build<'g>,
    /// The version of the operator set that the node is written in.
    pub opset: i64,
    node: &'a NodeProto,
    model: &'a Model,
    words: &'g mut Words,
    args: Vec<Option<Id>>,
    unread: BTreeSet<&'a str>,
}

impl<'a, 'g> Reader<'a, 'g> {
    /// A reader at the first attribute of a node.
    pub fn new(
        b: Build<'g>,
        words: &'g mut Words,
        (node, model): (&'a NodeProto, &'a Model),
        args: Vec<Option<Id>>,
        opset: i64,
    ) -> Self {
        let unread = node.attribute.iter().map(|a| a.name.as_str()).collect();
        Self { b, opset, node, model, words, args, unread }
    }

    /// Fails if the node has an attribute that nobody asked for.
    pub fn finish(&self) -> Result<(), OpError> {
        match self.unread.first() {
            Some(name) => Err(OpError::unsupported("attribute", name)),
            None => Ok(()),
        }
    }

    /// How many results the node names.
    pub fn results(&self) -> usize {
        self.node.output.len()
    }

    /// Whether result `i` is used by name.
    pub fn wants_result(&self, i: usize) -> bool {
        self.node.output.get(i).is_some_and(|name| !name.is_empty())
    }

    /// How many arguments the node has.
    pub fn arity(&self) -> usize {
        self.args.len()
    }

    /// Argument `i`.
    pub fn arg(&self, i: usize) -> Result<Id, OpError> {
        self.optional(i).ok_or(OpError::Arity { want: i + 1, got: self.args.len() })
    }

    /// Argument `i`, if it is there.
    pub fn optional(&self, i: usize) -> Option<Id> {
        self.args.get(i).copied().flatten()
    }

    /// The first `K` arguments, all of which are there.
    pub fn take<const K: usize>(&self) -> Result<[Id; K], OpError> {
        let mut ids = Vec::with_capacity(K);
        for i in 0..K {
            ids.push(self.arg(i)?);
        }
        ids.try_into().map_err(|_| OpError::Arity { want: K, got: self.args.len() })
    }

    /// Element type and shape of a value.
    pub fn fact(&self, id: Id) -> &Fact {
        self.b.fact(id)
    }

    /// The number of axes of a value.
    pub fn rank(&self, id: Id) -> usize {
        self.fact(id).rank()
    }

    /// The size of an axis that does not depend on the batch.
    pub fn fixed_size(&self, id: Id, axis: usize) -> Result<usize, OpError> {
        let shape = &self.fact(id).shape;
        let dim =
            shape.get(axis).ok_or_else(|| OpError::shape("an axis below", shape.len(), axis))?;
        dim.as_fixed()
            .and_then(|d| usize::try_from(d).ok())
            .ok_or_else(|| OpError::unsupported("an axis that depends on the batch", dim))
    }

    /// An axis counted from either end.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize, OpError> {
        let size = i64::try_from(rank).unwrap_or(i64::MAX);
        let at = if axis < 0 { axis.saturating_add(size) } else { axis };
        usize::try_from(at)
            .ok()
            .filter(|&a| a < rank)
            .ok_or_else(|| OpError::shape("an axis of a tensor of rank", rank, axis))
    }

    /// Integers that are known before the model runs, from argument `i`.
    pub fn known_ints(&self, i: usize) -> Result<Vec<Dim>, OpError> {
        let id = self.arg(i)?;
        if self.fact(id).dtype != DType::Int {
            return Err(OpError::DType { want: DType::Int, got: self.fact(id).dtype });
        }
        self.b.graph().known_ints(id).ok_or_else(|| {
            OpError::unsupported(
                "an input that is computed when the model runs",
                self.input_name(i),
            )
        })
    }

    /// Integers that are known and do not depend on the batch, from argument `i`.
    pub fn fixed_ints(&self, i: usize) -> Result<Vec<i64>, OpError> {
        self.known_ints(i)?
            .into_iter()
            .map(|d| {
                d.as_fixed()
                    .ok_or_else(|| OpError::unsupported("an input that depends on the batch", d))
            })
            .collect()
    }

    /// The constant in argument `i`.
    pub fn constant(&self, i: usize) -> Result<&Tensor, OpError> {
        let id = self.arg(i)?;
        self.b.graph().as_constant(id).ok_or_else(|| {
            OpError::unsupported(
                "an input that is computed when the model runs",
                self.input_name(i),
            )
        })
    }

    /// The element type of argument `i` in the file, if that is known: of a tensor, or of what a `Constant` holds.
    pub fn element(&self, i: usize) -> Option<ElemType> {
        let name = self.node.input.get(i)?;
        let graph = self.model.proto.graph.as_ref()?;
        let tensor = graph.initializer.iter().find(|t| t.name == *name).or_else(|| {
            let node = graph.node.iter().find(|n| n.output.first() == Some(name))?;
            node.attribute.iter().find(|a| a.name == "value")?.t.as_deref()
        });
        tensor.and_then(|t| ElemType::from_code(t.data_type))
    }

    fn input_name(&self, i: usize) -> &str {
        self.node.input.get(i).map_or("", String::as_str)
    }

    fn attribute(&mut self, name: &'a str) -> Option<&'a AttributeProto> {
        self.unread.remove(name);
        self.node.attribute.iter().find(|a| a.name == name)
    }

    /// Passes over an attribute that changes nothing in inference.
    pub fn ignore(&mut self, name: &'a str) {
        self.unread.remove(name);
    }

    /// An integer attribute, if it is there.
    pub fn int(&mut self, name: &'a str) -> Option<i64> {
        self.attribute(name).and_then(|a| a.i)
    }

    /// An integer attribute or its default.
    pub fn int_or(&mut self, name: &'a str, default: i64) -> i64 {
        self.int(name).unwrap_or(default)
    }

    /// A truth value, written as an integer, or its default.
    pub fn flag(&mut self, name: &'a str, default: bool) -> bool {
        self.int(name).map_or(default, |v| v != 0)
    }

    /// A float attribute or its default.
    pub fn float_or(&mut self, name: &'a str, default: f64) -> f64 {
        self.attribute(name).and_then(|a| a.f).map_or(default, decimal)
    }

    /// A list of integers, if it is there.
    pub fn ints(&mut self, name: &'a str) -> Option<Vec<i64>> {
        self.attribute(name).map(|a| a.ints.clone())
    }

    /// A list of sizes, if it is there; none may be below zero.
    pub fn sizes(&mut self, name: &'a str) -> Result<Option<Vec<usize>>, OpError> {
        self.ints(name).map(|v| to_sizes(&v)).transpose()
    }

    /// A list of floats, if it is there.
    pub fn floats(&mut self, name: &'a str) -> Option<Vec<f64>> {
        self.attribute(name).map(|a| a.floats.iter().map(|&f| decimal(f)).collect())
    }

    /// Weights that are kept as an attribute, with the very values of the file.
    pub fn weights(&mut self, name: &'a str) -> Vec<f64> {
        self.attribute(name)
            .map_or_else(Vec::new, |a| a.floats.iter().map(|&f| f64::from(f)).collect())
    }

    /// A string attribute or its default.
    pub fn string_or(&mut self, name: &'a str, default: &str) -> String {
        self.attribute(name)
            .and_then(|a| a.s.as_ref())
            .map_or_else(|| default.to_owned(), |s| String::from_utf8_lossy(s).into_owned())
    }

    /// A single weight that is kept as an attribute, with the very value of the file; 0 if it is not there.
    pub fn weight(&mut self, name: &'a str) -> f64 {
        self.attribute(name).and_then(|a| a.f).map_or(0.0, f64::from)
    }

    /// Whether the node has an attribute.
    pub fn has(&self, name: &str) -> bool {
        self.node.attribute.iter().any(|a| a.name == name)
    }

    /// A list of strings; empty if it is not there.
    pub fn strings(&mut self, name: &'a str) -> Vec<String> {
        let text = |s: &[u8]| String::from_utf8_lossy(s).into_owned();
        self.attribute(name).map_or_else(Vec::new, |a| a.strings.iter().map(|s| text(s)).collect())
    }

    /// The codes of a list of words, if there is one that is not empty.
    pub fn words(&mut self, name: &'a str) -> Option<Vec<i64>> {
        let words = self.strings(name);
        (!words.is_empty()).then(|| words.iter().map(|w| self.words.code(w)).collect())
    }

    /// The code of a word or of its default; that of an unknown word if neither is in the model's list.
    pub fn word_or(&mut self, name: &'a str, default: &str) -> i64 {
        let word = self.string_or(name, default);
        if self.has(name) { self.words.code(&word) } else { Words::UNKNOWN }
    }

    /// Whether argument `i` holds words.
    pub fn is_words(&self, i: usize) -> bool {
        self.optional(i).is_some_and(|id| self.words.holds(id))
    }

    /// A tensor attribute, if it is there, with words as their codes.
    pub fn tensor_or_words(&mut self, name: &'a str) -> Result<Option<Tensor>, OpError> {
        let Some(proto) = self.attribute(name).and_then(|a| a.t.as_ref()) else { return Ok(None) };
        crate::declare::decode_words(self.model, proto, self.words).map(Some)
    }

    /// A graph attribute, if it is there.
    pub fn graph(&mut self, name: &'a str) -> Option<&'a GraphProto> {
        self.attribute(name).and_then(|a| a.g.as_deref())
    }

    /// A tensor attribute, if it is there.
    pub fn tensor(&mut self, name: &'a str) -> Result<Option<Tensor>, OpError> {
        let Some(proto) = self.attribute(name).and_then(|a| a.t.as_ref()) else { return Ok(None) };
        crate::decode(self.model, proto).map(Some)
    }

    /// Axes from an attribute or, in later versions, from argument `i`; absent if neither is there.
    pub fn axes(&mut self, name: &'a str, i: usize) -> Result<Option<Vec<i64>>, OpError> {
        if let Some(axes) = self.ints(name) {
            return Ok(Some(axes));
        }
        self.optional(i).is_some().then(|| self.fixed_ints(i)).transpose()
    }
}

/// Integers as sizes.
pub(crate) fn to_sizes(values: &[i64]) -> Result<Vec<usize>, OpError> {
    values
        .iter()
        .map(|&v| usize::try_from(v).map_err(|_| OpError::shape("a size of at least", 0, v)))
        .collect()
}

/// The double that was meant: 1e-5, rather than the nearest single-precision number to it. Attributes
/// are written by hand, unlike weights.
fn decimal(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| f64::from(value))
}
