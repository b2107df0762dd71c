//! A part of a graph that rten runs.

use std::{collections::HashSet, process, sync::OnceLock};

use rten::{Model, ModelOptions, NodeId, RunOptions, Value, ValueOrView, ValueView};
use taste_onnx::proto::{GraphProto, ModelProto, NodeProto, ValueInfoProto};

use super::{Workers, constants::Constants, failed, guarded};
use crate::Error;

/// What a message calls the data that do not fit into it; rten wants this ending.
const DATA: &str = "weights.data";
static LOADED_FIRST: OnceLock<u32> = OnceLock::new();

/// Nodes that rten runs together.
pub(super) struct Piece {
    model: Model,
    inputs: Vec<NodeId>,
    outputs: Vec<NodeId>,
}

impl Piece {
    /// A file of which some outputs are wanted.
    pub(super) fn load(
        file: &taste_onnx::Model,
        inputs: &[&str],
        outputs: &[&str],
    ) -> Result<Self, Error> {
        let (message, data) = file.to_message_and_data(DATA)?;
        let mut options = ModelOptions::with_all_ops();
        // For both, rten has a pool of threads that belongs to the process that loaded first.
        let has_pool = *LOADED_FIRST.get_or_init(process::id) == process::id();
        options.enable_optimization(has_pool).prepack_weights(has_pool);
        if !data.is_empty() {
            options.external_data(DATA, data);
        }
        let model = guarded(|| options.load(message))?;
        let ids = |names: &[&str]| -> Result<Vec<NodeId>, Error> {
            names.iter().map(|name| model.node_id(name).map_err(failed)).collect()
        };
        let (inputs, outputs) = (ids(inputs)?, ids(outputs)?);
        Ok(Self { model, inputs, outputs })
    }

    /// The outputs for inputs in the order of their names.
    pub(super) fn run(
        &self,
        inputs: Vec<ValueView<'_>>,
        workers: &Workers,
    ) -> Result<Vec<Value>, Error> {
        let options = RunOptions::default().with_thread_pool(Some(workers.pool.clone()));
        let inputs = self.inputs.iter().copied().zip(inputs.into_iter().map(ValueOrView::View));
        guarded(|| self.model.run(inputs.collect(), &self.outputs, Some(options)))
    }
}

/// A piece that is loaded when it is first run.
pub(super) struct Later {
    file: taste_onnx::Model,
    inputs: Vec<String>,
    outputs: Vec<String>,
    piece: OnceLock<Result<Piece, String>>,
}

impl Later {
    pub(super) fn new(file: taste_onnx::Model, inputs: &[&str], outputs: &[&str]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
        Self { file, inputs: owned(inputs), outputs: owned(outputs), piece: OnceLock::new() }
    }

    pub(super) fn run(
        &self,
        inputs: Vec<ValueView<'_>>,
        workers: &Workers,
    ) -> Result<Vec<Value>, Error> {
        let piece = self.piece.get_or_init(|| {
            let [inputs, outputs] = [&self.inputs, &self.outputs]
                .map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
            Piece::load(&self.file, &inputs, &outputs).map_err(|e| e.to_string())
        });
        piece.as_ref().map_err(failed)?.run(inputs, workers)
    }
}

/// Some nodes of a file as a file of their own, with the constants that they use and are not given.
pub(super) fn file(
    whole: &taste_onnx::Model,
    constants: &Constants<'_>,
    nodes: &[&NodeProto],
    inputs: &[&str],
    outputs: &[&str],
) -> taste_onnx::Model {
    let mut seen: HashSet<&str> = inputs.iter().copied().collect();
    let names =
        nodes.iter().flat_map(|n| &n.input).map(String::as_str).chain(outputs.iter().copied());
    let own = names.filter(|name| seen.insert(name)).filter_map(|name| constants.get(name));
    let info = |name: &&str| ValueInfoProto { name: (*name).to_owned(), ..Default::default() };
    let graph = GraphProto {
        initializer: own.cloned().collect(),
        node: nodes.iter().map(|&n| n.clone()).collect(),
        input: inputs.iter().map(info).collect(),
        output: outputs.iter().map(info).collect(),
        ..Default::default()
    };
    let proto = ModelProto {
        ir_version: whole.proto.ir_version,
        opset_import: whole.proto.opset_import.clone(),
        graph: Some(graph),
        ..Default::default()
    };
    taste_onnx::Model::new(proto).with_limits(whole.limits())
}
