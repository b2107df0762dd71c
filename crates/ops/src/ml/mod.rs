//! Operators of classical models, from the domain ai.onnx.ml.

pub(crate) mod columns;
pub(crate) mod encode;
pub(crate) mod linear;
pub(crate) mod svm;
pub(crate) mod trees;

use ndarray::{ArrayD, IxDyn};
use taste_graph::{Build, DType, Dim, Id, OpError, Tensor};
use taste_onnx::builders;

use crate::{
    Entry, Reader, Sample,
    arg::ArgExtreme,
    cast::Cast,
    gather::GatherNd,
    pointwise::{SIGMOID, Unary},
    reduce::Extreme,
    softmax::Softmax,
};

/// The features of samples: a matrix of floats, and how many columns it has.
fn features(r: &mut Reader<'_, '_>) -> Result<(Id, usize), OpError> {
    let [x] = r.take()?;
    let x = match r.fact(x).dtype {
        DType::Float => x,
        _ => r.b.push(Cast { to: DType::Float }, &[x])?,
    };
    match r.rank(x) {
        1 => {
            let size = r.fixed_size(x, 0)?;
            Ok((r.b.reshape(x, &[Dim::from(1), Dim::from(size)])?, size))
        }
        2 => Ok((x, r.fixed_size(x, 1)?)),
        rank => Err(OpError::shape("a matrix of features", "rank 2", rank)),
    }
}

/// A constant row.
fn vector(r: &mut Reader<'_, '_>, values: Vec<f64>) -> Id {
    let shape = IxDyn(&[values.len()]);
    r.b.graph_mut().constant(ArrayD::from_shape_vec(shape, values).unwrap_or_default().into())
}

/// What is done to scores at the end.
fn transform(r: &mut Reader<'_, '_>, scores: Id, name: &str) -> Result<Id, OpError> {
    match name {
        "NONE" => Ok(scores),
        "LOGISTIC" => r.b.push(Unary(&SIGMOID), &[scores]),
        "SOFTMAX" => r.b.push(Softmax { axis: 1, log: false }, &[scores]),
        _ => Err(OpError::unsupported("post_transform", name)),
    }
}

/// The class with the largest score, by its number; classes that have names go by their place.
fn label_of(r: &mut Reader<'_, '_>, scores: Id, labels: Option<&[i64]>) -> Result<Id, OpError> {
    let batch = r.fact(scores).shape[0];
    let classes = r.fixed_size(scores, 1)?;
    let best = ArgExtreme { axis: 1, extreme: Extreme::Max, last: false };
    let place = r.b.push(best, &[scores])?;
    let label = match labels.filter(|l| !l.is_empty()) {
        None => place,
        Some(labels) if labels.len() == classes => {
            let labels = r.b.graph_mut().constant(Tensor::ints(labels));
            r.b.push(GatherNd { lead: 0 }, &[labels, place])?
        }
        Some(labels) => return Err(OpError::shape("labels", classes, labels.len())),
    };
    r.b.reshape(label, &[batch])
}

/// Rows of a table at places that are computed.
fn pick(b: &mut Build<'_>, table: Id, places: Id) -> Result<Id, OpError> {
    let mut shape = b.fact(places).shape.clone();
    shape.push(Dim::from(1));
    let places = b.reshape(places, &shape)?;
    b.push(GatherNd { lead: 0 }, &[table, places])
}

fn floats(sample: Sample, name: &str, values: &[f32]) -> Sample {
    sample.attribute(builders::attr_floats(name, values))
}

const fn entry(
    name: &'static str,
    read: fn(&mut Reader<'_, '_>) -> Result<Vec<Id>, OpError>,
    samples: fn() -> Vec<Sample>,
) -> Entry {
    Entry { name, domain: "ai.onnx.ml", read, samples }
}
