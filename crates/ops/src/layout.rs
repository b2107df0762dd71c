//! Moving elements without changing them.

use taste_graph::{
    Dim, Id, OpError, Tensor,
    algebra::{Concat, Expand, Slice, Span},
};

use crate::{Entry, Reader, Sample};

fn read_identity(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    Ok(vec![r.arg(0)?])
}

fn read_transpose(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    let rank = r.rank(x);
    let perm = r.sizes("perm")?.unwrap_or_else(|| (0..rank).rev().collect());
    if perm.len() != rank {
        return Err(OpError::shape("a permutation of the axes", rank, perm));
    }
    Ok(vec![r.b.transpose(x, &perm)?])
}

/// The product of sizes of which at most one depends on the batch.
pub(crate) fn product(dims: &[Dim]) -> Option<Dim> {
    dims.iter().try_fold(Dim::from(1), |p, d| match (p.as_fixed(), d.as_fixed()) {
        (Some(k), _) => {
            Some(Dim { per_batch: d.per_batch.checked_mul(k)?, fixed: d.fixed.checked_mul(k)? })
        }
        (_, Some(k)) => {
            Some(Dim { per_batch: p.per_batch.checked_mul(k)?, fixed: p.fixed.checked_mul(k)? })
        }
        _ => None,
    })
}

fn divide(whole: Dim, part: Dim) -> Option<Dim> {
    if part.depends_on_batch() {
        return (part.fixed == 0 && whole.fixed == 0 && whole.per_batch % part.per_batch == 0)
            .then(|| Dim { per_batch: 0, fixed: whole.per_batch / part.per_batch });
    }
    let k = part.fixed;
    (k != 0 && whole.per_batch % k == 0 && whole.fixed % k == 0)
        .then(|| Dim { per_batch: whole.per_batch / k, fixed: whole.fixed / k })
}

fn read_reshape(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let zero_is_zero = r.flag("allowzero", false);
    let mut target = r.known_ints(1)?;
    let from = r.fact(x).shape.clone();
    let minus_one = Dim { per_batch: 0, fixed: -1 };
    for (i, dim) in target.iter_mut().enumerate() {
        if *dim == Dim::from(0) && !zero_is_zero {
            *dim = *from
                .get(i)
                .ok_or_else(|| OpError::shape("an axis to copy below", from.len(), i))?;
        }
    }
    if let Some(open) = target.iter().position(|d| *d == minus_one) {
        let rest: Vec<Dim> = target.iter().copied().filter(|d| *d != minus_one).collect();
        let size = product(&from).zip(product(&rest)).and_then(|(whole, part)| divide(whole, part));
        target[open] = size.ok_or_else(|| {
            OpError::shape("a shape that −1 can complete", show(&from), show(&target))
        })?;
    }
    Ok(vec![r.b.reshape(x, &target)?])
}

fn show(dims: &[Dim]) -> String {
    dims.iter().map(Dim::to_string).collect::<Vec<_>>().join("×")
}

fn read_expand(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let shape = r.known_ints(1)?;
    if shape.len() < r.rank(x) {
        // Fewer axes than the argument has: they align from the right.
        let mut full = vec![Dim::from(1); r.rank(x) - shape.len()];
        full.extend(shape);
        return Ok(vec![r.b.push(Expand { shape: full }, &[x])?]);
    }
    let mut aligned = vec![Dim::from(1); shape.len() - r.rank(x)];
    aligned.extend(&r.fact(x).shape);
    let x = r.b.reshape(x, &aligned)?;
    Ok(vec![r.b.push(Expand { shape }, &[x])?])
}

fn read_concat(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let args: Vec<Id> = (0..r.arity()).map(|i| r.arg(i)).collect::<Result<_, _>>()?;
    let rank = r.rank(r.arg(0)?);
    let axis = r.int("axis").ok_or_else(|| OpError::invalid("attribute axis is missing"))?;
    let axis = r.axis(axis, rank)?;
    Ok(vec![r.b.push(Concat { axis }, &args)?])
}

fn read_slice(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let rank = r.rank(x);
    let (starts, ends) = (r.known_ints(1)?, r.known_ints(2)?);
    let count = starts.len();
    let axes = match r.optional(3) {
        Some(_) => r.fixed_ints(3)?,
        None => (0..count as i64).collect(),
    };
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
    let (first, len) = if step > 0 {
        let (start, end) = (wrap(start).clamp(0, size), wrap(end).clamp(0, size));
        (start, (end - start).max(0).unsigned_abs().div_ceil(step.unsigned_abs()))
    } else if step < 0 {
        let (start, end) = (wrap(start).clamp(-1, size - 1), wrap(end).clamp(-1, size - 1));
        (start, (start - end).max(0).unsigned_abs().div_ceil(step.unsigned_abs()))
    } else {
        return Err(OpError::invalid("a slice with step 0"));
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

fn read_shape(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let rank = r.rank(x) as i64;
    let clamp = |v: i64| if v < 0 { v + rank } else { v }.clamp(0, rank);
    let (start, end) = (clamp(r.int_or("start", 0)), clamp(r.int_or("end", rank)));
    let shape = r.b.graph_mut().shape_of(x)?;
    if (start, end) == (0, rank) {
        return Ok(vec![shape]);
    }
    let len = usize::try_from((end - start).max(0)).unwrap_or(0);
    let start = usize::try_from(start).unwrap_or(0);
    Ok(vec![r.b.push(Slice::along(0, Span { start, step: 1, len }), &[shape])?])
}

fn transpose_samples() -> Vec<Sample> {
    vec![
        Sample::new("reversed").active(&[2, 3]),
        Sample::new("three axes").active(&[2, 3, 2]).int_list("perm", &[1, 2, 0]),
        Sample::new("batch stays").active(&[2, 3, 2]).int_list("perm", &[0, 2, 1]).batched(),
        Sample::new("batch moves").active(&[2, 3, 2]).int_list("perm", &[1, 0, 2]).batched(),
    ]
}

fn reshape_samples() -> Vec<Sample> {
    vec![
        Sample::new("flat").active(&[2, 3, 2]).ints(&[2, 6]),
        Sample::new("the rest").active(&[2, 3, 2]).ints(&[-1, 6]).batched(),
        Sample::new("copied axis").active(&[2, 3, 2]).ints(&[0, -1]).batched(),
        Sample::new("batch inside another axis").active(&[2, 3, 2]).ints(&[-1, 2]).batched(),
    ]
}

fn expand_samples() -> Vec<Sample> {
    vec![
        Sample::new("new axis").active(&[3, 1]).ints(&[2, 3, 4]),
        Sample::new("one axis grows").active(&[2, 1, 3]).ints(&[1, 2, 3]).batched(),
        Sample::new("fewer axes").active(&[2, 1]).ints(&[3]),
    ]
}

fn concat_samples() -> Vec<Sample> {
    vec![
        Sample::new("two").active(&[2, 3]).active(&[2, 1]).int("axis", 1).batched(),
        Sample::new("with a constant").active(&[2, 3]).fixed(&[1, 3]).int("axis", 0),
        Sample::new("from the end").active(&[2, 2, 1]).active(&[2, 2, 2]).int("axis", -1).batched(),
    ]
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
        of("whole").ints(&[0]).ints(&[100]).ints(&[1]),
    ]
}

fn shape_samples() -> Vec<Sample> {
    vec![
        Sample::new("all").active(&[2, 3]).batched(),
        Sample::new("part").active(&[2, 3, 4]).int("start", 1).int("end", -1),
        Sample::new("of a constant").constant(Tensor::scalar(1.0)),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Concat", read_concat, concat_samples),
    Entry::new("Expand", read_expand, expand_samples),
    Entry::new("Identity", read_identity, || {
        vec![Sample::new("as it is").active(&[2, 3]).batched()]
    }),
    Entry::new("Reshape", read_reshape, reshape_samples),
    Entry::new("Shape", read_shape, shape_samples),
    Entry::new("Slice", read_slice, slice_samples),
    Entry::new("Transpose", read_transpose, transpose_samples),
];
