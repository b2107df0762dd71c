//! Which nodes of a graph run together.

use std::collections::{HashMap, HashSet};

use taste_onnx::{
    ElemType,
    proto::{GraphProto, NodeProto, TensorProto},
};

/// Nodes that run together, as places in the graph, in an order in which they can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// By rten.
    Piece(Vec<usize>),
    /// A convolution, and what is done with its result alone.
    Convolution(Vec<usize>),
}

impl Group {
    pub(super) fn nodes(&self) -> &[usize] {
        match self {
            Self::Piece(nodes) | Self::Convolution(nodes) => nodes,
        }
    }
}

/// The groups of a graph, where `ours` says which nodes are convolutions that we run.
pub(super) fn groups(
    graph: &GraphProto,
    outputs: &[String],
    ours: impl Fn(&NodeProto) -> bool,
) -> Vec<Group> {
    let nodes = &graph.node;
    let nested =
        nodes.iter().flat_map(|n| &n.attribute).any(|a| a.g.is_some() || !a.graphs.is_empty());
    if nested {
        // What a nested graph reads is not among its node's inputs.
        return vec![Group::Piece((0..nodes.len()).collect())];
    }
    let uses = Uses::of(graph, outputs);
    // The chain that a node ends, and whether it is a part of one.
    let mut ends: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut taken = vec![false; nodes.len()];
    for (first, node) in nodes.iter().enumerate() {
        if ours(node) && uses.has_floats(node) {
            let chain = uses.chain(nodes, first, &taken);
            for &n in &chain {
                taken[n] = true;
            }
            ends.insert(chain.last().copied().unwrap_or(first), chain);
        }
    }
    let mut groups = Vec::new();
    let mut open = Open::default();
    for (place, node) in nodes.iter().enumerate() {
        if let Some(chain) = ends.remove(&place) {
            if chain.iter().any(|&n| open.writes_for(&nodes[n])) {
                open.close(&mut groups);
            }
            groups.push(Group::Convolution(chain));
        } else if !taken[place] {
            if open.terms(node) > MOST_TERMS {
                open.close(&mut groups);
            }
            open.take(place, node);
        }
    }
    open.close(&mut groups);
    groups
}

/// rten's optimiser writes a sum of sums, and a product of products, out as the list of its terms, anew at every node. A
/// value that is squared 40 times over would have 2⁴⁰ of them, so no piece holds a longer list.
const MOST_TERMS: usize = 128;

/// Nodes that are in no group yet.
#[derive(Default)]
struct Open<'a> {
    places: Vec<usize>,
    /// What they write: by which operator, and of how many terms.
    written: HashMap<&'a str, (&'a str, usize)>,
}

impl<'a> Open<'a> {
    fn writes_for(&self, node: &NodeProto) -> bool {
        node.input.iter().any(|name| self.written.contains_key(name.as_str()))
    }

    /// The terms of a node with two arguments, where those of the same operator are written out.
    fn terms(&self, node: &NodeProto) -> usize {
        let of = |name: &String| match self.written.get(name.as_str()) {
            Some(&(operator, terms)) if operator == node.op_type => terms,
            _ => 1,
        };
        if node.input.len() == 2 { node.input.iter().map(of).sum() } else { 1 }
    }

    fn take(&mut self, place: usize, node: &'a NodeProto) {
        let made = (node.op_type.as_str(), self.terms(node));
        self.places.push(place);
        self.written.extend(node.output.iter().map(|o| (o.as_str(), made)));
    }

    fn close(&mut self, groups: &mut Vec<Group>) {
        let Self { places, .. } = std::mem::take(self);
        if !places.is_empty() {
            groups.push(Group::Piece(places));
        }
    }
}

/// What is known of values.
struct Uses<'a> {
    /// The nodes that read them.
    readers: HashMap<&'a str, Vec<usize>>,
    /// Constants of single precision, and others.
    constants: HashSet<&'a str>,
    others: HashSet<&'a str>,
}

impl<'a> Uses<'a> {
    /// An output of the graph has a reader behind the last node.
    fn of(graph: &'a GraphProto, outputs: &'a [String]) -> Self {
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, node) in graph.node.iter().enumerate() {
            for input in &node.input {
                readers.entry(input).or_default().push(place);
            }
        }
        for output in outputs {
            readers.entry(output).or_default().push(graph.node.len());
        }
        let single = |w: &&TensorProto| w.data_type == ElemType::F32.code();
        let (constants, others): (Vec<_>, Vec<_>) = graph.initializer.iter().partition(single);
        let [constants, others] =
            [constants, others].map(|all| all.into_iter().map(|w| w.name.as_str()).collect());
        Self { readers, constants, others }
    }

    fn has_floats(&self, node: &NodeProto) -> bool {
        !node.input.iter().any(|i| self.others.contains(i.as_str()))
    }

    /// Whether a node is one that runs with the convolution before it.
    fn may_follow(&self, node: &NodeProto) -> bool {
        let known = |bound: &String| bound.is_empty() || self.constants.contains(bound.as_str());
        match node.op_type.as_str() {
            "Add" | "Mul" | "Relu" => true,
            "Clip" => node.input.iter().skip(1).all(known),
            _ => false,
        }
    }

    /// A convolution and the nodes behind it that are the only ones to read what comes before them.
    fn chain(&self, nodes: &[NodeProto], first: usize, taken: &[bool]) -> Vec<usize> {
        let mut chain = vec![first];
        let mut last = first;
        while let Some([next]) =
            nodes[last].output.first().and_then(|o| self.readers.get(o.as_str())).map(Vec::as_slice)
            && let Some(node) = nodes.get(*next)
            && !taken[*next]
            && node.domain.is_empty()
            && self.has_floats(node)
            && self.may_follow(node)
        {
            chain.push(*next);
            last = *next;
        }
        chain
    }
}

#[cfg(test)]
mod tests {
    use taste_onnx::builders;

    use super::*;

    fn node(op: &str, inputs: &[&str], output: &str) -> NodeProto {
        builders::node(op, inputs, &[output], output)
    }

    fn cut(node: Vec<NodeProto>, outputs: &[&str]) -> Vec<Group> {
        let outputs: Vec<String> = outputs.iter().map(|&o| o.to_owned()).collect();
        let initializer = vec![builders::tensor_f64("double", &[1], &[1.0])];
        let graph = GraphProto { node, initializer, ..GraphProto::default() };
        groups(&graph, &outputs, |n| n.op_type == "Conv")
    }

    #[test]
    fn what_follows_a_convolution_runs_with_it_once_its_operands_are_there() {
        let nodes = vec![
            node("Conv", &["x", "w"], "a"),
            node("Exp", &["x"], "mask"),
            node("Mul", &["a", "mask"], "b"),
            node("Relu", &["b"], "c"),
            node("Exp", &["c"], "y"),
        ];
        let wanted =
            [Group::Piece(vec![1]), Group::Convolution(vec![0, 2, 3]), Group::Piece(vec![4])];
        assert_eq!(cut(nodes, &["y"]), wanted);
    }

    #[test]
    fn a_result_that_is_read_elsewhere_ends_the_group() {
        let nodes = || {
            vec![
                node("Conv", &["x", "w"], "a"),
                node("Relu", &["a"], "b"),
                node("Conv", &["b", "w"], "c"),
                node("Add", &["c", "a"], "d"),
            ]
        };
        let separate =
            [Group::Convolution(vec![0]), Group::Piece(vec![1]), Group::Convolution(vec![2, 3])];
        assert_eq!(cut(nodes(), &["d"]), separate, "a is read by the sum too");
        let wanted = [&separate[..2], &[Group::Convolution(vec![2]), Group::Piece(vec![3])]];
        assert_eq!(cut(nodes(), &["c", "d"]), wanted.concat(), "c is an output too");
    }

    #[test]
    fn a_clip_runs_with_a_convolution_if_its_bounds_are_constants() {
        let cut = |bound: &str| {
            let node = vec![
                node("Conv", &["x", "w"], "a"),
                node("Clip", &["a", "", bound], "b"),
                node("Exp", &["b"], "y"),
            ];
            let initializer = vec![builders::tensor_f32("six", &[], &[6.0])];
            let graph = GraphProto { node, initializer, ..GraphProto::default() };
            groups(&graph, &["y".to_owned()], |n| n.op_type == "Conv")
        };
        assert_eq!(cut("six"), [Group::Convolution(vec![0, 1]), Group::Piece(vec![2])]);
        assert_eq!(cut("c"), [Group::Convolution(vec![0]), Group::Piece(vec![1, 2])]);
    }

    #[test]
    fn nodes_that_a_convolution_does_not_need_wait() {
        let nodes = vec![
            node("Exp", &["x"], "a"),
            node("Conv", &["x", "w"], "b"),
            node("Exp", &["b"], "c"),
            node("Sub", &["a", "c"], "y"),
        ];
        assert_eq!(cut(nodes, &["y"]), [Group::Convolution(vec![1]), Group::Piece(vec![0, 2, 3])]);
    }

    #[test]
    fn lists_of_terms_stay_short() {
        let squares = (0..40).map(|i| {
            let x = format!("v{i}");
            node("Mul", &[&x, &x], &format!("v{}", i + 1))
        });
        let groups = cut(squares.collect(), &["v40"]);
        let sizes: Vec<usize> = groups.iter().map(|g| g.nodes().len()).collect();
        assert_eq!(sizes, [7, 7, 7, 7, 7, 5], "2⁷ is 128");
        let sums = (0..300).map(|i| node("Add", &[&format!("v{i}"), "x"], &format!("v{}", i + 1)));
        let groups = cut(sums.collect(), &["v300"]);
        assert!(groups.iter().all(|g| g.nodes().len() < MOST_TERMS), "{groups:?}");
        let mixed = (0..200).map(|i| {
            let x = format!("v{i}");
            node(if i % 2 == 0 { "Mul" } else { "Add" }, &[&x, &x], &format!("v{}", i + 1))
        });
        assert_eq!(cut(mixed.collect(), &["v200"]).len(), 1, "other operators end a list");
    }

    #[test]
    fn other_precisions_and_nested_graphs_are_left_to_the_engine() {
        let nodes = vec![node("Conv", &["x", "double"], "a"), node("Relu", &["a"], "y")];
        assert_eq!(cut(nodes, &["y"]), [Group::Piece(vec![0, 1])]);
        let mut branch = node("If", &["t"], "a");
        let inner = GraphProto::default();
        branch.attribute.push(taste_onnx::proto::AttributeProto {
            name: "then_branch".to_owned(),
            g: Some(Box::new(inner)),
            ..Default::default()
        });
        let nodes = vec![branch, node("Conv", &["a", "w"], "y")];
        assert_eq!(cut(nodes, &["y"]), [Group::Piece(vec![0, 1])]);
    }
}
