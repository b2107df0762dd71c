//! Reading a node that has no rule, so that it can stay as it is.

use taste_graph::{DType, Dim, Fact, Graph, Id};
use taste_onnx::{
    ElemType,
    proto::{NodeProto, ValueInfoProto, tensor_shape_proto::dimension, type_proto},
};

use super::norm;
use crate::carry::Yield;

/// An integer attribute.
fn int(node: &NodeProto, name: &str) -> Option<i64> {
    node.attribute.iter().find(|a| a.name == name)?.i
}

fn text<'a>(node: &'a NodeProto, name: &str) -> Option<&'a [u8]> {
    node.attribute.iter().find(|a| a.name == name)?.s.as_deref()
}

/// The results of operators whose shapes follow from their arguments.
pub(super) fn by_rule(graph: &Graph, node: &NodeProto, args: &[Option<Id>]) -> Option<Vec<Yield>> {
    let first = graph.fact((*args.first()?)?);
    match (norm(&node.domain), node.op_type.as_str()) {
        ("", "LSTM" | "GRU" | "RNN") => recurrent(node, first),
        ("", "TfIdfVectorizer") => {
            let indexes = &node.attribute.iter().find(|a| a.name == "ngram_indexes")?.ints;
            let width = usize::try_from(indexes.iter().max()?.checked_add(1)?).ok()?;
            let rows = if first.rank() == 2 { vec![first.shape[0]] } else { vec![] };
            let shape = rows.into_iter().chain([Dim::from(width)]).collect();
            Some(vec![Yield { place: 0, fact: Fact::float(shape), elem: ElemType::F32 }])
        }
        ("ai.onnx.ml", "SVMClassifier") => {
            let per_class = node.attribute.iter().find(|a| a.name == "vectors_per_class")?;
            let (rows, classes) = (*first.shape.first()?, Dim::from(per_class.ints.len()));
            let label = Fact { dtype: DType::Int, shape: vec![rows] };
            let scores = Fact::float(vec![rows, classes]);
            let int = Yield { place: 0, fact: label, elem: ElemType::I64 };
            Some(vec![int, Yield { place: 1, fact: scores, elem: ElemType::F32 }])
        }
        _ => None,
    }
}

/// Every state and the last ones: of x in the order of time, samples, features, or of samples, time, features.
fn recurrent(node: &NodeProto, x: &Fact) -> Option<Vec<Yield>> {
    let &[first, second, _] = &x.shape[..] else { return None };
    let hidden = Dim::from(usize::try_from(int(node, "hidden_size")?).ok()?);
    let ways = if text(node, "direction") == Some(b"bidirectional") { 2 } else { 1 };
    let ways = Dim::from(ways);
    let (all, last) = if int(node, "layout").unwrap_or(0) == 0 {
        (vec![first, ways, second, hidden], vec![ways, second, hidden])
    } else {
        (vec![first, second, ways, hidden], vec![first, ways, hidden])
    };
    let shapes = [all, last.clone(), last];
    let floats = shapes.into_iter().enumerate().take(node.output.len());
    let of = |(place, shape)| Yield { place, fact: Fact::float(shape), elem: ElemType::F32 };
    Some(floats.map(of).collect())
}

/// A result as the file declares it. The first axis counts samples if its size is open or that of the inputs.
pub(super) fn declared(
    info: &ValueInfoProto,
    place: usize,
    exported: Option<i64>,
    rows: Dim,
) -> Option<Yield> {
    let Some(type_proto::Value::TensorType(tensor)) = &info.r#type.as_ref()?.value else {
        return None;
    };
    let elem = ElemType::from_code(tensor.elem_type)?;
    let dtype = match elem {
        ElemType::String => return None,
        ElemType::F32 | ElemType::F64 | ElemType::F16 | ElemType::Bf16 => DType::Float,
        ElemType::Bool => DType::Bool,
        _ => DType::Int,
    };
    let mut shape = Vec::new();
    for (axis, dim) in tensor.shape.as_ref()?.dim.iter().enumerate() {
        shape.push(match &dim.value {
            Some(dimension::Value::DimValue(size)) if axis == 0 && Some(*size) == exported => rows,
            Some(dimension::Value::DimValue(size)) if *size >= 0 => {
                Dim { per_batch: 0, fixed: *size }
            }
            _ if axis == 0 => rows,
            _ => return None,
        });
    }
    Some(Yield { place, fact: Fact { dtype, shape }, elem })
}
