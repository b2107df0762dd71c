//! Columns of a table, each by itself: scaled, filled in, cut in two.

use ndarray::arr0;
use taste_graph::{DType, Dim, Id, OpError, Tensor, algebra::Concat};

use super::{entry, features, floats, vector};
use crate::{
    Entry, Reader, Sample,
    arithmetic::Div,
    cast::{Cast, cast},
    compare::{Compare, Test, Where},
    functions::softmax_argument,
    norm::LpNormalization,
    reduce::{Extreme, ReduceExtreme, magnitude},
};

/// (x − offset) · scale.
fn read_scaler(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let (mut y, count) = features(r)?;
    let (offset, scale) = (r.weights("offset"), r.weights("scale"));
    for values in [&offset, &scale] {
        if ![0, 1, count].contains(&values.len()) {
            return Err(OpError::shape("one number a feature", count, values.len()));
        }
    }
    if !offset.is_empty() {
        let offset = vector(r, offset);
        y = r.b.sub(y, offset)?;
    }
    if !scale.is_empty() {
        let scale = vector(r, scale);
        y = r.b.mul(y, scale)?;
    }
    Ok(vec![y])
}

/// x over a norm of its sample.
fn read_normalizer(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let (x, _) = features(r)?;
    let norm = r.string_or("norm", "MAX");
    Ok(vec![match norm.as_str() {
        // It sums to one already.
        "L1" if softmax_argument(r.b.graph(), x).is_some() => x,
        "L1" | "L2" => r.b.push(LpNormalization { axis: 1, euclidean: norm == "L2" }, &[x])?,
        "MAX" => {
            let sizes = magnitude(&mut r.b, x)?;
            let max = ReduceExtreme { axes: vec![1], extreme: Extreme::Max, frozen: false };
            let max = r.b.push(max, &[sizes])?;
            r.b.push(Div { fixed: false }, &[x, max])?
        }
        _ => return Err(OpError::unsupported("norm", norm)),
    }])
}

/// Values in place of those that are missing, or that stand for that.
fn read_imputer(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let (floats, ints) = (r.weights("imputed_value_floats"), r.ints("imputed_value_int64s"));
    let (missing, missing_int) =
        (r.weight("replaced_value_float"), r.int_or("replaced_value_int64", 0));
    let x = r.arg(0)?;
    let is_int = r.fact(x).dtype == DType::Int;
    let count = r.fixed_size(x, r.rank(x).saturating_sub(1))?;
    let given = if is_int { ints.as_ref().map_or(0, Vec::len) } else { floats.len() };
    if ![1, count].contains(&given) {
        return Err(OpError::shape("one value a feature", count, given));
    }
    let (mask, values) = if is_int {
        let missing = r.b.graph_mut().constant(arr0(missing_int).into_dyn().into());
        let values = Tensor::ints(&ints.unwrap_or_default());
        (r.b.push(Compare::Equal, &[x, missing])?, r.b.graph_mut().constant(values))
    } else if missing.is_nan() {
        (r.b.push(Test::IsNaN, &[x])?, vector(r, floats))
    } else {
        let missing = r.b.scalar(missing);
        (r.b.push(Compare::Equal, &[x, missing])?, vector(r, floats))
    };
    Ok(vec![r.b.push(Where, &[mask, values, x])?])
}

/// 1 above a threshold, 0 elsewhere.
fn read_binarizer(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let threshold = r.weight("threshold");
    let [x] = r.take()?;
    let threshold = r.b.scalar(threshold);
    let above = r.b.push(Compare::Greater, &[x, threshold])?;
    Ok(vec![r.b.push(Cast { to: DType::Float }, &[above])?])
}

/// Matrices side by side, as floats.
fn read_vectorizer(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    r.ignore("inputdimensions");
    let mut parts = Vec::with_capacity(r.arity());
    for i in 0..r.arity() {
        let x = r.arg(i)?;
        let x = cast(&mut r.b, x, DType::Float)?;
        let (shape, rank) = (r.fact(x).shape.clone(), r.rank(x));
        parts.push(if rank == 1 { r.b.reshape(x, &[shape[0], Dim::from(1)])? } else { x });
    }
    Ok(vec![r.b.push(Concat { axis: 1 }, &parts)?])
}

fn scaler_samples() -> Vec<Sample> {
    let of = |title: &str| Sample::new(title).active(&[2, 3]).batched();
    vec![
        floats(floats(of("by feature"), "offset", &[0.5, -1.0, 0.2]), "scale", &[2.0, 0.5, 3.0]),
        floats(floats(of("one for all"), "offset", &[0.5]), "scale", &[2.0]),
        floats(of("no offset"), "scale", &[2.0]),
    ]
}

fn normalizer_samples() -> Vec<Sample> {
    let mixed = Tensor::from(ndarray::arr2(&[[0.5, -0.7, -1.5], [2.0, -0.3, 1.2]]).into_dyn());
    let of = |norm: &str| Sample::new(norm).fed(mixed.clone()).string("norm", norm).batched();
    vec![of("L1"), of("L2"), of("MAX")]
}

fn imputer_samples() -> Vec<Sample> {
    let of = |title: &str| Sample::new(title).active(&[2, 3]).batched();
    let missing = ndarray::arr2(&[[f64::NAN, 0.5, 1.0], [2.0, f64::NAN, -1.0]]).into_dyn();
    vec![
        floats(of("by feature"), "imputed_value_floats", &[1.0, 2.0, 3.0])
            .float("replaced_value_float", f32::NAN),
        floats(
            Sample::new("missing values").constant(missing.into()),
            "imputed_value_floats",
            &[4.0],
        )
        .float("replaced_value_float", f32::NAN),
        floats(of("a value that stands for missing"), "imputed_value_floats", &[4.0])
            .float("replaced_value_float", -9.0),
        Sample::new("integers")
            .fed(ndarray::arr2(&[[3i64, 0], [0, 5]]).into_dyn().into())
            .int_list("imputed_value_int64s", &[7, 8])
            .int("replaced_value_int64", 0)
            .batched(),
    ]
}

fn binarizer_samples() -> Vec<Sample> {
    vec![Sample::new("a threshold").active(&[2, 3]).float("threshold", 0.1).batched()]
}

fn vectorizer_samples() -> Vec<Sample> {
    vec![
        Sample::new("two matrices")
            .active(&[2, 3])
            .active(&[2, 1])
            .int_list("inputdimensions", &[3, 1])
            .batched(),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    entry("Binarizer", read_binarizer, binarizer_samples),
    entry("FeatureVectorizer", read_vectorizer, vectorizer_samples),
    entry("Imputer", read_imputer, imputer_samples),
    entry("Normalizer", read_normalizer, normalizer_samples),
    entry("Scaler", read_scaler, scaler_samples),
];
