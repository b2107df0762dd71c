//! What a file says of its outputs beside their values: names, the kind of estimator that made them, what lies beside them.

use taste_onnx::proto::{GraphProto, NodeProto, ValueInfoProto};

use crate::Model;

/// What an estimator is, as its file tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// A classifier.
    Classes,
    /// A regressor, or something else that answers with numbers.
    Numbers,
}

/// Operators that hand numbers on as they are.
const PLAIN: [&str; 11] = [
    "Identity",
    "Reshape",
    "Squeeze",
    "Unsqueeze",
    "Flatten",
    "Transpose",
    "Cast",
    "Dropout",
    "Concat",
    "ZipMap",
    "Normalizer",
];
/// What converters of scikit-learn call the class beside the probabilities.
pub(crate) const LABELS: [&str; 2] = ["label", "output_label"];
/// Steps back from an output.
const STEPS: usize = 16;

impl Model {
    /// The output that holds the answer: of those that the file declares to hold floats, a softmax before a sigmoid
    /// before others, one row a sample before answers at many places, the first of those that are alike.
    pub(crate) fn answer_output(&self) -> Option<String> {
        let graph = self.onnx().proto.graph.as_ref()?;
        let floats = graph.output.iter().filter(|o| taste_ops::declares_floats(o));
        // Of several that are alike the last is the largest: from the end, that is the first.
        floats.rev().max_by_key(|o| rank(graph, o)).map(|o| o.name.clone())
    }

    /// What the file says of an output.
    pub(crate) fn hint(&self, output: &str) -> Option<Hint> {
        let proto = &self.onnx().proto;
        let graph = proto.graph.as_ref()?;
        let last = last_node(graph, output).map_or("", |n| n.op_type.as_str());
        if last.ends_with("Classifier") {
            return Some(Hint::Classes);
        }
        if last.ends_with("Regressor") {
            return Some(Hint::Numbers);
        }
        let has_labels = graph.output.iter().any(|o| LABELS.contains(&o.name.as_str()));
        match (has_labels, proto.producer_name == "skl2onnx") {
            (true, _) if output == "scores" => Some(Hint::Numbers),
            (true, _) => Some(Hint::Classes),
            (false, true) => Some(Hint::Numbers),
            (false, false) => None,
        }
    }
}

fn rank(graph: &GraphProto, output: &ValueInfoProto) -> (bool, u8) {
    let axes = taste_ops::declared_shape(output).map_or(2, |s| s.len());
    let last = last_node(graph, &output.name).map_or("", |n| n.op_type.as_str());
    let kind = match last {
        "Softmax" | "LogSoftmax" => 3,
        "Sigmoid" => 2,
        _ if last.ends_with("Classifier") => 2,
        _ if output.name.to_lowercase().contains("prob") => 1,
        _ => 0,
    };
    (axes <= 2, kind)
}

/// The node that made the numbers of a value.
fn last_node<'a>(graph: &'a GraphProto, value: &str) -> Option<&'a NodeProto> {
    path(graph, value).find(|node| !PLAIN.contains(&node.op_type.as_str()))
}

/// The nodes that a value came through as it is, and the one that made it, from the last one back.
pub(crate) fn path<'a>(
    graph: &'a GraphProto,
    value: &str,
) -> impl Iterator<Item = &'a NodeProto> + use<'a> {
    let made = |value: &str| graph.node.iter().find(|n| n.output.iter().any(|o| o == value));
    let before = move |node: &&'a NodeProto| {
        let is_plain = PLAIN.contains(&node.op_type.as_str());
        node.input.first().filter(|_| is_plain).and_then(|value| made(value))
    };
    std::iter::successors(made(value), before).take(STEPS)
}

#[cfg(test)]
mod tests {
    use taste_onnx::{DimSpec, ElemType, builders};

    use super::*;

    fn model(nodes: &[(&str, &str, &str)], outputs: &[(&str, usize)], producer: &str) -> Model {
        let value = |name: &str, axes: usize| {
            let kind = if LABELS.contains(&name) { ElemType::I64 } else { ElemType::F32 };
            builders::value_info(name, kind, &vec![DimSpec::Symbol("N".into()); axes])
        };
        let graph = GraphProto {
            node: nodes.iter().map(|(op, i, o)| builders::node(op, &[i], &[o], o)).collect(),
            input: vec![value("x", 2)],
            output: outputs.iter().map(|(name, axes)| value(name, *axes)).collect(),
            ..GraphProto::default()
        };
        let mut proto = builders::model(graph, 17);
        proto.producer_name = producer.to_owned();
        Model::from_onnx("model", taste_onnx::Model::new(proto))
    }

    #[test]
    fn a_softmax_is_the_answer_before_a_box() {
        let nodes = [("MatMul", "x", "box"), ("Softmax", "x", "s"), ("Identity", "s", "face")];
        let found = model(&nodes, &[("box", 2), ("face", 2)], "").answer_output();
        assert_eq!(found.as_deref(), Some("face"));
        // Attention is a softmax, too, but not one a sample.
        let found = model(&nodes, &[("box", 2), ("face", 4)], "").answer_output();
        assert_eq!(found.as_deref(), Some("box"));
        let plain = [("MatMul", "x", "a"), ("MatMul", "x", "b")];
        assert_eq!(model(&plain, &[("a", 2), ("b", 2)], "").answer_output().as_deref(), Some("a"));
    }

    #[test]
    fn files_of_scikit_learn_tell_classifiers_from_regressors() {
        let linear = [("MatMul", "x", "variable")];
        let regressor = model(&linear, &[("variable", 2)], "skl2onnx");
        assert_eq!(regressor.hint("variable"), Some(Hint::Numbers));
        assert_eq!(model(&linear, &[("variable", 2)], "pytorch").hint("variable"), None);
        let nodes = [("TreeEnsembleRegressor", "x", "t"), ("Concat", "t", "y")];
        assert_eq!(model(&nodes, &[("y", 2)], "").hint("y"), Some(Hint::Numbers));
        let nodes = [("Exp", "x", "probabilities"), ("ArgMax", "x", "label")];
        let classifier = model(&nodes, &[("label", 1), ("probabilities", 2)], "skl2onnx");
        assert_eq!(classifier.hint("probabilities"), Some(Hint::Classes));
        assert_eq!(classifier.answer_output().as_deref(), Some("probabilities"));
    }
}
