//! What a file declares of its inputs, outputs and tensors.

use ndarray::{ArrayD, IxDyn};
use taste_graph::{DType, Dim, Fact, OpError, Tensor};
use taste_onnx::{
    ElemType, Model, Values,
    proto::{TensorProto, ValueInfoProto, tensor_shape_proto::dimension, type_proto},
};

use crate::{
    ImportError, Words,
    import::{check_size, shown},
};

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

/// Element type and shape of an input, in the shape given if there is one.
pub(crate) fn input_fact(
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
        None => return Err(ImportError::Model(format!("input {name:?} has no element type"))),
        // Words go in as their codes.
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
        return Err(ImportError::OpenShape { input: name, axis: None });
    };
    let mut dims = Vec::with_capacity(shape.dim.len());
    for (axis, dim) in shape.dim.iter().enumerate() {
        dims.push(match &dim.value {
            Some(dimension::Value::DimValue(size)) if *size >= 0 => {
                Dim { per_batch: 0, fixed: *size }
            }
            _ if axis == 0 => Dim::BATCH,
            _ => {
                return Err(ImportError::OpenShape { input: name, axis: Some(axis) });
            }
        });
    }
    sized(Fact { dtype, shape: dims })
}

/// Whether an input declares a tensor of strings.
pub(crate) fn declares_words(info: &ValueInfoProto) -> bool {
    let declared = info.r#type.as_ref().and_then(|t| t.value.as_ref());
    matches!(declared, Some(type_proto::Value::TensorType(t))
        if ElemType::from_code(t.elem_type) == Some(ElemType::String))
}

/// A tensor of a file, with words as their codes.
pub(crate) fn decode_words(
    model: &Model,
    tensor: &TensorProto,
    words: &mut Words,
) -> Result<Tensor, OpError> {
    if ElemType::from_code(tensor.data_type) != Some(ElemType::String) {
        return decode(model, tensor);
    }
    let data = model.tensor(tensor).map_err(|e| OpError::invalid(e.to_string()))?;
    let Values::String(strings) = data.values else {
        return Err(OpError::invalid("a tensor of strings holds none"));
    };
    let codes = strings.iter().map(|s| words.code(&String::from_utf8_lossy(s))).collect();
    ArrayD::from_shape_vec(IxDyn(&data.dims), codes)
        .map(Tensor::from)
        .map_err(|e| OpError::invalid(format!("tensor {:?}: {e}", tensor.name)))
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
