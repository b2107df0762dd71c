//! Operations that change no number and add axes: a product with a one, or a sum with a zero, that has more axes than the
//! other argument. rten leaves such operations out and loses the axes; written as `Expand` they stay.

use rten_tensor::AsView;
use taste_onnx::{builders, proto::GraphProto};

use super::constants::Constants;
use crate::Error;

pub(super) fn keep_axes(file: &mut taste_onnx::Model) -> Result<(), Error> {
    let found = neutral(file)?;
    let Some(graph) = &mut file.proto.graph else { return Ok(()) };
    for Neutral { node, argument, axes } in found {
        expand(graph, node, argument, axes);
    }
    Ok(())
}

/// A node that leaves the numbers of one of its arguments as they are.
struct Neutral {
    node: usize,
    /// The place of that argument.
    argument: usize,
    /// The axes of the constant beside it, all of size 1.
    axes: usize,
}

fn neutral(file: &taste_onnx::Model) -> Result<Vec<Neutral>, Error> {
    let constants = Constants::of(file);
    let mut found = Vec::new();
    for (at, node) in file.proto.graph.iter().flat_map(|g| &g.node).enumerate() {
        let (neutral, places): (f32, &[usize]) = match node.op_type.as_str() {
            "Mul" => (1.0, &[0, 1]),
            "Add" => (0.0, &[0, 1]),
            "Div" => (1.0, &[1]),
            "Sub" => (0.0, &[1]),
            _ => continue,
        };
        for &place in places {
            let Some(name) = node.input.get(place) else { continue };
            let sizes = constants.sizes(name);
            let is_single = !sizes.is_empty() && sizes.iter().all(|s| *s == 1);
            if !is_single || constants.bytes(name) == 0 {
                continue;
            }
            if constants.value(name)?.iter().all(|v| v.to_bits() == neutral.to_bits()) {
                found.push(Neutral { node: at, argument: 1 - place, axes: sizes.len() });
                break;
            }
        }
    }
    Ok(found)
}

fn expand(graph: &mut GraphProto, node: usize, argument: usize, axes: usize) {
    let node = &mut graph.node[node];
    let argument = node.input[argument].clone();
    let shape = format!("axes of {}", node.output[0]);
    graph.initializer.push(builders::tensor_i64(&shape, &[axes], &vec![1; axes]));
    "Expand".clone_into(&mut node.op_type);
    node.input = vec![argument, shape];
}
