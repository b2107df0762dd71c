//! Quantised layers, computed on whole numbers that are kept as floats. Engines that run everywhere have no small integers,
//! and these are exact in single precision.

use taste_graph::{DType, Dim, Id, OpError};
use taste_onnx::{ElemType, builders};

use crate::{
    Entry, Reader, Sample,
    activation::clamp,
    arithmetic::Div,
    cast::Cast,
    compare::{Compare, Where},
    conv::convolved,
    matmul::MatMul,
    pointwise::round,
    reduce::{Extreme, ReduceExtreme},
};

fn float(r: &mut Reader<'_, '_>, id: Id) -> Result<Id, OpError> {
    if r.fact(id).dtype == DType::Float {
        Ok(id)
    } else {
        r.b.push(Cast { to: DType::Float }, &[id])
    }
}

/// A scale or zero point, one for all or one for each place of an axis, in the shape that broadcasts against x.
fn along(r: &mut Reader<'_, '_>, id: Id, x: Id, axis: i64) -> Result<Id, OpError> {
    let id = float(r, id)?;
    let rank = r.rank(x);
    match r.rank(id) {
        0 => Ok(id),
        1 if r.fact(id).shape == [Dim::from(1)] => r.b.reshape(id, &[]),
        1 => {
            let axis = r.axis(axis, rank)?;
            let mut shape = vec![Dim::from(1); rank];
            shape[axis] = r.fact(id).shape[0];
            r.b.reshape(id, &shape)
        }
        _ => Err(OpError::unsupported("a scale in blocks", r.fact(id))),
    }
}

/// The least and the largest number of an element type.
fn range(elem: ElemType) -> Result<(f64, f64), OpError> {
    Ok(match elem {
        ElemType::U8 => (0.0, 255.0),
        ElemType::I8 => (-128.0, 127.0),
        ElemType::U16 => (0.0, 65535.0),
        ElemType::I16 => (-32768.0, 32767.0),
        ElemType::I32 | ElemType::I64 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        other => return Err(OpError::unsupported("quantisation to", other)),
    })
}

/// x − zero point, as floats.
fn shifted(r: &mut Reader<'_, '_>, x: Id, zero: Option<Id>, axis: i64) -> Result<Id, OpError> {
    let x = float(r, x)?;
    let Some(zero) = zero else { return Ok(x) };
    // What `DynamicQuantizeLinear` gave has one for each sample.
    let each = r.rank(zero) == r.rank(x);
    let zero = if each { float(r, zero)? } else { along(r, zero, x, axis)? };
    r.b.sub(x, zero)
}

/// The nearest whole number of x / scale + zero point within the range of a type.
fn quantised(
    r: &mut Reader<'_, '_>,
    x: Id,
    scale: Id,
    zero: Option<Id>,
    (low, high): (f64, f64),
) -> Result<Id, OpError> {
    let scaled = r.b.push(Div { fixed: true }, &[x, scale])?;
    let mut y = round(&mut r.b, scaled)?;
    if let Some(zero) = zero {
        y = r.b.add(y, zero)?;
    }
    clamp(&mut r.b, y, low, high)
}

fn read_quantize(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, scale] = r.take()?;
    let axis = r.int_or("axis", 1);
    r.ignore("saturate");
    r.ignore("precision");
    let (block, output) = (r.int_or("block_size", 0), r.int_or("output_dtype", 0));
    if block != 0 {
        return Err(OpError::unsupported("block_size", block));
    }
    let elem = match (r.optional(2), ElemType::from_code(i32::try_from(output).unwrap_or(0))) {
        (Some(_), _) => r
            .element(2)
            .ok_or_else(|| OpError::unsupported("a zero point of unknown type in place", 2))?,
        (None, Some(elem)) => elem,
        (None, None) => ElemType::U8,
    };
    let x = float(r, x)?;
    let scale = along(r, scale, x, axis)?;
    let zero = r.optional(2).map(|zero| along(r, zero, x, axis)).transpose()?;
    Ok(vec![quantised(r, x, scale, zero, range(elem)?)?])
}

fn read_dequantize(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, scale] = r.take()?;
    let axis = r.int_or("axis", 1);
    r.ignore("output_dtype");
    let block = r.int_or("block_size", 0);
    if block != 0 {
        return Err(OpError::unsupported("block_size", block));
    }
    let zero = r.optional(2);
    let x = shifted(r, x, zero, axis)?;
    let scale = along(r, scale, x, axis)?;
    Ok(vec![r.b.mul(x, scale)?])
}

/// Range, scale and zero point of every sample by itself: as if each were a batch of its own, so that what is said of a
/// sample does not depend on the others. No derivative flows through ranges, as none does through what is rounded by them.
fn read_dynamic(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    let axes: Vec<usize> = (1..r.rank(x)).collect();
    let zero = r.b.scalar(0.0);
    let bound = |r: &mut Reader<'_, '_>, extreme: Extreme| {
        let found = r.b.push(ReduceExtreme { axes: axes.clone(), extreme, frozen: true }, &[x])?;
        let beyond = match extreme {
            Extreme::Max => Compare::Greater,
            Extreme::Min => Compare::Less,
        };
        let beyond = r.b.push(beyond, &[found, zero])?;
        r.b.push(Where, &[beyond, found, zero])
    };
    let (low, high) = (bound(r, Extreme::Min)?, bound(r, Extreme::Max)?);
    let width = r.b.sub(high, low)?;
    let scale = r.b.scale(width, 1.0 / 255.0)?;
    let one = r.b.scalar(1.0);
    let flat = r.b.push(Compare::Equal, &[scale, zero])?;
    let scale = r.b.push(Where, &[flat, one, scale])?;
    let below = r.b.push(Div { fixed: true }, &[low, scale])?;
    let point = r.b.neg(below)?;
    let point = round(&mut r.b, point)?;
    let point = clamp(&mut r.b, point, 0.0, 255.0)?;
    let y = quantised(r, x, scale, Some(point), (0.0, 255.0))?;
    Ok(vec![y, scale, point])
}

fn read_matmul_integer(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [a, b] = r.take()?;
    let (zero_a, zero_b) = (r.optional(2), r.optional(3));
    let a = shifted(r, a, zero_a, -2)?;
    let b = shifted(r, b, zero_b, -1)?;
    Ok(vec![r.b.push(MatMul, &[a, b])?])
}

fn read_conv_integer(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, w] = r.take()?;
    let (zero_x, zero_w) = (r.optional(2), r.optional(3));
    let x = shifted(r, x, zero_x, 1)?;
    let w = shifted(r, w, zero_w, 0)?;
    Ok(vec![convolved(r, x, w)?])
}

/// A layer between quantised values: arguments as x, its scale and zero point; the other factor's; the result's.
fn read_linear(
    r: &mut Reader<'_, '_>,
    axes: [i64; 3],
    layer: impl Fn(&mut Reader<'_, '_>, Id, Id) -> Result<Id, OpError>,
) -> Result<Vec<Id>, OpError> {
    let [x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero] = r.take()?;
    let elem = r
        .element(7)
        .ok_or_else(|| OpError::unsupported("a zero point of unknown type in place", 7))?;
    let [x_axis, w_axis, y_axis] = axes;
    let x = shifted(r, x, Some(x_zero), x_axis)?;
    let w = shifted(r, w, Some(w_zero), w_axis)?;
    let mut y = layer(r, x, w)?;
    if let Some(bias) = r.optional(8) {
        let bias = along(r, bias, y, 1)?;
        y = r.b.add(y, bias)?;
    }
    let x_scale = along(r, x_scale, y, x_axis)?;
    let w_scale = along(r, w_scale, y, y_axis)?;
    let scaled = r.b.mul(y, x_scale)?;
    let scaled = r.b.mul(scaled, w_scale)?;
    let y_scale = along(r, y_scale, y, y_axis)?;
    let zero = along(r, y_zero, y, y_axis)?;
    Ok(vec![quantised(r, scaled, y_scale, Some(zero), range(elem)?)?])
}

fn read_linear_matmul(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    read_linear(r, [-2, -1, -1], |r, a, b| r.b.push(MatMul, &[a, b]))
}

fn read_linear_conv(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    read_linear(r, [1, 0, 1], convolved)
}

fn bytes(values: &[i64]) -> taste_graph::Tensor {
    taste_graph::Tensor::ints(values)
}

fn scalar(value: f64) -> taste_graph::Tensor {
    taste_graph::Tensor::scalar(value)
}

fn quantize_samples() -> Vec<Sample> {
    vec![
        Sample::new("bytes").active(&[2, 3]).constant(scalar(0.05)).batched(),
        Sample::new("to a type")
            .active(&[2, 3])
            .constant(scalar(0.05))
            .attribute(builders::attr_int("output_dtype", i64::from(ElemType::I8.code())))
            .opset(21)
            .batched(),
        Sample::new("by axis")
            .active(&[2, 3])
            .constant(ndarray::arr1(&[0.05, 0.1, 0.02]).into_dyn().into())
            .constant(bytes(&[1, 0, -2]))
            .batched(),
    ]
}

fn dequantize_samples() -> Vec<Sample> {
    let scales = || taste_graph::Tensor::from(ndarray::arr1(&[0.1, 0.2, 0.4]).into_dyn());
    vec![
        Sample::new("one scale").fed(bytes(&[1, -5, 7])).constant(scalar(0.1)),
        Sample::new("by axis")
            .fed(ndarray::arr2(&[[1i64, -5, 7], [0, 2, 3]]).into_dyn().into())
            .constant(scales())
            .constant(bytes(&[1, 0, -2]))
            .batched(),
        Sample::new("a scale for every entry of a bias")
            .fed(bytes(&[70000, -5, 7]))
            .constant(scales())
            .constant(bytes(&[1, 0, -2]))
            .int("axis", 0),
    ]
}

fn dynamic_samples() -> Vec<Sample> {
    vec![Sample::new("a sample").fixed(&[1, 4]).results(3)]
}

fn matmul_samples() -> Vec<Sample> {
    let a = ndarray::arr2(&[[12i64, 3, 250], [0, 7, 9]]).into_dyn();
    let b = ndarray::arr2(&[[1i64, -3], [4, 5], [-6, 2]]).into_dyn();
    vec![
        Sample::new("zero points")
            .fed(a.clone().into())
            .constant(b.clone().into())
            .constant(ndarray::arr0(12i64).into_dyn().into())
            .constant(bytes(&[1, -1]))
            .batched(),
        Sample::new("without").fed(a.into()).constant(b.into()).batched(),
    ]
}

fn conv_samples() -> Vec<Sample> {
    let x = ndarray::Array::from_shape_fn((1, 1, 4, 4), |(_, _, i, j)| (i * 5 + j) as i64);
    let w = ndarray::Array::from_shape_fn((2, 1, 2, 2), |(o, _, i, j)| (o + i + j) as i64 - 1);
    vec![
        Sample::new("padded")
            .fed(x.into_dyn().into())
            .constant(w.into_dyn().into())
            .constant(ndarray::arr0(3i64).into_dyn().into())
            .int_list("pads", &[1, 1, 0, 0])
            .batched(),
    ]
}

/// A sample between quantised values, with scales and zero points.
fn linear_sample(title: &str, x: taste_graph::Tensor, w: taste_graph::Tensor) -> Sample {
    let zero = |value: i64| ndarray::arr0(value).into_dyn().into();
    let sample = Sample::new(title).fed(x).constant(scalar(0.1)).constant(zero(3)).constant(w);
    let sample = sample.constant(scalar(0.05)).constant(zero(0));
    sample.constant(scalar(0.02)).constant(zero(5)).batched()
}

fn linear_conv_samples() -> Vec<Sample> {
    let x = ndarray::Array::from_shape_fn((1, 1, 3, 3), |(_, _, i, j)| (i * 4 + j) as i64);
    let w = ndarray::Array::from_shape_fn((2, 1, 2, 2), |(o, _, i, j)| (o + i + j) as i64 - 1);
    vec![linear_sample("a convolution", x.into_dyn().into(), w.into_dyn().into())]
}

fn linear_matmul_samples() -> Vec<Sample> {
    let a = ndarray::arr2(&[[12i64, 3, 250], [0, 7, 9]]).into_dyn();
    let b = ndarray::arr2(&[[1i64, -3], [4, 5], [-6, 2]]).into_dyn();
    vec![linear_sample("a product", a.into(), b.into())]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("ConvInteger", read_conv_integer, conv_samples),
    Entry::new("DequantizeLinear", read_dequantize, dequantize_samples),
    Entry::new("DynamicQuantizeLinear", read_dynamic, dynamic_samples),
    Entry::new("MatMulInteger", read_matmul_integer, matmul_samples),
    Entry::new("QLinearConv", read_linear_conv, linear_conv_samples),
    Entry::new("QLinearMatMul", read_linear_matmul, linear_matmul_samples),
    Entry::new("QuantizeLinear", read_quantize, quantize_samples),
];
