//! What stands before a model whose samples are rows of a table: one input for every column, whole numbers, words, missing
//! values. Behind it there is one matrix of floats, as everything else expects.

use std::collections::HashMap;

use taste_graph::{Build, DType, Dim, Fact, Graph, Id, OpError, Tensor};
use taste_ops::{Imported, functions};

use crate::{Error, error::request};

/// One of the inputs that samples are spread over, in the order of their entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The input's name.
    pub name: String,
    /// How many entries of a sample it takes.
    pub width: usize,
    /// Whether it takes whole numbers.
    pub is_whole: bool,
    /// The words whose places are its numbers, if it takes words.
    pub words: Option<Vec<String>>,
}

/// What stands before a model.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    /// The samples as one matrix, as they are fed.
    pub(crate) fed: Id,
    /// The samples as one matrix, missing values filled in.
    pub(crate) x: Id,
    pub(crate) parts: Vec<Part>,
    /// Whether missing values are filled in.
    pub(crate) fills: bool,
}

/// How many entries of a sample an input takes, if it takes one row.
fn width(fact: &Fact) -> Option<usize> {
    match fact.shape[..] {
        [_] => Some(1),
        [_, width] => usize::try_from(width.as_fixed()?).ok(),
        _ => None,
    }
}

/// Whether a model needs a front: several inputs, or numbers that are whole.
pub(crate) fn is_needed(imported: &Imported) -> bool {
    let whole = |i: &(String, Id)| imported.graph.fact(i.1).dtype != DType::Float;
    imported.inputs.len() > 1 || imported.inputs.iter().any(whole)
}

/// The inputs as parts of a sample.
fn parts(model: &str, imported: &Imported) -> Result<Vec<Part>, Error> {
    let Imported { graph, inputs, words, word_inputs, .. } = imported;
    let rows = inputs.first().and_then(|i| graph.fact(i.1).shape.first().copied());
    inputs
        .iter()
        .map(|(name, id)| {
            let fact = graph.fact(*id);
            let width = width(fact).filter(|_| fact.shape.first().copied() == rows);
            let width = width.ok_or_else(|| {
                request(format!(
                    "{model}: the model has {} inputs, and input {name:?} is {fact}: inputs can be joined where each \
                     takes one number or one row for every sample",
                    inputs.len()
                ))
            })?;
            Ok(Part {
                name: name.clone(),
                width,
                is_whole: fact.dtype != DType::Float,
                words: word_inputs.contains(name).then(|| words.list().to_vec()),
            })
        })
        .collect()
}

/// Puts a front before a model where it needs one: its inputs become one matrix, and what its imputers fill in is filled in
/// there.
pub(crate) fn put(model: &str, imported: Imported) -> Result<(Imported, Option<Front>), Error> {
    let rank = imported.inputs.first().map_or(0, |i| imported.graph.fact(i.1).rank());
    if !is_needed(&imported) && rank != 2 {
        return Ok((imported, None));
    }
    let parts = parts(model, &imported)?;
    let fill = filled(&imported, &parts);
    let fills = fill.iter().any(Option::is_some);
    if !is_needed(&imported) && !fills {
        return Ok((imported, None));
    }
    let mut graph = Graph::new();
    let inputs: Vec<(String, Id)> = imported
        .inputs
        .iter()
        .map(|(name, id)| (name.clone(), graph.input(name, imported.graph.fact(*id).clone())))
        .collect();
    let mut b = Build::new(&mut graph);
    let fed = joined(&mut b, &inputs, &parts)?;
    let x = if fills { replaced(&mut b, fed, &fill)? } else { fed };
    let own = split(&mut b, x, &imported, &parts)?;
    let bind: Vec<(Id, Id)> = imported.inputs.iter().map(|i| i.1).zip(own).collect();
    let ends: Vec<Id> = imported.outputs.iter().chain(&imported.values).map(|v| v.1).collect();
    let found = graph.absorb(&imported.graph, &bind, &ends)?;
    let (outputs, values) = found.split_at(imported.outputs.len());
    let again = |named: &[(String, Id)], ids: &[Id]| {
        named.iter().zip(ids).map(|((name, _), id)| (name.clone(), *id)).collect::<Vec<_>>()
    };
    let imported = Imported {
        outputs: again(&imported.outputs, outputs),
        values: again(&imported.values, values),
        graph,
        inputs,
        words: imported.words,
        word_inputs: imported.word_inputs,
    };
    Ok((imported, Some(Front { fed, x, parts, fills })))
}

/// The inputs side by side, as floats.
fn joined(b: &mut Build<'_>, inputs: &[(String, Id)], parts: &[Part]) -> Result<Id, OpError> {
    let mut columns = Vec::with_capacity(inputs.len());
    for ((_, id), part) in inputs.iter().zip(parts) {
        let shape = [b.fact(*id).shape[0], Dim::from(part.width)];
        let id = functions::cast(b, *id, DType::Float)?;
        columns.push(b.reshape(id, &shape)?);
    }
    match columns[..] {
        [single] => Ok(single),
        _ => functions::concat(b, &columns, 1),
    }
}

/// The entries of x as the inputs of the model.
fn split(
    b: &mut Build<'_>,
    x: Id,
    imported: &Imported,
    parts: &[Part],
) -> Result<Vec<Id>, OpError> {
    let mut start = 0;
    let mut own = Vec::with_capacity(parts.len());
    for ((_, id), part) in imported.inputs.iter().zip(parts) {
        let fact = imported.graph.fact(*id);
        let columns =
            if parts.len() == 1 { x } else { functions::slice(b, x, 1, start, part.width)? };
        start += part.width;
        let columns = functions::cast(b, columns, fact.dtype)?;
        own.push(b.reshape(columns, &fact.shape)?);
    }
    Ok(own)
}

/// x with numbers in place of missing values, where there are some for an entry.
fn replaced(b: &mut Build<'_>, x: Id, fill: &[Option<f64>]) -> Result<Id, OpError> {
    let values = fill.iter().map(|f| f.unwrap_or(f64::NAN)).collect();
    let values = b.graph_mut().constant(Tensor::floats(&[1, fill.len()], values)?);
    functions::where_missing(b, x, values)
}

/// What the model's own imputers put in place of missing values, for every entry of a sample that goes to one as it is. Found
/// by what reaches them when every entry holds its own number.
fn filled(imported: &Imported, parts: &[Part]) -> Vec<Option<f64>> {
    let graph = &imported.graph;
    let total: usize = parts.iter().map(|p| p.width).sum();
    let mut fill = vec![None; total];
    let numbered = |offset: usize| -> Option<HashMap<Id, Tensor>> {
        let mut next = offset;
        let mut feeds = HashMap::new();
        for ((_, id), part) in imported.inputs.iter().zip(parts) {
            let fact = graph.fact(*id).at(1);
            let numbers: Vec<f64> = (next..next + part.width).map(|n| n as f64).collect();
            next += part.width;
            let floats = Tensor::floats(&fact.shape, numbers).ok()?;
            feeds.insert(*id, functions::tensor_as(floats, fact.dtype)?);
        }
        Some(feeds)
    };
    for (value, constants) in functions::imputed(graph) {
        // Only entries that are moved about, not computed with, come out as their numbers.
        let at = |offset: usize| -> Option<Vec<f64>> {
            let found = graph.eval(&[value], &numbered(offset)?, 1).ok()?;
            Some(found[0].as_float().ok()?.iter().copied().collect())
        };
        let (Some(first), Some(second)) = (at(0), at(total)) else { continue };
        for (place, (a, b)) in first.iter().zip(&second).enumerate() {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
            let entry = a.max(0.0) as usize;
            let is = |x: f64, place: usize| (x - place as f64).abs() < 0.5;
            let moved = is(*a, entry) && is(*b, entry + total) && entry < total;
            let constant = constants.get(place % constants.len().max(1)).copied();
            if moved && constant.is_some_and(f64::is_finite) {
                fill[entry] = fill[entry].or(constant);
            }
        }
    }
    fill
}
