use half::{bf16, f16};
use taste_onnx::proto::TensorProto;
use taste_onnx::{ElemType, Values, builders};

use crate::{decode, message, tensor_of};

fn samples() -> Vec<Values> {
    vec![
        Values::F32(vec![1.5, -0.0, f32::INFINITY, f32::MIN_POSITIVE]),
        Values::F64(vec![1.5, -0.0, f64::NEG_INFINITY, 1e-300]),
        Values::F16([1.5, -2.0, 65504.0, 6e-8].map(f16::from_f32).to_vec()),
        Values::Bf16([1.5, -2.0, 3e38, 1e-38].map(bf16::from_f32).to_vec()),
        Values::I8(vec![i8::MIN, -1, 0, i8::MAX]),
        Values::U8(vec![0, 1, 128, u8::MAX]),
        Values::I16(vec![i16::MIN, -1, 0, i16::MAX]),
        Values::U16(vec![0, 1, 256, u16::MAX]),
        Values::I32(vec![i32::MIN, -1, 0, i32::MAX]),
        Values::U32(vec![0, 1, 65536, u32::MAX]),
        Values::I64(vec![i64::MIN, -1, 0, i64::MAX]),
        Values::U64(vec![0, 1, 1 << 40, u64::MAX]),
        Values::Bool(vec![true, false, false, true]),
        Values::String(vec![b"a".to_vec(), vec![], b"\xff\x00".to_vec(), "é".into()]),
    ]
}

/// The same elements in the typed field that ONNX prescribes for them.
fn typed(values: &Values) -> TensorProto {
    let mut tensor = tensor_of(values.elem_type(), &[2, 2]);
    let int32 = &mut tensor.int32_data;
    match values {
        Values::F32(v) => tensor.float_data.clone_from(v),
        Values::F64(v) => tensor.double_data.clone_from(v),
        Values::F16(v) => int32.extend(v.iter().map(|v| i32::from(v.to_bits()))),
        Values::Bf16(v) => int32.extend(v.iter().map(|v| i32::from(v.to_bits()))),
        Values::I8(v) => int32.extend(v.iter().map(|&v| i32::from(v))),
        Values::U8(v) => int32.extend(v.iter().map(|&v| i32::from(v))),
        Values::I16(v) => int32.extend(v.iter().map(|&v| i32::from(v))),
        Values::U16(v) => int32.extend(v.iter().map(|&v| i32::from(v))),
        Values::I32(v) => int32.clone_from(v),
        Values::U32(v) => tensor.uint64_data.extend(v.iter().map(|&v| u64::from(v))),
        Values::I64(v) => tensor.int64_data.clone_from(v),
        Values::U64(v) => tensor.uint64_data.clone_from(v),
        Values::Bool(v) => int32.extend(v.iter().map(|&v| i32::from(v))),
        Values::String(v) => tensor.string_data.clone_from(v),
        other => panic!("no sample of {}", other.elem_type()),
    }
    tensor
}

#[test]
fn every_element_type_has_a_sample() {
    let sampled: Vec<ElemType> = samples().iter().map(Values::elem_type).collect();
    assert!(ElemType::ALL.iter().all(|elem_type| sampled.contains(elem_type)));
}

#[test]
fn codes_and_types_go_both_ways() {
    for elem_type in ElemType::ALL {
        assert_eq!(ElemType::from_code(elem_type.code()), Some(elem_type));
    }
}

#[test]
fn every_element_type_is_decoded_from_raw_data() {
    for values in samples() {
        let tensor = builders::tensor("w", &[2, 2], values.clone());
        assert_eq!(tensor.raw_data.is_some(), values.elem_type() != ElemType::String);
        let data = decode(&tensor).unwrap();
        assert_eq!((data.dims, data.values), (vec![2, 2], values));
    }
}

#[test]
fn every_element_type_is_decoded_from_its_typed_field() {
    for values in samples() {
        assert_eq!(decode(&typed(&values)).unwrap().values, values);
    }
}

#[test]
fn raw_data_is_little_endian() {
    let mut tensor = tensor_of(ElemType::I32, &[1]);
    tensor.raw_data = Some(vec![1, 2, 0, 0].into());
    assert_eq!(decode(&tensor).unwrap().values, Values::I32(vec![513]));
}

#[test]
fn data_longer_than_one_block_is_decoded_in_full() {
    let long: Vec<f64> = (0..20_001).map(f64::from).collect();
    let tensor = builders::tensor_f64("w", &[long.len()], &long);
    assert_eq!(decode(&tensor).unwrap().values, Values::F64(long));
}

#[test]
fn a_scalar_has_one_element_and_an_empty_tensor_none() {
    assert_eq!(decode(&builders::tensor_i64("w", &[], &[7])).unwrap().values.len(), 1);
    assert!(decode(&builders::tensor_f32("w", &[3, 0], &[])).unwrap().values.is_empty());
    assert!(decode(&tensor_of(ElemType::Bool, &[0])).unwrap().values.is_empty());
}

#[test]
fn a_value_that_its_type_cannot_hold_is_refused() {
    let mut tensor = tensor_of(ElemType::U8, &[2]);
    tensor.int32_data = vec![255, 256];
    let expected = "model in memory: tensor \"w\" holds 256 at position 1, which is no uint8";
    assert_eq!(message(decode(&tensor)), expected);

    let mut tensor = tensor_of(ElemType::U32, &[1]);
    tensor.uint64_data = vec![1 << 32];
    assert!(message(decode(&tensor)).contains("no uint32"));
}

#[test]
fn unsupported_types_are_named() {
    for (code, name) in [(0, "undefined"), (14, "complex64"), (17, "float8e4m3fn"), (22, "int4")] {
        let tensor = TensorProto { name: "w".into(), data_type: code, ..Default::default() };
        let expected = format!(
            "model in memory: tensor \"w\" has elements of type {name}, which is not supported"
        );
        assert_eq!(message(decode(&tensor)), expected);
    }
    let tensor = TensorProto { data_type: -3, ..Default::default() };
    assert!(message(decode(&tensor)).contains("number -3"));
}

#[test]
fn data_in_two_places_is_refused() {
    let mut tensor = builders::tensor_f32("w", &[1], &[1.0]);
    tensor.float_data = vec![2.0];
    assert!(message(decode(&tensor)).contains("twice: in raw_data and in float_data"));
}

#[test]
fn data_in_a_field_of_another_type_is_refused() {
    let mut tensor = tensor_of(ElemType::F32, &[2]);
    tensor.int64_data = vec![1, 2];
    assert!(message(decode(&tensor)).contains("needs 2 elements but holds 0"));
}
