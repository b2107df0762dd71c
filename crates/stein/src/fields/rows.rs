//! Samples as rows of a matrix, in data and in graphs.

use ndarray::{Array2, Axis};
use taste_data::Chunk;
use taste_graph::{Build, Dim, Id, Tensor};

use taste_detector::refused;

use crate::Error;

/// The samples of a chunk with finite entries as rows, and how many had others.
pub(super) fn finite(chunk: &Chunk, dimension: usize) -> (Array2<f64>, usize) {
    let mut values = Vec::with_capacity(chunk.values.len());
    for sample in chunk.values.axis_iter(Axis(0)) {
        if sample.iter().all(|v| v.is_finite()) {
            values.extend(sample.iter().map(|&v| f64::from(v)));
        }
    }
    let rows = values.len().checked_div(dimension).unwrap_or(0);
    let matrix = Array2::from_shape_vec((rows, dimension), values);
    (matrix.expect("rows of the sample's width"), chunk.len() - rows)
}

/// Values N × … as rows N × D, if they have as many entries as the model was fitted to.
pub(super) fn flat(b: &mut Build<'_>, y: Id, dimension: usize) -> Result<Id, Error> {
    let shape = b.fact(y).shape.clone();
    let entries: Option<i64> = shape.iter().skip(1).map(|d| d.as_fixed()).product();
    if shape.is_empty() || entries != i64::try_from(dimension).ok() {
        return Err(refused(format!(
            "the score model was fitted to samples of {dimension} entries, got {}",
            b.fact(y)
        )));
    }
    Ok(b.reshape(y, &[shape[0], Dim::from(dimension)])?)
}

/// Rows in the shape of the samples they came from.
pub(super) fn like(b: &mut Build<'_>, rows: Id, y: Id) -> Result<Id, Error> {
    let shape = b.fact(y).shape.clone();
    Ok(b.reshape(rows, &shape)?)
}

/// Fitted numbers as a constant, if single precision can hold them.
pub(super) fn parameter(b: &mut Build<'_>, shape: &[usize], values: Vec<f64>) -> Result<Id, Error> {
    if values.iter().any(|v| v.abs() > f64::from(f32::MAX) || v.is_nan()) {
        return Err(refused(
            "the score model's numbers leave the range of single precision: some entries of the samples vary \
             too little or too much, so bring them to a common scale",
        ));
    }
    Ok(b.graph_mut().stored(Tensor::floats(shape, values)?))
}
