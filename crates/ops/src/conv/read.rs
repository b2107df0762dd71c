//! Convolutions from ONNX.

use taste_graph::{
    Dim, Id, OpError,
    algebra::{Scatter, Span},
};

use super::{
    Conv, Place,
    window::{Attributes, Padding, Window, spatial},
};
use crate::{Entry, Reader, Sample};

pub(super) fn read_groups(r: &mut Reader<'_, '_>) -> Result<usize, OpError> {
    let group = r.int_or("group", 1);
    usize::try_from(group)
        .ok()
        .filter(|&g| g > 0)
        .ok_or_else(|| OpError::shape("group", "at least 1", group))
}

/// What a transposed convolution adds behind the last window, for each of `rank` spatial axes.
pub(super) fn read_extra(r: &mut Reader<'_, '_>, rank: usize) -> Result<Vec<usize>, OpError> {
    let extra = r.sizes("output_padding")?.unwrap_or_else(|| vec![0; rank]);
    if extra.len() != rank {
        return Err(OpError::shape("an entry for each spatial axis", rank, extra));
    }
    Ok(extra)
}

/// The result with a bias for each channel, if the node has one.
fn add_bias(r: &mut Reader<'_, '_>, y: Id, rank: usize) -> Result<Vec<Id>, OpError> {
    let Some(bias) = r.optional(2) else { return Ok(vec![y]) };
    let channels = r.fact(y).shape[1];
    if r.fact(bias).shape != [channels] {
        let got = r.fact(bias).to_string();
        return Err(OpError::shape("a bias for each channel", channels.to_string(), got));
    }
    let mut shape = vec![channels];
    shape.resize(1 + rank, Dim::from(1));
    let bias = r.b.reshape(bias, &shape)?;
    Ok(vec![r.b.add(y, bias)?])
}

/// A convolution by the node's attributes, without a bias.
pub(crate) fn convolved(r: &mut Reader<'_, '_>, x: Id, w: Id) -> Result<Id, OpError> {
    let (size, kernel) = (spatial(r, x)?, spatial(r, w)?);
    if kernel.len() != size.len() {
        return Err(OpError::shape("weights with spatial axes", size, kernel));
    }
    let window = Attributes::read(r, size.len(), Some(&kernel))?.window(&size)?;
    let groups = read_groups(r)?;
    r.b.push(Conv { window, groups, yields: Place::Y, size }, &[x, w])
}

fn read_conv(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, w] = r.take()?;
    let rank = spatial(r, x)?.len();
    let y = convolved(r, x, w)?;
    add_bias(r, y, rank)
}

/// Padding and size of the result of a transposed convolution along one axis.
struct Transposed {
    begin: usize,
    end: usize,
    size: usize,
    /// Zeros behind the last element, beyond the reach of the window.
    beyond: usize,
}

fn transposed(
    window: &Window,
    axis: usize,
    positions: usize,
    pads: Option<(usize, usize)>,
    extra: usize,
    wanted: Option<usize>,
    upper: bool,
) -> Result<Transposed, OpError> {
    let empty = || OpError::shape("an axis of at least", 1, 0);
    let stride = window.strides[axis];
    let covered = positions
        .checked_sub(1)
        .and_then(|p| p.checked_mul(stride))
        .and_then(|p| p.checked_add(window.reach(axis)))
        .ok_or_else(empty)?;
    let (begin, size) = match (wanted, pads) {
        (None, Some((begin, end))) => (begin, (covered + extra).checked_sub(begin + end)),
        (wanted, _) => {
            let size = wanted.unwrap_or(positions.saturating_mul(stride));
            let total = (covered + extra).saturating_sub(size);
            (if upper { total / 2 } else { total.div_ceil(2) }, Some(size))
        }
    };
    let size = size.filter(|&s| s > 0).ok_or_else(empty)?;
    let end = covered.saturating_sub(begin.saturating_add(size));
    // The window must not find room for another position.
    let most = (covered + stride - 1).saturating_sub(begin + end);
    let beyond = size.saturating_sub(most);
    if beyond >= size {
        return Err(OpError::shape("an axis that the window reaches", size, begin));
    }
    Ok(Transposed { begin, end, size: size - beyond, beyond })
}

/// The adjoint of a convolution. Sizes that strides leave open are given by the padding of the result.
fn read_transposed(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [y, w] = r.take()?;
    let (positions, kernel) = (spatial(r, y)?, spatial(r, w)?);
    let rank = positions.len();
    if kernel.len() != rank {
        return Err(OpError::shape("weights with spatial axes", positions, kernel));
    }
    let attributes = Attributes::read(r, rank, Some(&kernel))?;
    let groups = read_groups(r)?;
    let extra = read_extra(r, rank)?;
    let wanted = r.sizes("output_shape")?.filter(|s| !s.is_empty());
    let wanted = match wanted {
        Some(s) if s.len() == rank + 2 => Some(s[2..].to_vec()),
        other => other,
    };
    if let Some(list) = wanted.as_ref().filter(|l| l.len() != rank) {
        return Err(OpError::shape("an entry for each spatial axis", rank, list));
    }
    if let Some(large) = extra.iter().chain(wanted.iter().flatten()).find(|v| **v > 1 << 31) {
        return Err(OpError::unsupported("an output of this size", large));
    }
    let mut window = attributes.padded(vec![0; rank], vec![0; rank]);
    let mut size = Vec::with_capacity(rank);
    let (mut spans, mut sizes) = (Vec::new(), Vec::new());
    for axis in 0..rank {
        let pads = match &attributes.padding {
            Padding::Explicit(pads) => Some((pads[axis], pads[rank + axis])),
            _ => None,
        };
        let upper = attributes.padding == Padding::SameUpper;
        let wanted = wanted.as_ref().map(|w| w[axis]);
        let t = transposed(&window, axis, positions[axis], pads, extra[axis], wanted, upper)?;
        window.begin[axis] = t.begin;
        window.end[axis] = t.end;
        size.push(t.size);
        if t.beyond > 0 {
            spans.push((axis + 2, Span { start: 0, step: 1, len: t.size }));
            sizes.push(t.size + t.beyond);
        }
    }
    window.check()?;
    let mut x = r.b.push(Conv { window, groups, yields: Place::X, size }, &[y, w])?;
    if !spans.is_empty() {
        x = r.b.push(Scatter { spans, sizes }, &[x])?;
    }
    add_bias(r, x, rank)
}

fn conv_samples() -> Vec<Sample> {
    let same = |title: &str, mode: &str| {
        Sample::new(title)
            .active(&[2, 1, 3, 4])
            .fixed(&[2, 1, 2, 3])
            .string("auto_pad", mode)
            .int_list("strides", &[2, 2])
            .batched()
    };
    vec![
        Sample::new("three axes")
            .active(&[1, 1, 3, 2, 3])
            .fixed(&[1, 1, 2, 2, 2])
            .int_list("pads", &[0, 0, 1, 0, 1, 0])
            .batched(),
        Sample::new("padded, with bias")
            .active(&[2, 2, 3, 3])
            .fixed(&[2, 2, 3, 3])
            .fixed(&[2])
            .int_list("pads", &[1, 1, 1, 1])
            .int_list("kernel_shape", &[3, 3])
            .batched(),
        Sample::new("strided, odd size")
            .active(&[2, 1, 4, 5])
            .fixed(&[2, 1, 3, 3])
            .int_list("strides", &[2, 2])
            .int_list("pads", &[1, 1, 1, 1])
            .batched(),
        Sample::new("asymmetric padding, dilated")
            .active(&[2, 1, 4, 4])
            .fixed(&[2, 1, 2, 3])
            .int_list("pads", &[0, 2, 1, 0])
            .int_list("dilations", &[2, 1])
            .batched(),
        Sample::new("strided and dilated, more padding than reach")
            .active(&[1, 1, 4, 3])
            .fixed(&[1, 1, 2, 1])
            .int_list("pads", &[3, 1, 0, 2])
            .int_list("strides", &[2, 1])
            .int_list("dilations", &[2, 1]),
        Sample::new("depthwise")
            .active(&[2, 2, 3, 3])
            .fixed(&[2, 1, 2, 2])
            .int("group", 2)
            .batched(),
        Sample::new("groups of several channels")
            .active(&[1, 4, 3])
            .fixed(&[6, 2, 2])
            .int("group", 2)
            .int_list("pads", &[1, 0])
            .batched(),
        Sample::new("pointwise, strided")
            .active(&[1, 2, 3, 3])
            .fixed(&[3, 2, 1, 1])
            .int_list("strides", &[2, 2])
            .batched(),
        same("same, upper", "SAME_UPPER"),
        same("same, lower", "SAME_LOWER"),
        Sample::new("one axis")
            .active(&[2, 2, 5])
            .fixed(&[2, 2, 3])
            .int_list("strides", &[3])
            .int_list("pads", &[1, 1])
            .batched(),
        Sample::new("weights and bias vary")
            .active(&[2, 2, 3, 2])
            .active(&[2, 2, 2, 2])
            .active(&[2])
            .int_list("pads", &[0, 1, 1, 0]),
        Sample::new("weights vary, groups, strided")
            .active(&[2, 2, 6])
            .active(&[4, 1, 2])
            .int_list("strides", &[2])
            .int_list("dilations", &[2])
            .int("group", 2),
    ]
}

fn transposed_samples() -> Vec<Sample> {
    let same = |title: &str, mode: &str| {
        Sample::new(title)
            .active(&[1, 1, 3])
            .fixed(&[1, 1, 3])
            .int_list("strides", &[2])
            .string("auto_pad", mode)
    };
    vec![
        Sample::new("stride 1")
            .active(&[2, 2, 2, 3])
            .fixed(&[2, 2, 3, 2])
            .fixed(&[2])
            .int_list("pads", &[1, 0, 1, 1])
            .batched(),
        Sample::new("strided")
            .active(&[2, 1, 2, 2])
            .fixed(&[1, 2, 3, 3])
            .int_list("strides", &[2, 2])
            .int_list("pads", &[1, 1, 1, 1])
            .int_list("output_padding", &[1, 0])
            .batched(),
        Sample::new("dilated, groups")
            .active(&[1, 4, 3])
            .fixed(&[4, 1, 2])
            .int("group", 2)
            .int_list("dilations", &[2])
            .batched(),
        Sample::new("size given")
            .active(&[1, 1, 3, 3])
            .fixed(&[1, 2, 3, 3])
            .int_list("strides", &[3, 2])
            .int_list("output_shape", &[10, 8])
            .int_list("output_padding", &[1, 1]),
        same("same, upper", "SAME_UPPER"),
        same("same, lower", "SAME_LOWER"),
        Sample::new("size given, odd padding")
            .active(&[1, 1, 3])
            .fixed(&[1, 1, 4])
            .int_list("strides", &[2])
            .int_list("output_shape", &[5]),
        Sample::new("size given, beyond the window")
            .active(&[1, 1, 3])
            .fixed(&[1, 1, 2])
            .int_list("strides", &[2])
            .int_list("output_shape", &[9]),
        Sample::new("kernel shorter than the stride")
            .active(&[1, 2, 3])
            .fixed(&[2, 1, 1])
            .int_list("strides", &[2])
            .int_list("output_padding", &[1])
            .batched(),
        Sample::new("weights vary")
            .active(&[1, 2, 3])
            .active(&[2, 2, 2])
            .int_list("strides", &[2])
            .int_list("pads", &[1, 0]),
        Sample::new("weights vary, stride 1, groups")
            .active(&[1, 4, 3])
            .active(&[4, 2, 2])
            .int("group", 2)
            .int_list("pads", &[1, 0]),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Conv", read_conv, conv_samples),
    Entry::new("ConvTranspose", read_transposed, transposed_samples),
];
