//! A part of a graph that rten runs.

use std::collections::HashSet;

use rten::{Model, ModelOptions, NodeId, RunOptions, Value, ValueOrView};
use taste_onnx::proto::{GraphProto, ModelProto, NodeProto, ValueInfoProto};

use super::{Workers, failed, guarded};
use crate::Error;

/// Nodes that rten runs together.
pub(super) struct Piece {
    model: Model,
    inputs: Vec<NodeId>,
    outputs: Vec<NodeId>,
}

impl Piece {
    /// A file of which some outputs are wanted.
    pub(super) fn load(
        file: ModelProto,
        inputs: &[String],
        outputs: &[String],
    ) -> Result<Self, Error> {
        let bytes = taste_onnx::Model::new(file).to_bytes()?;
        let mut options = ModelOptions::with_all_ops();
        let model = guarded(|| options.prepack_weights(true).load(bytes))?;
        let ids = |names: &[String]| -> Result<Vec<NodeId>, Error> {
            names.iter().map(|name| model.node_id(name).map_err(failed)).collect()
        };
        let (inputs, outputs) = (ids(inputs)?, ids(outputs)?);
        Ok(Self { model, inputs, outputs })
    }

    /// The outputs for inputs in the order of their names.
    pub(super) fn run(
        &self,
        inputs: Vec<ValueOrView<'_>>,
        workers: &Workers,
    ) -> Result<Vec<Value>, Error> {
        let options = RunOptions::default().with_thread_pool(Some(workers.pool.clone()));
        let inputs = self.inputs.iter().copied().zip(inputs).collect();
        guarded(|| self.model.run(inputs, &self.outputs, Some(options)))
    }
}

/// Some nodes of a file as a file of their own, with the constants that they use.
pub(super) fn file(
    whole: &ModelProto,
    nodes: Vec<NodeProto>,
    inputs: &[String],
    outputs: &[String],
) -> ModelProto {
    let used: HashSet<&str> =
        nodes.iter().flat_map(|n| &n.input).chain(outputs).map(String::as_str).collect();
    let graph = || whole.graph.iter();
    let constants = graph().flat_map(|g| &g.initializer);
    let initializer = constants.filter(|w| used.contains(w.name.as_str())).cloned().collect();
    let info = |name: &String| {
        let mut known = graph().flat_map(|g| g.input.iter().chain(&g.output));
        let unknown = || ValueInfoProto { name: name.clone(), ..Default::default() };
        known.find(|i| i.name == *name).cloned().unwrap_or_else(unknown)
    };
    let (input, output) = (inputs.iter().map(info).collect(), outputs.iter().map(info).collect());
    ModelProto {
        ir_version: whole.ir_version,
        opset_import: whole.opset_import.clone(),
        functions: whole.functions.clone(),
        graph: Some(GraphProto { node: nodes, initializer, input, output, ..Default::default() }),
        ..Default::default()
    }
}
