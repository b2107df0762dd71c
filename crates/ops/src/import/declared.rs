//! Kinds and sizes of values that a file declares or holds.

use ndarray::{ArrayD, IxDyn};
use taste_graph::{DType, Dim, Fact, OpError, Tensor};
use taste_onnx::{
    ElemType, Model, Values,
    proto::{TensorProto, ValueInfoProto, tensor_shape_proto::dimension, type_proto},
};

use super::error::{ImportError, shown};

/// No value of a network has more elements for one sample, and no network more weights.
pub(super) const ELEMENT_LIMIT: usize = 1 << 31;
/// The same for the other axes of a tensor with an axis of size 0.
const EMPTY_LIMIT: usize = 1 << 24;
/// No value of a network has more axes.
pub(crate) const AXIS_LIMIT: usize = 64;

/// Fails if a value is larger than any network's.
pub(super) fn check_size(fact: &Fact) -> Result<(), OpError> {
    // Axes of size 0 do not excuse the others: loops over those would do nothing, for long.
    let sizes = fact.at(1).shape;
    let most = if sizes.contains(&0) { EMPTY_LIMIT } else { ELEMENT_LIMIT };
    let count = sizes.iter().filter(|d| **d > 0).fold(1usize, |n, &d| n.saturating_mul(d));
    if fact.rank() > AXIS_LIMIT {
        return Err(OpError::unsupported("a tensor with this many axes", fact.rank()));
    }
    if count > most {
        return Err(OpError::invalid(format!(
            "its shape {} is absurd: more than {most} elements for one sample",
            shown(&fact.to_string())
        )));
    }
    Ok(())
}

/// The sizes that an input or output declares, where it does: nothing stands for an open size.
pub fn declared_shape(info: &ValueInfoProto) -> Option<Vec<Option<usize>>> {
    let Some(type_proto::Value::TensorType(tensor)) = &info.r#type.as_ref()?.value else {
        return None;
    };
    let size = |d: &dimension::Value| match d {
        dimension::Value::DimValue(size) => usize::try_from(*size).ok(),
        dimension::Value::DimParam(_) => None,
    };
    Some(tensor.shape.as_ref()?.dim.iter().map(|d| d.value.as_ref().and_then(size)).collect())
}

/// Whether an input or output declares a tensor of floats, or a list of maps to floats: the probabilities of
/// classes by name.
pub fn declares_floats(info: &ValueInfoProto) -> bool {
    let mut declared = info.r#type.as_ref();
    while let Some(value) = declared.and_then(|t| t.value.as_ref()) {
        declared = match value {
            type_proto::Value::TensorType(t) => {
                return matches!(
                    ElemType::from_code(t.elem_type),
                    Some(ElemType::F32 | ElemType::F64 | ElemType::F16 | ElemType::Bf16)
                );
            }
            type_proto::Value::SequenceType(of) => of.elem_type.as_deref(),
            type_proto::Value::MapType(of) => of.value_type.as_deref(),
            _ => None,
        };
    }
    false
}

/// Element type and shape of an input, with the shape that is given in place of the declared one.
pub(super) fn input_fact(
    info: &ValueInfoProto,
    given: Option<&Vec<Dim>>,
) -> Result<Fact, ImportError> {
    let name = shown(&info.name);
    let value = info.r#type.as_ref().and_then(|t| t.value.as_ref());
    let Some(type_proto::Value::TensorType(tensor)) = value else {
        return Err(ImportError::Model(format!("input {name:?} is not a tensor")));
    };
    let dtype = match ElemType::from_code(tensor.elem_type) {
        Some(ElemType::F32 | ElemType::F64 | ElemType::F16 | ElemType::Bf16) => DType::Float,
        Some(ElemType::Bool) => DType::Bool,
        Some(ElemType::String) | None => {
            return Err(ImportError::Model(format!("input {name:?} has no numeric element type")));
        }
        Some(_) => DType::Int,
    };
    let sized = |fact: Fact| match check_size(&fact) {
        Ok(()) => Ok(fact),
        Err(cause) => Err(ImportError::Model(format!("input {name:?}: {cause}"))),
    };
    if let Some(shape) = given {
        return sized(Fact { dtype, shape: shape.clone() });
    }
    let Some(shape) = &tensor.shape else {
        return Err(ImportError::Model(format!("input {name:?} declares no shape: give one")));
    };
    let mut dims = Vec::with_capacity(shape.dim.len());
    for (axis, dim) in shape.dim.iter().enumerate() {
        dims.push(match &dim.value {
            Some(dimension::Value::DimValue(size)) if *size >= 0 => {
                Dim { per_batch: 0, fixed: *size }
            }
            _ if axis == 0 => Dim::BATCH,
            _ => {
                return Err(ImportError::Model(format!(
                    "input {name:?} leaves the size of axis {axis} open: give its shape"
                )));
            }
        });
    }
    sized(Fact { dtype, shape: dims })
}

/// A tensor of a file, with floats as doubles and integers as 64-bit ones.
pub fn decode(model: &Model, tensor: &TensorProto) -> Result<Tensor, OpError> {
    let data = model.tensor(tensor).map_err(|e| OpError::invalid(e.to_string()))?;
    let shape = IxDyn(&data.dims);
    let misfit =
        |e: ndarray::ShapeError| OpError::invalid(format!("tensor {:?}: {e}", tensor.name));
    macro_rules! wrap {
        ($values:expr, $convert:expr) => {
            ArrayD::from_shape_vec(shape, $values.into_iter().map($convert).collect())
                .map(Tensor::from)
                .map_err(misfit)
        };
    }
    match data.values {
        Values::F32(v) => wrap!(v, f64::from),
        Values::F64(v) => wrap!(v, |x: f64| x),
        Values::F16(v) => wrap!(v, f64::from),
        Values::Bf16(v) => wrap!(v, f64::from),
        Values::I8(v) => wrap!(v, i64::from),
        Values::U8(v) => wrap!(v, i64::from),
        Values::I16(v) => wrap!(v, i64::from),
        Values::U16(v) => wrap!(v, i64::from),
        Values::I32(v) => wrap!(v, i64::from),
        Values::U32(v) => wrap!(v, i64::from),
        Values::I64(v) => wrap!(v, |x: i64| x),
        Values::U64(v) => wrap!(v, |x: u64| x.cast_signed()),
        Values::Bool(v) => wrap!(v, |x: bool| x),
        other => Err(OpError::unsupported("a tensor of", other.elem_type())),
    }
}
