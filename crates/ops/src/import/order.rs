//! Which nodes are needed, and in which order.

use std::collections::{HashMap, HashSet};

use taste_onnx::proto::{GraphProto, NodeProto};

use super::{
    error::{ImportError, shown, twice},
    label,
};

/// The values that a node uses, by its subgraphs too.
pub(super) fn uses(node: &NodeProto) -> Vec<&str> {
    let mut names: Vec<&str> = node.input.iter().map(String::as_str).collect();
    for attribute in &node.attribute {
        for graph in attribute.g.as_deref().into_iter().chain(&attribute.graphs) {
            let own: HashSet<&str> = own_names(graph).collect();
            let inner = graph.node.iter().flat_map(uses);
            let ends = graph.output.iter().map(|o| o.name.as_str());
            names.extend(inner.chain(ends).filter(|n| !own.contains(n)));
        }
    }
    names
}

/// The names that a subgraph defines.
pub(super) fn own_names(graph: &GraphProto) -> impl Iterator<Item = &str> {
    let results = graph.node.iter().flat_map(|n| &n.output).map(String::as_str);
    let inputs = graph.input.iter().map(|i| i.name.as_str());
    results.chain(inputs).chain(graph.initializer.iter().map(|t| t.name.as_str()))
}

/// The nodes that `wanted` depend on, each after the ones it uses.
pub(super) fn needed(
    nodes: &[NodeProto],
    uses: &[Vec<&str>],
    wanted: &[String],
) -> Result<Vec<usize>, ImportError> {
    let mut producer: HashMap<&str, usize> = HashMap::new();
    for (n, node) in nodes.iter().enumerate() {
        for name in node.output.iter().filter(|n| !n.is_empty()) {
            if producer.insert(name, n).is_some() {
                return Err(twice(name));
            }
        }
    }
    // Depth first, without recursion: a node is entered once and listed when its arguments are.
    let mut order = Vec::new();
    let mut state = vec![0u8; nodes.len()];
    let mut stack: Vec<(usize, usize)> = Vec::new();
    for name in wanted {
        if let Some(&n) = producer.get(name.as_str())
            && state[n] == 0
        {
            state[n] = 1;
            stack.push((n, 0));
        }
        while let Some((n, i)) = stack.pop() {
            let Some(&input) = uses[n].get(i) else {
                state[n] = 2;
                order.push(n);
                continue;
            };
            stack.push((n, i + 1));
            if let Some(&p) = producer.get(input) {
                match state[p] {
                    0 => {
                        state[p] = 1;
                        stack.push((p, 0));
                    }
                    1 => {
                        return Err(ImportError::Model(format!(
                            "the graph is cyclic: node {:?} depends on itself",
                            shown(label(&nodes[p]))
                        )));
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(order)
}
