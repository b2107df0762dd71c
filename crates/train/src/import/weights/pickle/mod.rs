//! Pickles of state dicts, read without Python.
//!
//! A pickle is a program for a stack machine that may call any function of Python. This reader knows the few
//! functions that rebuild tensors and calls none: what stands for a tensor becomes a [`Tensor`], and any other
//! function is refused by its name.

mod globals;
mod machine;
mod values;

use std::collections::BTreeMap;

use super::Element;
use machine::Machine;
use values::{Value, Values};

/// A view of a storage.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    /// The storage's name.
    pub(super) storage: String,
    pub(super) element: Element,
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<usize>,
}

/// Under which names training programs keep the state dict beside other things.
const NESTED: [&str; 5] = ["state_dict", "model_state_dict", "model", "net", "ema"];

/// The tensors of a pickled state dict, or of one inside a checkpoint.
pub(super) fn state_dict(pickle: &[u8]) -> Result<BTreeMap<String, Tensor>, String> {
    let (values, root) = Machine::new(pickle).run()?;
    let found = tensors(&values, root);
    if !found.is_empty() {
        return Ok(found);
    }
    let nested = NESTED.iter().filter_map(|key| values.entry(root, key));
    let mut nested = nested.map(|id| tensors(&values, id)).filter(|found| !found.is_empty());
    nested.next().ok_or_else(|| {
        let keys = values.keys(root);
        let holds = if keys.is_empty() { "nothing by name".to_owned() } else { keys.join(", ") };
        format!(
            "it holds {holds}, and no state dict: tensors by name, at the top or under {}",
            NESTED.join(", ")
        )
    })
}

/// The entries of a dict that are tensors.
fn tensors(values: &Values, dict: usize) -> BTreeMap<String, Tensor> {
    let Value::Dict(entries) = values.get(dict) else { return BTreeMap::new() };
    let tensor = |(key, value): &(usize, usize)| match (values.get(*key), values.get(*value)) {
        (Value::Text(name), Value::Tensor(tensor)) => Some((name.clone(), tensor.clone())),
        _ => None,
    };
    entries.iter().filter_map(tensor).collect()
}
