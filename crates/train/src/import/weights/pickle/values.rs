//! What a pickle builds.

use super::{Tensor, globals::Global};
use crate::import::{names::shown, weights::Element};

/// A value. Others that it is made of are named by their place in [`Values`], so that sharing costs nothing.
#[derive(Clone, Debug)]
pub(super) enum Value {
    None,
    Int(i64),
    /// Numbers, truth values and bytes that no tensor depends on.
    Plain,
    Text(String),
    Tuple(Vec<usize>),
    List(Vec<usize>),
    Dict(Vec<(usize, usize)>),
    Global(Global),
    Storage {
        name: String,
        element: Element,
    },
    Tensor(Tensor),
}

impl Value {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Int(_) => "an integer",
            Self::Plain => "a number or bytes",
            Self::Text(_) => "a string",
            Self::Tuple(_) => "a tuple",
            Self::List(_) => "a list",
            Self::Dict(_) => "a dict",
            Self::Global(_) => "a function",
            Self::Storage { .. } => "a storage",
            Self::Tensor(_) => "a tensor",
        }
    }
}

/// No state dict has more values.
const MOST: usize = 1 << 21;
const MOST_AXES: usize = 64;
/// How many names a message lists.
const LISTED: usize = 10;

/// All values, in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Values(Vec<Value>);

impl Values {
    pub(super) fn add(&mut self, value: Value) -> Result<usize, String> {
        if self.0.len() == MOST {
            return Err(format!("its pickle makes more than {MOST} values"));
        }
        self.0.push(value);
        Ok(self.0.len() - 1)
    }

    pub(super) fn get(&self, id: usize) -> &Value {
        self.0.get(id).unwrap_or(&Value::None)
    }

    pub(super) fn get_mut(&mut self, id: usize) -> Option<&mut Value> {
        self.0.get_mut(id)
    }

    /// The first names in a dict.
    pub(super) fn keys(&self, dict: usize) -> Vec<String> {
        let Value::Dict(entries) = self.get(dict) else { return Vec::new() };
        let name = |(key, _): &(usize, usize)| match self.get(*key) {
            Value::Text(name) => Some(shown(name)),
            _ => None,
        };
        entries.iter().filter_map(name).take(LISTED).collect()
    }

    /// An entry of a dict.
    pub(super) fn entry(&self, dict: usize, name: &str) -> Option<usize> {
        let Value::Dict(entries) = self.get(dict) else { return None };
        let is_it = |key: usize| matches!(self.get(key), Value::Text(text) if text == name);
        entries.iter().rev().find(|(key, _)| is_it(*key)).map(|(_, value)| *value)
    }

    /// A list or tuple of sizes.
    pub(super) fn sizes(&self, id: usize) -> Result<Vec<usize>, String> {
        let (Value::Tuple(items) | Value::List(items)) = self.get(id) else {
            return Err(format!("a tensor's shape is {}, not a tuple", self.get(id).kind()));
        };
        if items.len() > MOST_AXES {
            return Err(format!("a tensor has {} axes", items.len()));
        }
        items.iter().map(|&item| self.size(item)).collect()
    }

    pub(super) fn size(&self, id: usize) -> Result<usize, String> {
        match self.get(id) {
            Value::Int(n) => usize::try_from(*n).map_err(|_| format!("a tensor has the size {n}")),
            other => Err(format!("a tensor has {} for a size", other.kind())),
        }
    }
}
