//! Nodes with arguments, for the contract test.

use ndarray::{ArrayD, IxDyn};
use taste_graph::{DType, Tensor};
use taste_onnx::{
    DimSpec, ElemType, Model, builders,
    proto::{AttributeProto, GraphProto, OperatorSetIdProto, TensorProto},
};

use crate::Entry;

/// An argument of a sample.
#[derive(Clone, Debug)]
pub enum Argument {
    /// Fed when the graph runs; derivatives are taken with respect to it if it is a float.
    Active(Tensor),
    /// A constant of the file.
    Fixed(Tensor),
    /// Left out.
    Omitted,
}

/// A node with arguments.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What is special about it.
    pub title: String,
    /// The node's attributes.
    pub attributes: Vec<AttributeProto>,
    /// The arguments.
    pub arguments: Vec<Argument>,
    /// How many results the node names.
    pub results: usize,
    /// The operator set that the node is written in.
    pub opset: i64,
    /// Whether the first axis of every active argument is a batch, so that N may be left open.
    pub batched: bool,
    seed: u64,
}

impl Sample {
    /// A node without attributes or arguments.
    pub fn new(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            attributes: Vec::new(),
            arguments: Vec::new(),
            results: 1,
            opset: taste_graph::OPSET,
            batched: false,
            seed: 0,
        }
    }

    fn add(mut self, argument: Argument) -> Self {
        self.arguments.push(argument);
        self
    }

    fn random(&mut self, shape: &[usize], low: f64, high: f64) -> Tensor {
        // A linear congruential generator: samples are the same on every machine.
        let mut next = || {
            self.seed = self
                .seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.seed >> 11) as f64 / (1u64 << 53) as f64
        };
        next();
        ArrayD::from_shape_simple_fn(IxDyn(shape), || low + (high - low) * next()).into()
    }

    /// An active argument with elements between −1 and 1.
    #[must_use]
    pub fn active(self, shape: &[usize]) -> Self {
        self.active_in(shape, -1.0, 1.0)
    }

    /// An active argument with elements in a range.
    #[must_use]
    pub fn active_in(mut self, shape: &[usize], low: f64, high: f64) -> Self {
        let tensor = self.random(shape, low, high);
        self.add(Argument::Active(tensor))
    }

    /// A constant argument with elements between −1 and 1.
    #[must_use]
    pub fn fixed(self, shape: &[usize]) -> Self {
        self.fixed_in(shape, -1.0, 1.0)
    }

    /// A constant argument with elements in a range.
    #[must_use]
    pub fn fixed_in(mut self, shape: &[usize], low: f64, high: f64) -> Self {
        let tensor = self.random(shape, low, high);
        self.add(Argument::Fixed(tensor))
    }

    /// A constant argument.
    #[must_use]
    pub fn constant(self, tensor: Tensor) -> Self {
        self.add(Argument::Fixed(tensor))
    }

    /// A constant vector of integers.
    #[must_use]
    pub fn ints(self, values: &[i64]) -> Self {
        self.add(Argument::Fixed(Tensor::ints(values)))
    }

    /// An argument that is fed but is no float, or that has elements of its own.
    #[must_use]
    pub fn fed(self, tensor: Tensor) -> Self {
        self.add(Argument::Active(tensor))
    }

    /// An optional argument that is left out.
    #[must_use]
    pub fn omitted(self) -> Self {
        self.add(Argument::Omitted)
    }

    /// An integer attribute.
    #[must_use]
    pub fn int(self, name: &str, value: i64) -> Self {
        self.attribute(builders::attr_int(name, value))
    }

    /// A list of integers.
    #[must_use]
    pub fn int_list(self, name: &str, values: &[i64]) -> Self {
        self.attribute(builders::attr_ints(name, values))
    }

    /// A float attribute.
    #[must_use]
    pub fn float(self, name: &str, value: f32) -> Self {
        self.attribute(builders::attr_float(name, value))
    }

    /// A string attribute.
    #[must_use]
    pub fn string(self, name: &str, value: &str) -> Self {
        self.attribute(builders::attr_string(name, value))
    }

    /// An attribute.
    #[must_use]
    pub fn attribute(mut self, attribute: AttributeProto) -> Self {
        self.attributes.push(attribute);
        self
    }

    /// How many results the node names.
    #[must_use]
    pub fn results(mut self, results: usize) -> Self {
        self.results = results;
        self
    }

    /// The operator set that the node is written in.
    #[must_use]
    pub fn opset(mut self, opset: i64) -> Self {
        self.opset = opset;
        self
    }

    /// Declares the first axis of active arguments to be a batch.
    #[must_use]
    pub fn batched(mut self) -> Self {
        self.batched = true;
        self
    }

    /// The sample as a model of one node: active arguments are its inputs, and their first size has a name if
    /// the batch is left open.
    pub fn model(&self, entry: &Entry, open_batch: bool) -> Model {
        let mut proto = GraphProto { name: "sample".into(), ..Default::default() };
        let mut names = Vec::new();
        for (i, argument) in self.arguments.iter().enumerate() {
            let name = format!("x{i}");
            match argument {
                Argument::Omitted => {
                    names.push(String::new());
                    continue;
                }
                Argument::Fixed(tensor) => proto.initializer.push(to_proto(&name, tensor)),
                Argument::Active(tensor) => {
                    let mut dims: Vec<DimSpec> =
                        tensor.shape().iter().map(|&d| DimSpec::Fixed(d as i64)).collect();
                    if let Some(first) = dims.first_mut().filter(|_| open_batch) {
                        *first = DimSpec::Symbol("N".into());
                    }
                    proto.input.push(builders::value_info(&name, elem_type(tensor), &dims));
                }
            }
            names.push(name);
        }
        let outs: Vec<String> = (0..self.results).map(|i| format!("y{i}")).collect();
        let mut node = builders::node(entry.name, &names, &outs, "node");
        entry.domain.clone_into(&mut node.domain);
        node.attribute.clone_from(&self.attributes);
        proto.node.push(node);
        proto.output =
            outs.iter().map(|out| builders::value_info(out, ElemType::F64, &[])).collect();
        let mut model = builders::model(proto, self.opset);
        if !entry.domain.is_empty() {
            let domain = entry.domain.to_owned();
            model.opset_import.push(OperatorSetIdProto { domain, version: 1 });
        }
        Model::new(model)
    }

    /// What the inputs of the model are fed with.
    pub fn feeds(&self) -> impl Iterator<Item = (String, &Tensor)> {
        self.arguments.iter().enumerate().filter_map(|(i, argument)| match argument {
            Argument::Active(tensor) => Some((format!("x{i}"), tensor)),
            _ => None,
        })
    }
}

fn elem_type(tensor: &Tensor) -> ElemType {
    match tensor.dtype() {
        DType::Float => ElemType::F64,
        DType::Int => ElemType::I64,
        DType::Bool => ElemType::Bool,
    }
}

fn to_proto(name: &str, tensor: &Tensor) -> TensorProto {
    let dims = tensor.shape();
    match tensor {
        Tensor::Float(a) => {
            builders::tensor_f64(name, dims, &a.iter().copied().collect::<Vec<_>>())
        }
        Tensor::Int(a) => builders::tensor_i64(name, dims, &a.iter().copied().collect::<Vec<_>>()),
        Tensor::Bool(a) => {
            builders::tensor_bool(name, dims, &a.iter().copied().collect::<Vec<_>>())
        }
    }
}
