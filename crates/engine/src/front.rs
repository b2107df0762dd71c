//! What stands before a model whose samples are rows of a table: one input for every column, whole numbers, words, missing
//! values, ids that the model does not know. Behind it there is one matrix of floats, as everything else expects.

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
    /// Whether entries may be missing.
    pub(crate) may_miss: bool,
    /// Where entries are missing that the model itself takes as such, and which entries can be.
    pub(crate) missing: Option<(Id, Vec<bool>)>,
    /// Which entries of a sample are ids that the model may not know, and are missing then.
    pub(crate) ids: Vec<bool>,
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

/// Why samples can't be rows that are spread over the inputs.
pub(crate) fn no_row(model: &str, input: &str, shape: &str) -> Error {
    request(format!(
        "{model}: input {input:?} is {shape}: several inputs, or whole numbers, are fed from rows of a table, so each takes \
         one number or one row a sample: export the model so that it reshapes flat inputs of fixed lengths itself, or \
         with one input of floats"
    ))
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
            let width = width.ok_or_else(|| no_row(model, name, &fact.to_string()))?;
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
/// there. In place of what the model itself takes as missing there are the entries of `fill`, and the model gets it as
/// missing again. Without `fill` nothing is filled in.
pub(crate) fn put(
    model: &str,
    imported: Imported,
    fill: Option<&[f64]>,
) -> Result<(Imported, Option<Front>), Error> {
    let rank = imported.inputs.first().map_or(0, |i| imported.graph.fact(i.1).rank());
    if !is_needed(&imported) && rank != 2 {
        return Ok((imported, None));
    }
    let parts = parts(model, &imported)?;
    let imputed = filled(&imported, &parts);
    let taken = taken(&imported, &parts, &imputed);
    let may_miss = imputed.iter().any(Option::is_some) || taken.contains(&true);
    if !is_needed(&imported) && !may_miss {
        return Ok((imported, None));
    }
    let mut graph = Graph::new();
    let inputs: Vec<(String, Id)> = imported
        .inputs
        .iter()
        .map(|(name, id)| (name.clone(), graph.input(name, imported.graph.fact(*id).clone())))
        .collect();
    let known = known(&imported, &parts);
    let mut b = Build::new(&mut graph);
    let fed = joined(&mut b, &inputs, &parts, &known)?;
    let (mut x, mut given, mut missing) = (fed, fed, None);
    if let Some(fill) = fill.filter(|_| may_miss) {
        let by_imputers = imputed.iter().zip(&taken).map(|(v, taken)| v.filter(|_| !taken));
        x = replaced(&mut b, fed, &by_imputers.collect::<Vec<_>>())?;
        given = x;
        if taken.contains(&true) {
            let mask = functions::is_missing(&mut b, x)?;
            let typical = |(i, taken): (usize, &bool)| {
                taken.then(|| imputed[i].or(fill.get(i).copied()).unwrap_or(0.0))
            };
            let typical: Vec<Option<f64>> = taken.iter().enumerate().map(typical).collect();
            x = replaced(&mut b, x, &typical)?;
            let nan = b.graph_mut().constant(Tensor::floats(&[1, 1], vec![f64::NAN])?);
            given = functions::choose(&mut b, mask, nan, x)?;
            missing = Some((mask, taken));
        }
    }
    let own = split(&mut b, given, &imported, &parts, &known)?;
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
    let ids = known.iter().map(Option::is_some).collect();
    Ok((imported, Some(Front { fed, x, parts, may_miss, missing, ids })))
}

/// The inputs side by side, as floats; ids that the model does not know are missing.
fn joined(
    b: &mut Build<'_>,
    inputs: &[(String, Id)],
    parts: &[Part],
    known: &[Option<usize>],
) -> Result<Id, OpError> {
    let mut columns = Vec::with_capacity(inputs.len());
    let mut start = 0;
    for ((_, id), part) in inputs.iter().zip(parts) {
        let shape = [b.fact(*id).shape[0], Dim::from(part.width)];
        let id = functions::cast(b, *id, DType::Float)?;
        let id = b.reshape(id, &shape)?;
        columns.push(in_place_of_unknown(b, id, &known[start..start + part.width], f64::NAN)?);
        start += part.width;
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
    known: &[Option<usize>],
) -> Result<Vec<Id>, OpError> {
    let mut start = 0;
    let mut own = Vec::with_capacity(parts.len());
    for ((_, id), part) in imported.inputs.iter().zip(parts) {
        let fact = imported.graph.fact(*id);
        let columns =
            if parts.len() == 1 { x } else { functions::slice(b, x, 1, start, part.width)? };
        // The score knows that the id is missing; the model has to run.
        let columns = in_place_of_unknown(b, columns, &known[start..start + part.width], 0.0)?;
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

/// A number in place of ids that no table knows or that are missing, where entries are ids.
fn in_place_of_unknown(
    b: &mut Build<'_>,
    x: Id,
    known: &[Option<usize>],
    number: f64,
) -> Result<Id, OpError> {
    if known.iter().all(Option::is_none) {
        return Ok(x);
    }
    let limits = |of: fn(f64) -> f64| -> Result<Tensor, OpError> {
        let each = |k: &Option<usize>| of(k.map_or(f64::from(f32::MAX), |k| k as f64));
        Tensor::floats(&[1, known.len()], known.iter().map(each).collect())
    };
    // Negative ones count from the end.
    let high = b.graph_mut().constant(limits(|known| known - 0.5)?);
    let low = b.graph_mut().constant(limits(|known| -known - 0.5)?);
    let (above, below) = (functions::exceeds(b, x, high)?, functions::exceeds(b, low, x)?);
    let outside = functions::either(b, above, below)?;
    let number = b.graph_mut().constant(Tensor::floats(&[1, 1], vec![number])?);
    functions::choose(b, outside, number, x)
}

/// How many ids the smallest table knows that an entry of a sample is looked up in, where it is whole and goes there as it is.
fn known(imported: &Imported, parts: &[Part]) -> Vec<Option<usize>> {
    let is_id =
        parts.iter().flat_map(|p| std::iter::repeat_n(p.is_whole && p.words.is_none(), p.width));
    let is_id: Vec<bool> = is_id.collect();
    let mut known: Vec<Option<usize>> = vec![None; is_id.len()];
    if !is_id.contains(&true) {
        return known;
    }
    for (at, ids) in functions::lookups(&imported.graph) {
        for entry in moved(imported, parts, at).into_iter().flatten().flatten() {
            if is_id[entry] {
                known[entry] = Some(known[entry].map_or(ids, |k| k.min(ids)));
            }
        }
    }
    known
}

/// Which entries of a sample stand at the places of a value, where they were only moved about, not computed with. Found by
/// what reaches them when every entry holds its own number.
fn moved(imported: &Imported, parts: &[Part], value: Id) -> Option<Vec<Option<usize>>> {
    let total: usize = parts.iter().map(|p| p.width).sum();
    let at = |offset: usize| -> Option<Vec<f64>> {
        let mut next = offset;
        let mut feeds = HashMap::new();
        for ((_, id), part) in imported.inputs.iter().zip(parts) {
            let fact = imported.graph.fact(*id).at(1);
            let numbers: Vec<f64> = (next..next + part.width).map(|n| n as f64).collect();
            next += part.width;
            let floats = Tensor::floats(&fact.shape, numbers).ok()?;
            feeds.insert(*id, functions::tensor_as(floats, fact.dtype)?);
        }
        let found = imported.graph.eval(&[value], &feeds, 1).ok()?.into_iter().next()?;
        let found = functions::tensor_as(found, DType::Float)?;
        Some(found.as_float().ok()?.iter().copied().collect())
    };
    let (first, second) = (at(0)?, at(total)?);
    let entry = |(a, b): (&f64, &f64)| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        let entry = a.max(0.0) as usize;
        let is = |x: f64, place: usize| (x - place as f64).abs() < 0.5;
        (is(*a, entry) && is(*b, entry + total) && entry < total).then_some(entry)
    };
    Some(first.iter().zip(&second).map(entry).collect())
}

/// Entries that are looked at together.
const PROBED: usize = 64;

/// Which entries may be missing as far as the model goes, as trees can do without them: what it answers then is a number,
/// and not the same as with what its imputers put there. Nothing is tried with a model that never asks what is missing.
fn taken(imported: &Imported, parts: &[Part], imputed: &[Option<f64>]) -> Vec<bool> {
    let graph = &imported.graph;
    let none = vec![false; imputed.len()];
    let asked = functions::tests_of_missing(graph);
    let is_open = |i: &(String, Id)| graph.fact(i.1).shape.first() == Some(&Dim::BATCH);
    if asked <= functions::imputed(graph).len() || !imported.inputs.iter().all(is_open) {
        return none;
    }
    let outputs: Vec<Id> = imported.outputs.iter().map(|o| o.1).collect();
    let outputs: Vec<Id> =
        outputs.into_iter().filter(|o| graph.fact(*o).dtype == DType::Float).collect();
    // One row for every entry from `first` on, which is as given there and zero elsewhere.
    let answers = |first: usize, values: &[f64]| -> Option<Vec<Vec<f64>>> {
        let rows = values.len();
        let mut feeds = HashMap::new();
        let mut start = 0;
        for ((_, id), part) in imported.inputs.iter().zip(parts) {
            let at = |row: usize, column: usize| {
                if start + column == first + row { values[row] } else { 0.0 }
            };
            let numbers = (0..rows * part.width).map(|i| at(i / part.width, i % part.width));
            let fact = graph.fact(*id).at(rows);
            let floats = Tensor::floats(&fact.shape, numbers.collect()).ok()?;
            feeds.insert(*id, functions::tensor_as(floats, fact.dtype)?);
            start += part.width;
        }
        let found = graph.eval(&outputs, &feeds, rows).ok()?;
        let mut by_row = vec![Vec::new(); rows];
        for tensor in &found {
            let values = tensor.as_float().ok()?;
            if !values.len().is_multiple_of(rows) {
                return None;
            }
            let each = values.len() / rows;
            values.iter().enumerate().for_each(|(i, v)| by_row[i / each.max(1)].push(*v));
        }
        Some(by_row)
    };
    let is_float =
        parts.iter().flat_map(|p| std::iter::repeat_n(!p.is_whole && p.words.is_none(), p.width));
    let mut found = none.clone();
    for first in (0..imputed.len()).step_by(PROBED) {
        let own = &imputed[first..imputed.len().min(first + PROBED)];
        let with: Vec<f64> = own.iter().map(|v| v.unwrap_or(0.0)).collect();
        let Some(without) = answers(first, &vec![f64::NAN; own.len()]) else { return none };
        let Some(with) = answers(first, &with) else { return none };
        for (i, (a, b)) in without.iter().zip(&with).enumerate() {
            let is_number = a.iter().all(|v| v.is_finite());
            found[first + i] = is_number && (own[i].is_none() || a != b);
        }
    }
    found.iter().zip(is_float).map(|(taken, is_float)| *taken && is_float).collect()
}

/// What the model's own imputers put in place of missing values, for every entry of a sample that goes to one as it is.
fn filled(imported: &Imported, parts: &[Part]) -> Vec<Option<f64>> {
    let mut fill = vec![None; parts.iter().map(|p| p.width).sum()];
    for (value, constants) in functions::imputed(&imported.graph) {
        let Some(entries) = moved(imported, parts, value) else { continue };
        for (place, entry) in entries.into_iter().enumerate() {
            let constant = constants.get(place % constants.len().max(1)).copied();
            if let Some(entry) = entry.filter(|_| constant.is_some_and(f64::is_finite)) {
                fill[entry] = fill[entry].or(constant);
            }
        }
    }
    fill
}
