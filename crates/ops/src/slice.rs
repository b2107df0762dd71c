//! Parts along axes.

use taste_graph::{
    Dim, Id, OpError,
    algebra::{Slice, Span},
};

use crate::{Entry, Reader, Sample};

fn read_slice(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let rank = r.rank(x);
    let listed = |values: Vec<i64>| -> Vec<Dim> {
        values.into_iter().map(|v| Dim { per_batch: 0, fixed: v }).collect()
    };
    let (starts, ends) = match (r.ints("starts"), r.ints("ends")) {
        (Some(starts), Some(ends)) => (listed(starts), listed(ends)),
        _ => (r.known_ints(1)?, r.known_ints(2)?),
    };
    let count = starts.len();
    let axes = r.axes("axes", 3)?.unwrap_or_else(|| (0..count as i64).collect());
    let steps = match r.optional(4) {
        Some(_) => r.fixed_ints(4)?,
        None => vec![1; count],
    };
    if [ends.len(), axes.len(), steps.len()] != [count; 3] {
        return Err(OpError::shape("as many ends, axes and steps as starts", count, ends.len()));
    }
    let mut spans = Vec::new();
    for i in 0..count {
        let axis = r.axis(axes[i], rank)?;
        if axes[..i].iter().any(|&a| r.axis(a, rank) == Ok(axis)) {
            return Err(OpError::invalid(format!("axis {axis} is sliced twice")));
        }
        let size = r.fact(x).shape[axis];
        if let Some(span) = span(size, starts[i], ends[i], steps[i])? {
            spans.push((axis, span));
        }
    }
    if spans.is_empty() {
        return Ok(vec![x]);
    }
    Ok(vec![r.b.push(Slice { spans }, &[x])?])
}

/// The positions of an ONNX slice; nothing if it is the whole axis.
fn span(size: Dim, start: Dim, end: Dim, step: i64) -> Result<Option<Span>, OpError> {
    let open_end = end.as_fixed().is_some_and(|e| e >= i64::from(i32::MAX));
    if size.depends_on_batch() {
        let whole = start == Dim::from(0) && step == 1 && (open_end || end == size);
        return if whole {
            Ok(None)
        } else {
            Err(OpError::unsupported("a slice of an axis that depends on the batch", size))
        };
    }
    let fixed = |d: Dim| {
        d.as_fixed()
            .ok_or_else(|| OpError::unsupported("a slice whose ends depend on the batch", d))
    };
    let (size, start, end) = (size.fixed, fixed(start)?, fixed(end)?);
    let wrap = |v: i64| if v < 0 { v.saturating_add(size) } else { v };
    let (first, len) = match step {
        0 => return Err(OpError::invalid("a slice with step 0")),
        1.. => {
            let (start, end) = (wrap(start).clamp(0, size), wrap(end).clamp(0, size));
            (start, (end - start).max(0).unsigned_abs().div_ceil(step.unsigned_abs()))
        }
        _ => {
            let start = if size == 0 { -1 } else { wrap(start).clamp(0, size - 1) };
            let end = wrap(end).clamp(-1, size - 1);
            (start, (start - end).max(0).unsigned_abs().div_ceil(step.unsigned_abs()))
        }
    };
    if first == 0 && step == 1 && len == size.unsigned_abs() {
        return Ok(None);
    }
    let convert = |_| OpError::invalid("a slice larger than memory");
    Ok(Some(Span {
        start: usize::try_from(first.max(0)).map_err(convert)?,
        step: isize::try_from(step).map_err(convert)?,
        len: usize::try_from(len).map_err(convert)?,
    }))
}

fn read_split(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let axis = r.int_or("axis", 0);
    let axis = r.axis(axis, r.rank(x))?;
    let size = r.fixed_size(x, axis)?;
    let results = r.results();
    let count = r.int("num_outputs").map_or(Ok(results), |n| {
        usize::try_from(n)
            .ok()
            .filter(|n| *n == results)
            .ok_or_else(|| OpError::shape("as many outputs as named", results, n))
    })?;
    let lens = if let Some(lens) = r.axes("split", 1)? {
        crate::reader::to_sizes(&lens)?
    } else {
        // Equal parts, of which the last may be smaller.
        let len = size.div_ceil(count.max(1));
        (0..count).map(|i| size.saturating_sub(i * len).min(len)).collect()
    };
    let whole = lens.iter().try_fold(0usize, |n, &l| n.checked_add(l));
    if lens.len() != results || whole != Some(size) {
        return Err(OpError::shape("parts that make up the axis", size, lens));
    }
    let mut start = 0;
    let mut parts = Vec::with_capacity(lens.len());
    for len in lens {
        parts.push(if len == size {
            x
        } else {
            r.b.push(Slice::along(axis, Span { start, step: 1, len }), &[x])?
        });
        start += len;
    }
    Ok(parts)
}

fn slice_samples() -> Vec<Sample> {
    let of = |title: &str| Sample::new(title).active(&[2, 5, 4]).batched();
    vec![
        of("one axis").ints(&[1]).ints(&[3]).ints(&[1]),
        of("strided").ints(&[0]).ints(&[i64::MAX]).ints(&[1]).ints(&[2]),
        of("strided from one").ints(&[1]).ints(&[5]).ints(&[1]).ints(&[3]),
        of("backwards").ints(&[-1]).ints(&[i64::MIN]).ints(&[2]).ints(&[-1]),
        of("backwards in twos").ints(&[4]).ints(&[0]).ints(&[1]).ints(&[-2]),
        of("two axes").ints(&[1, 0]).ints(&[-1, 2]).ints(&[1, 2]),
        of("before the first").ints(&[-9]).ints(&[i64::MIN]).ints(&[1]).ints(&[-1]),
        of("nothing").ints(&[3]).ints(&[1]).ints(&[1]),
        of("as attributes")
            .int_list("starts", &[1, 0])
            .int_list("ends", &[9, -1])
            .int_list("axes", &[1, 2])
            .opset(9),
        of("whole").ints(&[0]).ints(&[100]).ints(&[1]),
    ]
}

fn split_samples() -> Vec<Sample> {
    let of = |title: &str| Sample::new(title).active(&[2, 5, 2]).int("axis", 1).batched();
    vec![
        of("given parts").ints(&[1, 4]).results(2),
        of("an empty part").ints(&[2, 0, 3]).results(3),
        of("a smaller last part").int("num_outputs", 3).results(3),
        of("parts as attribute").int_list("split", &[3, 2]).results(2).opset(11),
        Sample::new("equal parts").active(&[4, 2]).results(2).opset(13),
        Sample::new("last axis").active(&[2, 4]).int("axis", -1).results(2).opset(13).batched(),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Slice", read_slice, slice_samples),
    Entry::new("Split", read_split, split_samples),
];
