//! Categories and numbers, one for the other, and columns by their places.

use taste_graph::{DType, Dim, Id, OpError, Tensor};

use super::{entry, floats, pick};
use crate::{
    Entry, Reader, Sample,
    arg::ArgExtreme,
    cast::Cast,
    compare::{Compare, Logic, Test, Where},
    gather::GatherNd,
    reduce::{Extreme, ReduceExtreme},
};

/// x with one more axis, of size 1.
fn unsqueezed(r: &mut Reader<'_, '_>, x: Id) -> Result<Id, OpError> {
    let mut shape = r.fact(x).shape.clone();
    shape.push(Dim::from(1));
    r.b.reshape(x, &shape)
}

/// One column for each category, 1 where the sample has it. Floats are cut to whole numbers first.
fn read_one_hot(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let words = r.words("cats_strings");
    let ints = r.ints("cats_int64s").filter(|c| !c.is_empty());
    // Where runtimes are told to fail at unknown categories, there are zeros, too: other samples still have an answer.
    r.ignore("zeros");
    let categories = words.or(ints).ok_or_else(|| OpError::invalid("it has no categories"))?;
    let [x] = r.take()?;
    let x = match r.fact(x).dtype {
        DType::Int => x,
        _ => r.b.push(Cast { to: DType::Int }, &[x])?,
    };
    let x = unsqueezed(r, x)?;
    let categories = r.b.graph_mut().constant(Tensor::ints(&categories));
    let hits = r.b.push(Compare::Equal, &[x, categories])?;
    Ok(vec![r.b.push(Cast { to: DType::Float }, &[hits])?])
}

/// Keys or values of a dictionary, words as codes.
fn listed(r: &mut Reader<'_, '_>, names: [&'static str; 4]) -> Result<Option<Tensor>, OpError> {
    let [ints, floats, strings, tensor] = names;
    if let Some(values) = r.ints(ints).filter(|v| !v.is_empty()).or_else(|| r.words(strings)) {
        return Ok(Some(Tensor::ints(&values)));
    }
    let floats = r.weights(floats);
    if !floats.is_empty() {
        return Ok(Some(Tensor::floats(&[floats.len()], floats)?));
    }
    r.tensor_or_words(tensor)
}

/// The value of each element's key; a default where there is no such key.
fn read_label_encoder(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    if let Some(classes) = r.words("classes_strings") {
        return read_old_encoder(r, classes);
    }
    let keys = listed(r, ["keys_int64s", "keys_floats", "keys_strings", "keys_tensor"])?;
    let values = listed(r, ["values_int64s", "values_floats", "values_strings", "values_tensor"])?;
    let (Some(keys), Some(values)) = (keys, values) else {
        return Err(OpError::invalid("it has no keys and values"));
    };
    let words = r.has("values_strings");
    let (int, float) = (r.int_or("default_int64", -1), r.float_or("default_float", -0.0));
    let word = r.word_or("default_string", "_Unused");
    let default = match (r.tensor_or_words("default_tensor")?, &values) {
        (Some(tensor), _) => tensor,
        (None, Tensor::Float(_)) => Tensor::scalar(float),
        (None, _) => ndarray::arr0(if words { word } else { int }).into_dyn().into(),
    };
    look_up(r, keys, values, default)
}

/// The first version: words to numbers, or back.
fn read_old_encoder(r: &mut Reader<'_, '_>, classes: Vec<i64>) -> Result<Vec<Id>, OpError> {
    let places: Vec<i64> = (0..classes.len() as i64).collect();
    let int = r.int_or("default_int64", -1);
    let word = r.word_or("default_string", "_Unused");
    let (keys, values, default) =
        if r.is_words(0) { (classes, places, int) } else { (places, classes, word) };
    let default = ndarray::arr0(default).into_dyn().into();
    look_up(r, Tensor::ints(&keys), Tensor::ints(&values), default)
}

/// Values by key, whatever they are: they are picked, not multiplied with.
fn look_up(
    r: &mut Reader<'_, '_>,
    keys: Tensor,
    values: Tensor,
    default: Tensor,
) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    if keys.len() != values.len() || keys.is_empty() || default.len() != 1 {
        return Err(OpError::shape("as many values as keys", keys.len(), values.len()));
    }
    if r.fact(x).dtype != keys.dtype() {
        return Err(OpError::DType { want: keys.dtype(), got: r.fact(x).dtype });
    }
    let shape = r.fact(x).shape.clone();
    let nan = match &keys {
        Tensor::Float(a) if a.iter().any(|k| k.is_nan()) => Some(Tensor::from(a.mapv(f64::is_nan))),
        _ => None,
    };
    let x = unsqueezed(r, x)?;
    let keys = r.b.graph_mut().constant(keys);
    let mut hits = r.b.push(Compare::Equal, &[x, keys])?;
    if let Some(nan) = nan {
        let nan = r.b.graph_mut().constant(nan);
        let missing = r.b.push(Test::IsNaN, &[x])?;
        let both = r.b.push(Logic::And, &[missing, nan])?;
        hits = r.b.push(Logic::Or, &[hits, both])?;
    }
    let hits = r.b.push(Cast { to: DType::Float }, &[hits])?;
    let axis = shape.len();
    let place = r.b.push(ArgExtreme { axis, extreme: Extreme::Max, last: false }, &[hits])?;
    let any = ReduceExtreme { axes: vec![axis], extreme: Extreme::Max, frozen: true };
    let any = r.b.push(any, &[hits])?;
    let (place, any) = (r.b.reshape(place, &shape)?, r.b.reshape(any, &shape)?);
    let any = r.b.push(Cast { to: DType::Bool }, &[any])?;
    let values = r.b.graph_mut().constant(values);
    let found = pick(&mut r.b, values, place)?;
    let default = r.b.graph_mut().constant(default);
    let default = r.b.expand(default, &[])?;
    Ok(vec![r.b.push(Where, &[any, found, default])?])
}

/// Columns of the last axis at given places.
fn read_extractor(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, places] = r.take()?;
    let mut x = x;
    if r.rank(x) == 1 {
        let shape = [Dim::from(1), r.fact(x).shape[0]];
        x = r.b.reshape(x, &shape)?;
    }
    let axis = r.rank(x).checked_sub(1).ok_or_else(|| OpError::shape("an axis", 1, 0))?;
    let count = crate::shape::product(&r.fact(places).shape)
        .ok_or_else(|| OpError::unsupported("places", r.fact(places)))?;
    let places = r.b.reshape(places, &[count, Dim::from(1)])?;
    Ok(vec![r.b.push(GatherNd { lead: axis }, &[x, places])?])
}

/// Scores by class stay the matrix that they are.
fn read_zip_map(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    r.ignore("classlabels_int64s");
    r.ignore("classlabels_strings");
    Ok(vec![r.arg(0)?])
}

fn zip_map_samples() -> Vec<Sample> {
    vec![
        Sample::new("two classes")
            .active(&[2, 2])
            .int_list("classlabels_int64s", &[0, 1])
            .batched(),
    ]
}

fn one_hot_samples() -> Vec<Sample> {
    let ints = Tensor::from(ndarray::arr2(&[[4i64, 7], [9, 5]]).into_dyn());
    vec![
        Sample::new("integers").fed(ints).int_list("cats_int64s", &[4, 5, 7]).batched(),
        Sample::new("floats")
            .active_in(&[2, 3], 0.0, 3.0)
            .int_list("cats_int64s", &[0, 1])
            .batched(),
    ]
}

fn label_encoder_samples() -> Vec<Sample> {
    let ints = || Tensor::from(ndarray::arr2(&[[4i64, 7], [9, 5]]).into_dyn());
    let missing = ndarray::arr1(&[f64::NAN, 1.5, 2.0]).into_dyn();
    vec![
        floats(Sample::new("integers to floats").fed(ints()), "values_floats", &[0.5, f32::NAN])
            .int_list("keys_int64s", &[7, 3])
            .float("default_float", -2.0)
            .batched(),
        Sample::new("integers")
            .fed(ints())
            .int_list("keys_int64s", &[4, 5])
            .int_list("values_int64s", &[1, 2])
            .batched(),
        floats(
            floats(
                Sample::new("missing values").constant(missing.into()),
                "keys_floats",
                &[1.5, f32::NAN],
            ),
            "values_floats",
            &[1.0, 2.0],
        ),
    ]
}

fn extractor_samples() -> Vec<Sample> {
    vec![
        Sample::new("columns").active(&[2, 4]).ints(&[3, 0, 0]).batched(),
        Sample::new("a vector").active(&[4]).ints(&[2, 1]),
        Sample::new("three axes").active(&[2, 3, 4]).ints(&[1]).batched(),
        Sample::new("places that are computed")
            .fixed(&[1, 4])
            .fed(ndarray::arr2(&[[1i64, 3], [0, 2]]).into_dyn().into())
            .batched(),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    entry("ArrayFeatureExtractor", read_extractor, extractor_samples),
    entry("LabelEncoder", read_label_encoder, label_encoder_samples),
    entry("OneHotEncoder", read_one_hot, one_hot_samples),
    entry("ZipMap", read_zip_map, zip_map_samples),
];
