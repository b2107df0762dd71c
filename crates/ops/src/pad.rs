//! Padding, and cropping as padding by less than nothing.

use taste_graph::{
    DType, Dim, Id, OpError, Tensor,
    algebra::{Concat, Scatter, Slice, Span},
    grid,
};

use crate::{Entry, Reader, Sample};

/// What is added along an axis; nothing is negative.
#[derive(Clone, Copy, Debug)]
struct Margin {
    axis: usize,
    size: usize,
    before: usize,
    after: usize,
}

/// The largest tensor of constants that padding with something other than zeros makes.
const OFFSET_LIMIT: usize = 1 << 24;

fn read(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let rank = r.rank(x);
    let mode = r.string_or("mode", "constant");
    let attribute = r.ints("pads");
    let value = r.float_or("value", 0.0);
    let (pads, given) = match attribute {
        Some(pads) => (pads, None),
        None => (r.fixed_ints(1)?, r.optional(2)),
    };
    let axes = match r.optional(3) {
        Some(_) => {
            let axes = r.fixed_ints(3)?;
            axes.into_iter().map(|a| r.axis(a, rank)).collect::<Result<Vec<_>, _>>()?
        }
        None => (0..rank).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(OpError::shape("two pads an axis", 2 * axes.len(), pads.len()));
    }
    let pads: Vec<(usize, [i64; 2])> =
        axes.iter().enumerate().map(|(i, &a)| (a, [pads[i], pads[i + axes.len()]])).collect();
    let x = crop(r, x, &pads)?;
    let mut margins = Vec::new();
    for &(axis, pad) in pads.iter().filter(|(_, pad)| pad.iter().any(|&p| p > 0)) {
        let size = r.fixed_size(x, axis)?;
        let [before, after] = pad.map(|p| usize::try_from(p).unwrap_or(0));
        let total = size.checked_add(before).and_then(|s| s.checked_add(after));
        if total.is_none_or(|t| i32::try_from(t).is_err()) {
            return Err(OpError::unsupported("padding of", format!("{before} and {after}")));
        }
        if margins.iter().any(|m: &Margin| m.axis == axis) {
            return Err(OpError::invalid(format!("axis {axis} is padded twice")));
        }
        margins.push(Margin { axis, size, before, after });
    }
    if margins.is_empty() {
        return Ok(vec![x]);
    }
    match mode.as_str() {
        "constant" => constant(r, x, &margins, value, given),
        "edge" | "reflect" | "wrap" => {
            let mut y = x;
            for margin in margins {
                y = copy(r, y, margin, &mode)?;
            }
            Ok(vec![y])
        }
        _ => Err(OpError::unsupported("padding mode", mode)),
    }
}

fn crop(r: &mut Reader<'_, '_>, x: Id, pads: &[(usize, [i64; 2])]) -> Result<Id, OpError> {
    let mut spans = Vec::new();
    for &(axis, pad) in pads.iter().filter(|(_, pad)| pad.iter().any(|&p| p < 0)) {
        let size = r.fixed_size(x, axis)?;
        let [before, after] =
            pad.map(|p| usize::try_from(p.min(0).unsigned_abs()).unwrap_or(usize::MAX));
        let len = size
            .checked_sub(before)
            .and_then(|s| s.checked_sub(after))
            .ok_or_else(|| OpError::shape("an axis to crop of at least", pad, size))?;
        spans.push((axis, Span { start: before, step: 1, len }));
    }
    if spans.is_empty() { Ok(x) } else { r.b.push(Slice { spans }, &[x]) }
}

/// Zeros around x, and the constant added where they are.
fn constant(
    r: &mut Reader<'_, '_>,
    x: Id,
    margins: &[Margin],
    attribute: f64,
    given: Option<Id>,
) -> Result<Vec<Id>, OpError> {
    let dtype = r.fact(x).dtype;
    let sizes = margins.iter().map(|m| m.before + m.size + m.after).collect::<Vec<_>>();
    let spans =
        margins.iter().map(|m| (m.axis, Span { start: m.before, step: 1, len: m.size })).collect();
    let y = r.b.push(Scatter { spans, sizes: sizes.clone() }, &[x])?;
    let fill = match given {
        Some(id) => match r.b.graph().as_constant(id) {
            Some(tensor) if tensor.len() == 1 => Some(tensor.clone()),
            Some(tensor) => return Err(OpError::shape("one value to pad with", 1, tensor.shape())),
            None => None,
        },
        None if dtype == DType::Float => Some(Tensor::scalar(attribute)),
        None => return Ok(vec![y]),
    };
    let is_zero = match &fill {
        Some(Tensor::Float(a)) => a.iter().all(|&v| v == 0.0),
        Some(Tensor::Int(a)) => a.iter().all(|&v| v == 0),
        Some(Tensor::Bool(a)) => a.iter().all(|&v| !v),
        None => false,
    };
    if is_zero {
        return Ok(vec![y]);
    }
    let mut shape = vec![1; r.rank(x)];
    for (margin, &size) in margins.iter().zip(&sizes) {
        shape[margin.axis] = size;
    }
    let count = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    if count.is_none_or(|n| n > OFFSET_LIMIT) {
        return Err(OpError::unsupported("padding with a constant of", format!("{shape:?}")));
    }
    let outside = |i: &[usize]| {
        margins.iter().any(|m| i[m.axis] < m.before || i[m.axis] >= m.before + m.size)
    };
    let offset = match (&fill, given, dtype) {
        (Some(Tensor::Float(a)), _, DType::Float) => {
            let v = a.first().copied().unwrap_or_default();
            let offset = |i: &[usize]| if outside(i) { v } else { 0.0 };
            r.b.graph_mut().constant(grid(&shape, offset).into())
        }
        (Some(Tensor::Int(a)), _, DType::Int) => {
            let v = a.first().copied().unwrap_or_default();
            let offset = |i: &[usize]| if outside(i) { v } else { 0 };
            r.b.graph_mut().constant(grid(&shape, offset).into())
        }
        (None, Some(value), DType::Float) if r.fact(value).dtype == DType::Float => {
            let mask = |i: &[usize]| f64::from(u8::from(outside(i)));
            let mask = r.b.graph_mut().constant(grid(&shape, mask).into());
            let value = r.b.reshape(value, &vec![Dim::from(1); shape.len()])?;
            r.b.mul(mask, value)?
        }
        _ => return Err(OpError::unsupported("this value to pad with for", dtype)),
    };
    Ok(vec![r.b.add(y, offset)?])
}

/// Copies of elements on either side: the last one (edge), those before it backwards (reflect), or
/// those at the other end (wrap).
fn copy(r: &mut Reader<'_, '_>, x: Id, margin: Margin, mode: &str) -> Result<Id, OpError> {
    let Margin { axis, size, before, after } = margin;
    let reach = match mode {
        "edge" => usize::MAX,
        "reflect" => size.saturating_sub(1),
        _ => size,
    };
    if size == 0 || before.max(after) > reach {
        return Err(OpError::unsupported(
            "copies beyond the whole axis",
            format!("{before} and {after} on an axis of {size}"),
        ));
    }
    let spans = match mode {
        "edge" => [Span { start: 0, step: 1, len: 1 }, Span { start: size - 1, step: 1, len: 1 }],
        "reflect" => [
            Span { start: before, step: -1, len: before },
            Span { start: size.saturating_sub(2), step: -1, len: after },
        ],
        _ => [
            Span { start: size.saturating_sub(before), step: 1, len: before },
            Span { start: 0, step: 1, len: after },
        ],
    };
    let mut sides = [None; 2];
    for ((side, span), len) in sides.iter_mut().zip(spans).zip([before, after]) {
        if len == 0 {
            continue;
        }
        let mut piece = r.b.push(Slice::along(axis, span), &[x])?;
        if span.len != len {
            let mut shape = r.fact(piece).shape.clone();
            shape[axis] = Dim::from(len);
            piece = r.b.expand(piece, &shape)?;
        }
        *side = Some(piece);
    }
    let [first, last] = sides;
    let pieces: Vec<Id> = first.into_iter().chain([x]).chain(last).collect();
    r.b.push(Concat { axis }, &pieces)
}

fn samples() -> Vec<Sample> {
    let of = |title: &str| Sample::new(title).active(&[2, 3, 4]).batched();
    let rows = &[0, 0, 1, 0, 0, 2];
    let both = &[0, 1, 2, 0, 2, 1];
    vec![
        of("zeros").ints(rows),
        of("zeros on two axes").ints(both).constant(Tensor::scalar(0.0)),
        of("a constant").ints(both).constant(Tensor::scalar(-1.5)),
        of("a constant as attribute")
            .int_list("pads", both)
            .float("value", 0.5)
            .string("mode", "constant")
            .opset(9),
        of("some axes").ints(&[1, 2, 0, 1]).omitted().ints(&[-1, 1]),
        of("cropped").ints(&[0, -1, 1, 0, 0, -2]),
        of("cropped only").ints(&[0, 0, -1, 0, -1, -1]),
        of("reflect").ints(both).string("mode", "reflect"),
        of("reflect, cropped").ints(&[0, -1, 2, 0, 1, -1]).string("mode", "reflect"),
        of("edge").ints(&[0, 2, 1, 0, 0, 3]).string("mode", "edge"),
        of("wrap").ints(both).string("mode", "wrap"),
        Sample::new("a computed value").active(&[2, 3]).ints(&[0, 1, 1, 0]).active(&[]),
        Sample::new("the first axis").active(&[3, 2]).ints(&[1, 0, 2, 1]),
        Sample::new("integers").fed(Tensor::ints(&[3, 4])).ints(&[1, 2]),
        Sample::new("integers, a constant")
            .fed(Tensor::ints(&[3, 4]))
            .ints(&[1, 2])
            .constant(Tensor::ints(&[7])),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[Entry::new("Pad", read, samples)];
