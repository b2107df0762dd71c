//! Short ways to build messages.
//!
//! Nothing is checked here: a tensor whose data does not fit its shape is reported when it is decoded.

use crate::elem::ElemType;
use crate::proto::tensor_shape_proto::{Dimension, dimension};
use crate::proto::{
    AttributeProto, AttributeType, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    TensorProto, TensorShapeProto, TypeProto, ValueInfoProto, type_proto,
};
use crate::tensor::{TensorData, Values};

/// One dimension of a declared shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DimSpec {
    /// A size.
    Fixed(i64),
    /// A name for a size that is known at run time only; empty if it has no name either.
    Symbol(String),
}

/// Format version that goes with the operator sets up to 20 and is read by every current engine.
const IR_VERSION: i64 = 9;

/// A model of one graph, written in the given version of the standard operators.
#[must_use]
pub fn model(graph: GraphProto, opset: i64) -> ModelProto {
    ModelProto {
        ir_version: IR_VERSION,
        producer_name: "taste".to_owned(),
        producer_version: env!("CARGO_PKG_VERSION").to_owned(),
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: opset }],
        ..Default::default()
    }
}

/// A node of a standard operator.
#[must_use]
pub fn node<S: AsRef<str>>(op_type: &str, inputs: &[S], outputs: &[S], name: &str) -> NodeProto {
    let owned = |names: &[S]| names.iter().map(|name| name.as_ref().to_owned()).collect();
    NodeProto {
        op_type: op_type.to_owned(),
        input: owned(inputs),
        output: owned(outputs),
        name: name.to_owned(),
        ..Default::default()
    }
}

/// Name, element type and shape of an input, an output or a value in between.
#[must_use]
pub fn value_info(name: &str, elem_type: ElemType, dims: &[DimSpec]) -> ValueInfoProto {
    let shape = TensorShapeProto { dim: dims.iter().map(dimension_of).collect() };
    let tensor = type_proto::Tensor { elem_type: elem_type.code(), shape: Some(shape) };
    let value = Some(type_proto::Value::TensorType(tensor));
    ValueInfoProto {
        name: name.to_owned(),
        r#type: Some(TypeProto { value, ..Default::default() }),
        ..Default::default()
    }
}

fn dimension_of(spec: &DimSpec) -> Dimension {
    let value = match spec {
        DimSpec::Fixed(size) => Some(dimension::Value::DimValue(*size)),
        DimSpec::Symbol(name) if name.is_empty() => None,
        DimSpec::Symbol(name) => Some(dimension::Value::DimParam(name.clone())),
    };
    Dimension { value, ..Default::default() }
}

/// A tensor of `float32`.
#[must_use]
pub fn tensor_f32(name: &str, dims: &[usize], values: &[f32]) -> TensorProto {
    tensor(name, dims, Values::F32(values.to_vec()))
}

/// A tensor of `float64`.
#[must_use]
pub fn tensor_f64(name: &str, dims: &[usize], values: &[f64]) -> TensorProto {
    tensor(name, dims, Values::F64(values.to_vec()))
}

/// A tensor of `int64`.
#[must_use]
pub fn tensor_i64(name: &str, dims: &[usize], values: &[i64]) -> TensorProto {
    tensor(name, dims, Values::I64(values.to_vec()))
}

/// A tensor of `bool`.
#[must_use]
pub fn tensor_bool(name: &str, dims: &[usize], values: &[bool]) -> TensorProto {
    tensor(name, dims, Values::Bool(values.to_vec()))
}

/// A tensor of any element type.
#[must_use]
pub fn tensor(name: &str, dims: &[usize], values: Values) -> TensorProto {
    TensorData { dims: dims.to_vec(), values }.to_proto(name)
}

/// An attribute that holds an integer.
#[must_use]
pub fn attr_int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: Some(value), ..attribute(name, AttributeType::Int) }
}

/// An attribute that holds several integers.
#[must_use]
pub fn attr_ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto { ints: values.to_vec(), ..attribute(name, AttributeType::Ints) }
}

/// An attribute that holds a float.
#[must_use]
pub fn attr_float(name: &str, value: f32) -> AttributeProto {
    AttributeProto { f: Some(value), ..attribute(name, AttributeType::Float) }
}

/// An attribute that holds several floats.
#[must_use]
pub fn attr_floats(name: &str, values: &[f32]) -> AttributeProto {
    AttributeProto { floats: values.to_vec(), ..attribute(name, AttributeType::Floats) }
}

/// An attribute that holds a string.
#[must_use]
pub fn attr_string(name: &str, value: &str) -> AttributeProto {
    AttributeProto { s: Some(value.into()), ..attribute(name, AttributeType::String) }
}

/// An attribute that holds several strings.
#[must_use]
pub fn attr_strings(name: &str, values: &[Vec<u8>]) -> AttributeProto {
    AttributeProto { strings: values.to_vec(), ..attribute(name, AttributeType::Strings) }
}

/// An attribute that holds a tensor.
#[must_use]
pub fn attr_tensor(name: &str, value: TensorProto) -> AttributeProto {
    AttributeProto { t: Some(Box::new(value)), ..attribute(name, AttributeType::Tensor) }
}

/// An attribute that holds a graph.
#[must_use]
pub fn attr_graph(name: &str, value: GraphProto) -> AttributeProto {
    AttributeProto { g: Some(Box::new(value)), ..attribute(name, AttributeType::Graph) }
}

fn attribute(name: &str, kind: AttributeType) -> AttributeProto {
    AttributeProto { name: name.to_owned(), r#type: kind.into(), ..Default::default() }
}
