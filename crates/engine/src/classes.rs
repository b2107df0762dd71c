//! The classes that a file itself names, as converters of scikit-learn and of boosted trees write them.

use taste_onnx::{
    Values,
    proto::{AttributeProto, GraphProto, NodeProto, TensorProto},
};

use crate::{Model, hints};

/// What a model calls its classes, in the order of its outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Classes {
    /// Numbers, which are not always 0, 1, 2 and so on.
    Numbers(Vec<i64>),
    /// Words.
    Words(Vec<String>),
}

impl Classes {
    fn of_numbers(numbers: Vec<i64>) -> Option<Self> {
        (!numbers.is_empty()).then_some(Self::Numbers(numbers))
    }

    fn of_words(words: &[Vec<u8>]) -> Option<Self> {
        let text = |word: &Vec<u8>| String::from_utf8_lossy(word).into_owned();
        (!words.is_empty()).then(|| Self::Words(words.iter().map(text).collect()))
    }
}

impl Model {
    /// The classes that the file names: those of an estimator of ONNX-ML, or those that the output of the class is chosen
    /// from by its place. None if it does not say.
    pub fn named_classes(&self) -> Option<Classes> {
        let graph = self.onnx().proto.graph.as_ref()?;
        let is_label = |name: &str| hints::LABELS.contains(&name);
        let (named, others): (Vec<_>, Vec<_>) =
            graph.output.iter().partition(|o| is_label(&o.name));
        let others = others.into_iter().filter(|o| !taste_ops::declares_floats(o));
        let classes = named.into_iter().chain(others).map(|o| o.name.clone());
        let mut ends = classes.chain(self.answer_output());
        ends.find_map(|end| self.classes_of(graph, &end))
    }

    /// The classes that the operators before a value name.
    fn classes_of(&self, graph: &GraphProto, value: &str) -> Option<Classes> {
        for node in hints::path(graph, value) {
            if let Some(found) = declared(node) {
                return Some(found);
            }
            if matches!(node.op_type.as_str(), "ArrayFeatureExtractor" | "Gather") {
                let chosen_from = node.input.first()?;
                let tensor = graph.initializer.iter().find(|t| t.name == *chosen_from);
                return self.list(tensor.or_else(|| constant(graph, chosen_from))?);
            }
        }
        None
    }

    fn list(&self, tensor: &TensorProto) -> Option<Classes> {
        match self.onnx().tensor(tensor).ok()?.values {
            Values::I64(numbers) => Classes::of_numbers(numbers),
            Values::I32(numbers) => {
                Classes::of_numbers(numbers.into_iter().map(i64::from).collect())
            }
            Values::String(words) => Classes::of_words(&words),
            _ => None,
        }
    }
}

/// The classes in the attributes of a node.
fn declared(node: &NodeProto) -> Option<Classes> {
    let attribute = |name: &str| node.attribute.iter().find(|a| a.name == name);
    let numbers = ["classlabels_int64s", "classlabels_ints"].into_iter().find_map(attribute);
    let numbers = numbers.and_then(|a: &AttributeProto| Classes::of_numbers(a.ints.clone()));
    let words = || attribute("classlabels_strings").and_then(|a| Classes::of_words(&a.strings));
    numbers.or_else(words)
}

/// The tensor of a constant node.
fn constant<'a>(graph: &'a GraphProto, value: &str) -> Option<&'a TensorProto> {
    let node = graph.node.iter().find(|n| n.output.iter().any(|o| o == value))?;
    let held = node.attribute.iter().find(|a| a.name == "value" && node.op_type == "Constant")?;
    held.t.as_deref()
}
