//! Models of one sample, without an axis of samples: they get one of size 1.

use taste_onnx::{
    builders,
    proto::{GraphProto, ModelProto, NodeProto, ValueInfoProto, type_proto},
};

/// Adds the axis if the model has none: its only input is of a fixed shape, and its outputs are vectors of another size.
pub(crate) fn add_axis(model: &mut ModelProto) {
    let Some(graph) = &mut model.graph else { return };
    if !takes_one_sample(graph) {
        return;
    }
    let weights: Vec<String> = graph.initializer.iter().map(|t| t.name.clone()).collect();
    for at in 0..graph.input.len() {
        if weights.contains(&graph.input[at].name) {
            continue;
        }
        let sizes = fixed(&graph.input[at]).unwrap_or_default();
        let name = graph.input[at].name.clone();
        let inside = rename(graph, &name);
        let node = reshaped(graph, &name, &inside, &sizes);
        graph.node.insert(0, node);
        set_sizes(&mut graph.input[at], &with_one(&sizes));
    }
    for at in 0..graph.output.len() {
        let sizes = fixed(&graph.output[at]).unwrap_or_default();
        let name = graph.output[at].name.clone();
        let inside = rename(graph, &name);
        let node = reshaped(graph, &inside, &name, &with_one(&sizes));
        graph.node.push(node);
        set_sizes(&mut graph.output[at], &with_one(&sizes));
    }
}

fn takes_one_sample(graph: &GraphProto) -> bool {
    let weights = |i: &&ValueInfoProto| graph.initializer.iter().all(|t| t.name != i.name);
    let mut inputs = graph.input.iter().filter(weights);
    let (Some(input), None) = (inputs.next(), inputs.next()) else { return false };
    let Some(rows) = fixed(input).and_then(|s| s.first().copied()).filter(|r| *r > 1) else {
        return false;
    };
    !graph.output.is_empty()
        && graph
            .output
            .iter()
            .all(|o| fixed(o).is_some_and(|s| s.is_empty() || (s.len() == 1 && s[0] != rows)))
}

fn fixed(info: &ValueInfoProto) -> Option<Vec<usize>> {
    taste_ops::declared_shape(info)?.into_iter().collect()
}

fn with_one(sizes: &[usize]) -> Vec<usize> {
    std::iter::once(1).chain(sizes.iter().copied()).collect()
}

/// Gives a value another name wherever nodes use or make it.
fn rename(graph: &mut GraphProto, name: &str) -> String {
    let inside = format!("{name} of one sample");
    for node in &mut graph.node {
        let names = node.input.iter_mut().chain(&mut node.output);
        names.filter(|n| **n == name).for_each(|n| n.clone_from(&inside));
    }
    inside
}

/// A node that gives a value other axes.
fn reshaped(graph: &mut GraphProto, from: &str, to: &str, sizes: &[usize]) -> NodeProto {
    let shape = format!("axes of {to}");
    let sizes: Vec<i64> = sizes.iter().map(|s| i64::try_from(*s).unwrap_or(i64::MAX)).collect();
    graph.initializer.push(builders::tensor_i64(&shape, &[sizes.len()], &sizes));
    builders::node("Reshape", &[from, &shape], &[to], to)
}

fn set_sizes(info: &mut ValueInfoProto, sizes: &[usize]) {
    let kind = info.r#type.as_mut().and_then(|t| t.value.as_mut());
    if let Some(type_proto::Value::TensorType(tensor)) = kind
        && let Some(code) = taste_onnx::ElemType::from_code(tensor.elem_type)
    {
        let dims: Vec<_> = sizes
            .iter()
            .map(|s| taste_onnx::DimSpec::Fixed(i64::try_from(*s).unwrap_or(i64::MAX)))
            .collect();
        info.r#type = builders::value_info(&info.name, code, &dims).r#type;
    }
}
