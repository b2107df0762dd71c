//! What a model does with whole numbers: looks them up, or reads them as numbers like others.

use taste_onnx::proto::{GraphProto, NodeProto};

use crate::Model;

/// Operators that hand whole numbers on.
const MOVING: [&str; 9] = [
    "Identity",
    "Reshape",
    "Squeeze",
    "Unsqueeze",
    "Flatten",
    "Concat",
    "Transpose",
    "Split",
    "Slice",
];
/// Operators of ONNX-ML that read whole numbers as floats.
const READING: [&str; 11] = [
    "Binarizer",
    "FeatureVectorizer",
    "Imputer",
    "LinearClassifier",
    "LinearRegressor",
    "Normalizer",
    "SVMClassifier",
    "SVMRegressor",
    "Scaler",
    "TreeEnsembleClassifier",
    "TreeEnsembleRegressor",
];
/// Steps from an input.
const STEPS: usize = 32;
/// The codes of `float`, `float16`, `double` and `bfloat16` in a file.
const FLOATS: [i64; 4] = [1, 10, 11, 16];

impl Model {
    /// Whether the model does nothing with an input but to read it as floats, so that rounding it to single precision costs no
    /// more than the model's own rounding.
    pub fn reads_as_floats(&self, input: &str) -> bool {
        let graph = self.onnx().proto.graph.as_ref();
        graph.is_some_and(|graph| only_read(graph, input, STEPS))
    }
}

fn only_read(graph: &GraphProto, value: &str, steps: usize) -> bool {
    let takes = |node: &&NodeProto| node.input.iter().any(|i| i == value);
    let mut users = graph.node.iter().filter(takes).peekable();
    users.peek().is_some()
        && steps > 0
        && users.all(|node| match node.op_type.as_str() {
            "Cast" => node
                .attribute
                .iter()
                .any(|a| a.name == "to" && a.i.is_some_and(|to| FLOATS.contains(&to))),
            op if READING.contains(&op) => true,
            op => {
                MOVING.contains(&op) && node.output.iter().all(|o| only_read(graph, o, steps - 1))
            }
        })
}
