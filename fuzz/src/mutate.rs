//! Changes to a model that keep it a message: sizes, attributes, types, names and edges.

use taste_onnx::{
    ElemType, Model,
    proto::{
        AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto,
        ValueInfoProto,
        tensor_shape_proto::{Dimension, dimension},
        type_proto,
    },
};

use crate::{draws::Draws, metadata, seeds::words};

/// Changes a model a few times; nothing if the bytes are no model.
pub(crate) fn mutate(bytes: &[u8], seed: u64) -> Option<Vec<u8>> {
    let mut proto = Model::from_bytes(bytes, None).ok()?.proto;
    let mut r = Draws::new(seed);
    for _ in 0..1 + r.below(4) {
        change(&mut proto, &mut r);
    }
    Model::new(proto).to_bytes().ok()
}

fn change(model: &mut ModelProto, r: &mut Draws) {
    // Only detectors have metadata.
    if !model.metadata_props.is_empty() && r.below(3) == 0 {
        metadata::change(&mut model.metadata_props, r);
        return;
    }
    if r.below(40) == 0 {
        if let Some(opset) = r.pick_mut(&mut model.opset_import) {
            opset.version = if r.below(8) == 0 { r.int(20) } else { 7 + r.below(18) as i64 };
        }
        return;
    }
    if r.below(60) == 0 {
        outline(model, r);
        return;
    }
    let functions = model.functions.len();
    if functions > 0 && r.below(4) == 0 {
        let f = r.below(functions);
        let names = names_of(&model.functions[f].node);
        if let Some(node) = r.pick_mut(&mut model.functions[f].node) {
            node_change(node, &names, r);
        }
        return;
    }
    let Some(graph) = &mut model.graph else { return };
    graph_change(graph, r);
}

/// Moves the graph's nodes into a function that the graph calls.
fn outline(model: &mut ModelProto, r: &mut Draws) {
    let Some(graph) = &mut model.graph else { return };
    let function = FunctionProto {
        name: "F".into(),
        domain: "f".into(),
        input: graph.input.iter().map(|i| i.name.clone()).collect(),
        output: graph.output.iter().map(|o| o.name.clone()).collect(),
        node: graph.node.clone(),
        ..Default::default()
    };
    let call = NodeProto {
        op_type: "F".into(),
        domain: "f".into(),
        input: function.input.clone(),
        output: function.output.clone(),
        ..Default::default()
    };
    if r.below(2) == 0 {
        graph.node.push(call);
    } else {
        graph.node = vec![call];
    }
    model.functions.push(function);
}

fn names_of(nodes: &[NodeProto]) -> Vec<String> {
    nodes.iter().flat_map(|n| n.input.iter().chain(&n.output)).cloned().collect()
}

fn graph_change(graph: &mut GraphProto, r: &mut Draws) {
    let mut names = names_of(&graph.node);
    names.extend(graph.input.iter().map(|i| i.name.clone()));
    names.extend(graph.initializer.iter().map(|t| t.name.clone()));
    match r.below(12) {
        0 | 1 => {
            if let Some(info) = r.pick_mut(&mut graph.input) {
                info_change(info, r);
            }
        }
        2..=4 => {
            if let Some(tensor) = r.pick_mut(&mut graph.initializer) {
                tensor_change(tensor, r);
            }
        }
        5 => insert_node(graph, &names, r),
        6 => match r.below(6) {
            0 => {
                let n = r.below(graph.node.len());
                if n < graph.node.len() {
                    graph.node.remove(n);
                }
            }
            1 => {
                if let Some(node) = r.pick(&graph.node).cloned() {
                    graph.node.push(node);
                }
            }
            2 => {
                let (name, at) = (r.pick(&names).cloned(), r.below(graph.output.len()));
                if let (Some(name), Some(out)) = (name, graph.output.get_mut(at)) {
                    out.name = name;
                }
            }
            // An initialiser becomes an input, or the other way round.
            3 => {
                if let Some(tensor) = graph.initializer.pop() {
                    let dims: Vec<_> =
                        tensor.dims.iter().map(|&d| taste_onnx::DimSpec::Fixed(d)).collect();
                    let elem = ElemType::from_code(tensor.data_type).unwrap_or(ElemType::F32);
                    graph.input.push(taste_onnx::builders::value_info(&tensor.name, elem, &dims));
                }
            }
            4 => {
                if let (Some(input), Some(mut tensor)) =
                    (r.pick(&graph.input).cloned(), r.pick(&graph.initializer).cloned())
                {
                    tensor.name = input.name;
                    graph.initializer.push(tensor);
                }
            }
            _ => {
                if let Some(info) = r.pick(&graph.input).cloned() {
                    graph.input.push(info);
                }
            }
        },
        _ => {
            if let Some(node) = r.pick_mut(&mut graph.node) {
                node_change(node, &names, r);
            }
        }
    }
}

/// A node between a value and the ones that use it.
fn insert_node(graph: &mut GraphProto, names: &[String], r: &mut Draws) {
    let (operators, _) = words();
    let Some(op) = r.pick(operators) else { return };
    let fresh = format!("v{}", graph.node.len() + graph.initializer.len());
    let mut input = Vec::new();
    for _ in 0..1 + r.below(3) {
        input.extend(r.pick(names).cloned());
    }
    if r.below(3) == 0 {
        let name = format!("i{fresh}");
        let values: Vec<i64> = (0..r.below(5)).map(|_| r.int(1)).collect();
        let dims: &[usize] =
            if values.len() == 1 && r.below(2) == 0 { &[] } else { &[values.len()] };
        graph.initializer.push(taste_onnx::builders::tensor_i64(&name, dims, &values));
        input.push(name);
    }
    let node = NodeProto {
        op_type: (*op).to_owned(),
        input,
        output: vec![fresh.clone()],
        ..Default::default()
    };
    if r.below(2) == 0 {
        let at = r.below(graph.output.len());
        if let Some(out) = graph.output.get_mut(at) {
            out.name = fresh;
        }
    } else {
        let at = r.below(graph.node.len());
        if let Some(user) = graph.node.get_mut(at) {
            let i = r.below(user.input.len());
            if let Some(name) = user.input.get_mut(i) {
                *name = fresh;
            }
        }
    }
    graph.node.push(node);
}

fn node_change(node: &mut NodeProto, names: &[String], r: &mut Draws) {
    let (operators, attributes) = words();
    match r.below(12) {
        0 => {
            if let Some(op) = r.pick(operators) {
                node.op_type = (*op).to_owned();
            }
        }
        1 => {
            if let (Some(name), n) = (r.pick(names).cloned(), r.below(node.input.len())) {
                match node.input.get_mut(n) {
                    Some(input) => *input = name,
                    None => node.input.push(name),
                }
            }
        }
        2 => match r.below(4) {
            0 => drop(node.input.pop()),
            1 => node.input.push(String::new()),
            2 => node.input.extend(r.pick(names).cloned()),
            _ => {
                if let Some(input) = r.pick_mut(&mut node.input) {
                    input.clear();
                }
            }
        },
        3 => match r.below(3) {
            0 => drop(node.output.pop()),
            1 => node.output.push(format!("o{}", r.below(9))),
            _ => node.output.extend(r.pick(names).cloned()),
        },
        4 => {
            let n = r.below(node.attribute.len());
            if n < node.attribute.len() {
                node.attribute.remove(n);
            }
        }
        5 | 6 => {
            let Some(name) = r.pick(attributes).cloned() else { return };
            let value = r.int(1);
            node.attribute.push(if r.below(2) == 0 {
                taste_onnx::builders::attr_int(&name, value)
            } else {
                let values: Vec<i64> = (0..r.below(5)).map(|_| r.int(1)).collect();
                taste_onnx::builders::attr_ints(&name, &values)
            });
        }
        _ => {
            if let Some(attribute) = r.pick_mut(&mut node.attribute) {
                attribute_change(attribute, r);
            }
        }
    }
}

fn attribute_change(attribute: &mut AttributeProto, r: &mut Draws) {
    if let Some(i) = &mut attribute.i {
        *i = r.int(*i);
    }
    if attribute.f.is_some() {
        attribute.f = Some(r.float());
    }
    if let Some(s) = &mut attribute.s {
        if let Some(byte) = r.pick_mut(s) {
            *byte = b" ,.->ijkabcxyzNSLV"[r.below(18)];
        } else {
            s.extend(b"ij,jk->ik");
        }
        if r.below(4) == 0 {
            let more = s.clone();
            s.extend(more);
        }
    }
    if let Some(t) = &mut attribute.t {
        tensor_change(t, r);
    }
    match r.below(4) {
        0 => drop(attribute.ints.pop()),
        1 if !attribute.ints.is_empty() => attribute.ints.push(r.int(1)),
        _ => {
            if let Some(v) = r.pick_mut(&mut attribute.ints) {
                *v = r.int(*v);
            }
        }
    }
    if let Some(v) = r.pick_mut(&mut attribute.floats) {
        *v = r.float();
    }
}

/// Other elements, another type or another shape; mostly one that fits the data.
fn tensor_change(tensor: &mut TensorProto, r: &mut Draws) {
    match r.below(10) {
        0 => {
            if let Some(d) = r.pick_mut(&mut tensor.dims) {
                *d = r.int(*d);
            }
        }
        1 => tensor.data_type = r.below(24) as i32,
        2 => {
            let name = std::mem::take(&mut tensor.name);
            let dims: Vec<usize> = (0..r.below(4)).map(|_| r.below(4)).collect();
            let count = dims.iter().product();
            *tensor = if r.below(2) == 0 {
                let values: Vec<f64> = (0..count).map(|_| f64::from(r.float())).collect();
                taste_onnx::builders::tensor_f64(&name, &dims, &values)
            } else {
                let values: Vec<i64> = (0..count).map(|_| r.int(1)).collect();
                taste_onnx::builders::tensor_i64(&name, &dims, &values)
            };
        }
        3 => {
            tensor.dims = vec![tensor.dims.iter().fold(1, |p, &d| i64::wrapping_mul(p, d)), 1];
        }
        4 => {
            let at = r.below(tensor.dims.len() + 1);
            tensor.dims.insert(at, r.below(2) as i64);
        }
        5 => tensor.dims.retain(|&d| d != 1),
        _ => {
            let (Some(raw), Some(elem)) = (&tensor.raw_data, ElemType::from_code(tensor.data_type))
            else {
                return;
            };
            let mut raw = raw.to_vec();
            let size = elem.size().unwrap_or(1).max(1);
            let at = r.below(raw.len() / size) * size;
            let value: Vec<u8> = match elem {
                ElemType::F32 => r.float().to_le_bytes().to_vec(),
                ElemType::F64 => f64::from(r.float()).to_le_bytes().to_vec(),
                _ => r.int(1).to_le_bytes().to_vec(),
            };
            if let Some(place) = raw.get_mut(at..at + size) {
                for (to, from) in place.iter_mut().zip(value) {
                    *to = from;
                }
            }
            tensor.raw_data = Some(raw.into());
        }
    }
}

fn info_change(info: &mut ValueInfoProto, r: &mut Draws) {
    let Some(type_proto::Value::TensorType(tensor)) =
        info.r#type.as_mut().and_then(|t| t.value.as_mut())
    else {
        return;
    };
    if r.below(6) == 0 {
        tensor.elem_type = r.below(20) as i32;
        return;
    }
    let Some(shape) = &mut tensor.shape else { return };
    match r.below(6) {
        0 => drop(shape.dim.pop()),
        1 => {
            let value = Some(dimension::Value::DimValue(r.int(2)));
            let at = r.below(shape.dim.len() + 1);
            shape.dim.insert(at, Dimension { value, ..Default::default() });
        }
        2 => {
            if let Some(dim) = r.pick_mut(&mut shape.dim) {
                dim.value = Some(dimension::Value::DimParam("N".into()));
            }
        }
        _ => {
            if let Some(dim) = r.pick_mut(&mut shape.dim) {
                dim.value = Some(dimension::Value::DimValue(r.int(2)));
            }
        }
    }
}
