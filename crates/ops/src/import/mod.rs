//! From an ONNX file to a graph.

mod declared;
mod error;
mod nodes;
mod order;

use std::{
    collections::{HashMap, HashSet},
    ops::RangeInclusive,
};

use taste_graph::{Dim, Graph, Id};
use taste_onnx::{Model, proto::GraphProto};

pub(crate) use declared::AXIS_LIMIT;
pub use declared::{declared_shape, declares_floats, decode};
pub use error::{ImportError, Problem};

use self::{
    declared::input_fact,
    error::{shown, twice},
    nodes::{Importer, Scope},
};

/// A model as a graph.
#[derive(Debug)]
pub struct Imported {
    /// The graph.
    pub graph: Graph,
    /// The inputs by name.
    pub inputs: Vec<(String, Id)>,
    /// The outputs by name.
    pub outputs: Vec<(String, Id)>,
}

/// The versions of the standard operators that are read.
const OPSETS: RangeInclusive<i64> = 7..=28;

/// Imports what `outputs` need, or every output if none are named. `shapes` fixes the shape of an input by name,
/// where the file leaves more open than the first axis.
pub fn import(
    model: &Model,
    outputs: &[String],
    shapes: &HashMap<String, Vec<Dim>>,
) -> Result<Imported, ImportError> {
    let proto = model.proto.graph.as_ref();
    let proto = proto.ok_or_else(|| ImportError::Model("the model has no graph".into()))?;
    let mut importer = Importer::new(model);
    let opset = importer.opset("");
    if !OPSETS.contains(&opset) {
        let (first, last) = (OPSETS.start(), OPSETS.end());
        return Err(ImportError::Model(format!(
            "opset {opset} is outside the supported range {first} to {last}"
        )));
    }
    let mut scope = Scope::default();
    let inputs = enter_inputs(proto, shapes, &mut importer.graph, &mut scope)?;
    let wanted = wanted(proto, outputs)?;
    importer.nodes(&proto.node, &wanted, &mut scope, 0)?;
    let mut ends = Vec::new();
    for name in wanted {
        match importer.value(&name, &mut scope)? {
            Some(id) => ends.push((name, id)),
            None if importer.problems.is_empty() => {
                return Err(ImportError::Model(format!(
                    "nothing computes output {:?}",
                    shown(&name)
                )));
            }
            None => {}
        }
    }
    if !importer.problems.is_empty() {
        return Err(ImportError::Nodes(importer.problems));
    }
    Ok(Imported { graph: importer.graph, inputs, outputs: ends })
}

/// Puts the inputs and the initialisers of a graph in reach of its nodes; a name is given once.
fn enter_inputs<'a>(
    proto: &'a GraphProto,
    shapes: &HashMap<String, Vec<Dim>>,
    graph: &mut Graph,
    scope: &mut Scope<'a>,
) -> Result<Vec<(String, Id)>, ImportError> {
    for tensor in &proto.initializer {
        if scope.tensors.insert(&tensor.name, tensor).is_some() {
            return Err(twice(&tensor.name));
        }
    }
    let mut inputs = Vec::new();
    for info in proto.input.iter().filter(|i| !scope.tensors.contains_key(i.name.as_str())) {
        let fact = input_fact(info, shapes.get(&info.name))?;
        let id = graph.input(&info.name, fact);
        if scope.values.insert(info.name.clone(), Some(id)).is_some() {
            return Err(twice(&info.name));
        }
        inputs.push((info.name.clone(), id));
    }
    let given = |name: &str| scope.values.contains_key(name) || scope.tensors.contains_key(name);
    let mut results = proto.node.iter().flat_map(|n| &n.output);
    match results.find(|o| !o.is_empty() && given(o)) {
        Some(name) => Err(twice(name)),
        None => Ok(inputs),
    }
}

/// The outputs that are asked for: all of them, if none are named.
fn wanted(proto: &GraphProto, outputs: &[String]) -> Result<Vec<String>, ImportError> {
    let names: Vec<&str> = proto.output.iter().map(|o| o.name.as_str()).collect();
    let wanted: Vec<String> = if outputs.is_empty() {
        names.iter().map(|&n| n.to_owned()).collect()
    } else {
        outputs.to_vec()
    };
    let known: HashSet<&str> = names.iter().copied().collect();
    if let Some(missing) = wanted.iter().find(|w| !known.contains(w.as_str())) {
        return Err(ImportError::Model(format!(
            "no output {:?}; the model has {}",
            shown(missing),
            shown(&names.join(", "))
        )));
    }
    if wanted.is_empty() {
        return Err(ImportError::Model("the model has no outputs".into()));
    }
    Ok(wanted)
}
