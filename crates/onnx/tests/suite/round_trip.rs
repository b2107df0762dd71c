use proptest::collection::vec;
use proptest::prelude::*;
use taste_onnx::proto::{
    AttributeProto, AttributeType, FunctionProto, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, StringStringEntryProto, TensorProto, TypeProto, ValueInfoProto, type_proto,
};
use taste_onnx::{DimSpec, ElemType, Model, builders};

fn text() -> impl Strategy<Value = String> {
    "[a-zé0-9_/.]{0,6}"
}

fn tensor() -> impl Strategy<Value = TensorProto> {
    let raw = prop::option::of(vec(any::<u8>(), 0..9));
    let typed = (vec(any::<i32>(), 0..3), vec(any::<i64>(), 0..3), vec(any::<u64>(), 0..3));
    let floats =
        (vec(-1e9_f32..1e9, 0..3), vec(-1e9_f64..1e9, 0..3), vec(vec(any::<u8>(), 0..3), 0..3));
    (text(), vec(any::<i64>(), 0..3), 0..20_i32, raw, typed, floats, 0..2_i32, vec(entry(), 0..2))
        .prop_map(|(name, dims, data_type, raw, typed, floats, data_location, external_data)| {
            TensorProto {
                name,
                dims,
                data_type,
                raw_data: raw.map(Into::into),
                int32_data: typed.0,
                int64_data: typed.1,
                uint64_data: typed.2,
                float_data: floats.0,
                double_data: floats.1,
                string_data: floats.2,
                data_location,
                external_data,
                ..Default::default()
            }
        })
}

fn entry() -> impl Strategy<Value = StringStringEntryProto> {
    (text(), text()).prop_map(|(key, value)| StringStringEntryProto { key, value })
}

fn value_info() -> impl Strategy<Value = ValueInfoProto> {
    let dim = prop_oneof![any::<i64>().prop_map(DimSpec::Fixed), text().prop_map(DimSpec::Symbol)];
    let tensor = (text(), prop::sample::select(ElemType::ALL.to_vec()), vec(dim, 0..3))
        .prop_map(|(name, elem_type, dims)| builders::value_info(&name, elem_type, &dims));
    (tensor, any::<bool>()).prop_map(|(info, in_sequence)| {
        if !in_sequence {
            return info;
        }
        let element = type_proto::Element { elem_type: info.r#type.map(Box::new) };
        let value = Some(type_proto::Value::SequenceType(Box::new(element)));
        ValueInfoProto { r#type: Some(TypeProto { value, ..Default::default() }), ..info }
    })
}

fn attribute() -> impl Strategy<Value = AttributeProto> {
    prop_oneof![
        (text(), any::<i64>()).prop_map(|(name, v)| builders::attr_int(&name, v)),
        (text(), vec(any::<i64>(), 0..4)).prop_map(|(name, v)| builders::attr_ints(&name, &v)),
        (text(), -1e9_f32..1e9).prop_map(|(name, v)| builders::attr_float(&name, v)),
        (text(), vec(-1e9_f32..1e9, 0..4)).prop_map(|(name, v)| builders::attr_floats(&name, &v)),
        (text(), text()).prop_map(|(name, v)| builders::attr_string(&name, &v)),
        (text(), tensor()).prop_map(|(name, v)| builders::attr_tensor(&name, v)),
    ]
}

fn node(attribute: impl Strategy<Value = AttributeProto>) -> impl Strategy<Value = NodeProto> {
    (text(), vec(text(), 0..3), vec(text(), 0..3), text(), text(), vec(attribute, 0..3)).prop_map(
        |(op_type, inputs, outputs, name, domain, attribute)| NodeProto {
            domain,
            attribute,
            ..builders::node(&op_type, &inputs, &outputs, &name)
        },
    )
}

fn graph(attribute: impl Strategy<Value = AttributeProto>) -> impl Strategy<Value = GraphProto> {
    let values = || vec(value_info(), 0..2);
    (text(), vec(node(attribute), 0..3), vec(tensor(), 0..3), values(), values(), values())
        .prop_map(|(name, node, initializer, input, output, value_info)| GraphProto {
            name,
            node,
            initializer,
            input,
            output,
            value_info,
            ..Default::default()
        })
}

/// Attributes whose graphs hold attributes in turn.
fn nested_attribute() -> impl Strategy<Value = AttributeProto> {
    let with_graph = (text(), graph(attribute())).prop_map(|(name, g)| AttributeProto {
        name,
        r#type: AttributeType::Graph.into(),
        g: Some(Box::new(g)),
        ..Default::default()
    });
    prop_oneof![3 => attribute(), 1 => with_graph]
}

fn function() -> impl Strategy<Value = FunctionProto> {
    (text(), vec(text(), 0..3), vec(node(attribute()), 0..2), vec(opset(), 0..2)).prop_map(
        |(name, input, node, opset_import)| FunctionProto {
            name,
            input,
            node,
            opset_import,
            ..Default::default()
        },
    )
}

fn opset() -> impl Strategy<Value = OperatorSetIdProto> {
    (text(), any::<i64>()).prop_map(|(domain, version)| OperatorSetIdProto { domain, version })
}

fn model() -> impl Strategy<Value = ModelProto> {
    let parts = (vec(opset(), 0..3), vec(entry(), 0..3), vec(function(), 0..2));
    (any::<i64>(), text(), graph(nested_attribute()), parts).prop_map(
        |(ir_version, producer_name, graph, (opset_import, metadata_props, functions))| {
            ModelProto {
                ir_version,
                producer_name,
                graph: Some(graph),
                opset_import,
                metadata_props,
                functions,
                ..Default::default()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_model_reads_back_as_it_was_written(proto in model()) {
        let bytes = Model::new(proto.clone()).to_bytes().unwrap();
        let again = Model::from_bytes(&bytes, None).unwrap();
        prop_assert_eq!(&again.proto, &proto);
        prop_assert_eq!(again.to_bytes().unwrap(), bytes);
    }

    #[test]
    fn a_tensor_reads_back_as_it_was_written(values in vec(-1e30_f32..1e30, 0..50)) {
        let tensor = builders::tensor_f32("w", &[values.len()], &values);
        let data = crate::decode(&tensor).unwrap();
        prop_assert_eq!(data.to_proto("w"), tensor);
    }
}

#[test]
fn zero_is_written_out_where_its_presence_matters() {
    for attribute in [builders::attr_int("a", 0), builders::attr_float("a", 0.0)] {
        let mut proto = crate::small_model();
        proto.graph.as_mut().unwrap().node[0].attribute = vec![attribute];
        let bytes = Model::new(proto.clone()).to_bytes().unwrap();
        assert_eq!(Model::from_bytes(&bytes, None).unwrap().proto, proto);
    }
}

#[test]
fn integers_are_read_packed_or_not() {
    // Tensor: dims [2, 3] as one packed field, and as two fields.
    let with_dims = |dims: &[u8]| {
        let tensor = [&[0x2a, u8::try_from(dims.len()).unwrap()], dims].concat();
        let graph = [&[0x3a, u8::try_from(tensor.len()).unwrap()], tensor.as_slice()].concat();
        Model::from_bytes(&graph, None).unwrap().proto.graph.unwrap().initializer[0].dims.clone()
    };
    assert_eq!(with_dims(&[0x0a, 2, 2, 3]), [2, 3]);
    assert_eq!(with_dims(&[0x08, 2, 0x08, 3]), [2, 3]);
}

/// As `printf '\x3a\x03\x12\x01g\x08\x09' | sha256sum` prints it.
#[test]
fn the_digest_is_that_of_the_file_whatever_the_encoding() {
    // A graph of the name "g", and the version of the format behind it, where we write it in front.
    let odd = b"\x3a\x03\x12\x01g\x08\x09";
    let model = Model::from_bytes(odd, None).unwrap();
    assert_ne!(model.to_bytes().unwrap(), odd);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.onnx");
    std::fs::write(&path, odd).unwrap();
    let mut read = Model::open(&path).unwrap();
    read.set_metadata("changed", "since");
    let wanted = "723a978804e6418583b9d576aae48824379fe3ee2c862b2b7bf45368d7d79569";
    for model in [&model, &read, &read.with_outputs(&[])] {
        assert_eq!(model.sha256().as_deref(), Some(wanted));
    }
    assert_eq!(Model::new(crate::small_model()).sha256(), None);
}
