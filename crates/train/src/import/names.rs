//! Whether a file has the tensors that a network wants.

use std::collections::BTreeSet;

use super::weights::{Weights, fail};
use crate::{Error, parameters::Declaration};

/// How many names a message lists.
const LISTED: usize = 10;
/// How many characters of a name it shows.
const LONGEST: usize = 100;

/// A name from a file, fit for a message.
pub(super) fn shown(name: &str) -> String {
    let plain = |c: char| if c.is_control() { '?' } else { c };
    let mut shown: String = name.chars().take(LONGEST).map(plain).collect();
    if name.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

/// Fails unless the tensors of a file are those of the network, one by one.
pub(super) fn check(weights: &Weights, wanted: &[Declaration], what: &str) -> Result<(), Error> {
    let known: BTreeSet<&str> = wanted.iter().map(|d| d.name.as_str()).collect();
    let missing: Vec<String> = wanted
        .iter()
        .filter(|d| weights.shape(&d.name).is_none())
        .map(|d| format!("{} {:?}", d.name, d.shape))
        .collect();
    let extra: Vec<String> =
        weights.names().filter(|name| !known.contains(name)).map(shown).collect();
    let misshapen: Vec<String> = wanted
        .iter()
        .filter_map(|d| {
            let shape = weights.shape(&d.name).filter(|shape| *shape != d.shape)?;
            Some(format!("{} is {shape:?} instead of {:?}", d.name, d.shape))
        })
        .collect();
    let parts: Vec<String> = [
        listed(&missing, ["tensor is missing", "tensors are missing"]),
        listed(&extra, ["tensor is not part of it", "tensors are not part of it"]),
        listed(&misshapen, ["tensor has another shape", "tensors have other shapes"]),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() {
        return Ok(());
    }
    Err(fail(weights.path(), format!("it does not hold a {what}: {}", parts.join("; "))))
}

/// `12 tensors are missing (a, b, …)`.
fn listed(names: &[String], [one, several]: [&str; 2]) -> Option<String> {
    let first = names.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let rest = if names.len() > LISTED { ", …" } else { "" };
    let what = if names.len() == 1 { one } else { several };
    (!names.is_empty()).then(|| format!("{} {what} ({first}{rest})", names.len()))
}
