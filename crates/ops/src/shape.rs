//! The same elements under another shape, and shapes as values.

use taste_graph::{
    Dim, Id, OpError, Tensor,
    algebra::{Expand, Slice, Span},
};

use crate::{Entry, Reader, Sample};

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

/// The shape without, or with, axes of size 1.
fn read_squeeze(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let shape = r.fact(x).shape.clone();
    let axes = match r.axes("axes", 1)? {
        Some(axes) => {
            axes.into_iter().map(|a| r.axis(a, shape.len())).collect::<Result<Vec<_>, _>>()?
        }
        None => (0..shape.len()).filter(|&a| shape[a] == Dim::from(1)).collect(),
    };
    if let Some(&axis) = axes.iter().find(|&&a| shape[a] != Dim::from(1)) {
        return Err(OpError::shape("an axis of size 1", axis, shape[axis]));
    }
    let rest: Vec<Dim> = (0..shape.len()).filter(|a| !axes.contains(a)).map(|a| shape[a]).collect();
    Ok(vec![r.b.reshape(x, &rest)?])
}

fn read_unsqueeze(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let axes = r.axes("axes", 1)?.ok_or_else(|| OpError::invalid("axes are missing"))?;
    let rank = r.rank(x) + axes.len();
    if rank > crate::import::AXIS_LIMIT {
        return Err(OpError::unsupported("a tensor with this many axes", rank));
    }
    let mut new = axes.into_iter().map(|a| r.axis(a, rank)).collect::<Result<Vec<_>, _>>()?;
    new.sort_unstable();
    if new.windows(2).any(|w| w[0] == w[1]) {
        return Err(OpError::shape("different axes", rank, new));
    }
    let mut shape = r.fact(x).shape.clone();
    for axis in new {
        shape.insert(axis, Dim::from(1));
    }
    Ok(vec![r.b.reshape(x, &shape)?])
}

fn read_flatten(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let shape = r.fact(x).shape.clone();
    let axis = r.int_or("axis", 1);
    let axis = if axis == shape.len() as i64 { shape.len() } else { r.axis(axis, shape.len())? };
    let (rows, columns) = shape.split_at(axis);
    let merged = product(rows).zip(product(columns));
    let (rows, columns) =
        merged.ok_or_else(|| OpError::unsupported("a flattened shape of", show(&shape)))?;
    Ok(vec![r.b.reshape(x, &[rows, columns])?])
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

/// Copies along every axis: a new axis beside it, broadcast and merged.
fn read_tile(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let shape = r.fact(x).shape.clone();
    let repeats = r.known_ints(1)?;
    if repeats.len() != shape.len() {
        return Err(OpError::shape("as many repeats as axes", shape.len(), repeats.len()));
    }
    if let Some(below) = repeats.iter().find(|d| d.value_at(1) < 0) {
        return Err(OpError::shape("repeats of at least", 0, below));
    }
    let one = Dim::from(1);
    let (mut split, mut spread, mut merged) = (Vec::new(), Vec::new(), Vec::new());
    for (&size, &times) in shape.iter().zip(&repeats) {
        if times != one && size != one {
            split.push(one);
            spread.push(times);
        }
        split.push(size);
        spread.push(if size == one { times } else { size });
        let whole = product(&[size, times]);
        merged.push(whole.ok_or_else(|| OpError::unsupported("repeats of the batch", times))?);
    }
    let x = r.b.reshape(x, &split)?;
    let x = r.b.expand(x, &spread)?;
    Ok(vec![r.b.reshape(x, &merged)?])
}

fn read_shape(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let rank = r.rank(x) as i64;
    let clamp = |v: i64| if v < 0 { v.saturating_add(rank) } else { v }.clamp(0, rank);
    let (start, end) = (clamp(r.int_or("start", 0)), clamp(r.int_or("end", rank)));
    let shape = r.b.graph_mut().shape_of(x)?;
    if (start, end) == (0, rank) {
        return Ok(vec![shape]);
    }
    let len = usize::try_from((end - start).max(0)).unwrap_or(0);
    let start = usize::try_from(start).unwrap_or(0);
    Ok(vec![r.b.push(Slice::along(0, Span { start, step: 1, len }), &[shape])?])
}

fn read_size(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let shape = r.fact(x).shape.clone();
    let (open, fixed): (Vec<usize>, Vec<usize>) =
        (0..shape.len()).partition(|&a| shape[a].depends_on_batch());
    let count = fixed.iter().try_fold(1i64, |n, &a| n.checked_mul(shape[a].fixed));
    let count = count.ok_or_else(|| OpError::invalid("a size beyond memory"))?;
    let mut size = r.b.graph_mut().constant(Tensor::ints(&[count]));
    if !open.is_empty() {
        let sizes = r.b.graph_mut().shape_of(x)?;
        for axis in open {
            let span = Span { start: axis, step: 1, len: 1 };
            let one = r.b.push(Slice::along(0, span), &[sizes])?;
            size = r.b.mul(size, one)?;
        }
    }
    Ok(vec![r.b.reshape(size, &[])?])
}

fn reshape_samples() -> Vec<Sample> {
    vec![
        Sample::new("flat").active(&[2, 3, 2]).ints(&[2, 6]),
        Sample::new("the rest").active(&[2, 3, 2]).ints(&[-1, 6]).batched(),
        Sample::new("copied axis").active(&[2, 3, 2]).ints(&[0, -1]).batched(),
        Sample::new("batch inside another axis").active(&[2, 3, 2]).ints(&[-1, 2]).batched(),
    ]
}

fn squeeze_samples() -> Vec<Sample> {
    vec![
        Sample::new("all").active(&[2, 1, 3, 1]).batched(),
        Sample::new("some").active(&[2, 1, 3, 1]).ints(&[-1]).batched(),
        Sample::new("axes as attribute")
            .active(&[2, 1, 3, 1])
            .int_list("axes", &[1, 3])
            .opset(11)
            .batched(),
    ]
}

fn unsqueeze_samples() -> Vec<Sample> {
    vec![
        Sample::new("in the middle").active(&[2, 3]).ints(&[1]).batched(),
        Sample::new("at both ends").active(&[2, 3]).ints(&[-1, 0]).batched(),
        Sample::new("axes as attribute")
            .active(&[2, 3])
            .int_list("axes", &[3, 1])
            .opset(11)
            .batched(),
    ]
}

fn flatten_samples() -> Vec<Sample> {
    vec![
        Sample::new("after the batch").active(&[2, 3, 2]).batched(),
        Sample::new("axis 2").active(&[2, 3, 2]).int("axis", 2).batched(),
        Sample::new("into one row").active(&[2, 3]).int("axis", 0).batched(),
        Sample::new("into one column").active(&[2, 3]).int("axis", 2).batched(),
        Sample::new("from the end").active(&[2, 3, 2]).int("axis", -1).batched(),
    ]
}

fn expand_samples() -> Vec<Sample> {
    vec![
        Sample::new("new axis").active(&[3, 1]).ints(&[2, 3, 4]),
        Sample::new("one axis grows").active(&[2, 1, 3]).ints(&[1, 2, 3]).batched(),
        Sample::new("fewer axes").active(&[2, 1]).ints(&[3]),
    ]
}

fn tile_samples() -> Vec<Sample> {
    vec![
        Sample::new("one axis").active(&[2, 3]).ints(&[1, 2]).batched(),
        Sample::new("two axes").active(&[2, 2, 3]).ints(&[1, 3, 2]).batched(),
        Sample::new("an axis of size 1").active(&[2, 1, 3]).ints(&[1, 3, 1]).batched(),
        Sample::new("the batch").active(&[2, 2]).ints(&[2, 1]).batched(),
        Sample::new("once").active(&[2, 2]).ints(&[1, 1]).batched(),
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
    Entry::new("Expand", read_expand, expand_samples),
    Entry::new("Flatten", read_flatten, flatten_samples),
    Entry::new("Reshape", read_reshape, reshape_samples),
    Entry::new("Shape", read_shape, shape_samples),
    Entry::new("Size", read_size, || {
        vec![
            Sample::new("with a batch").active(&[2, 3]).batched(),
            Sample::new("of a scalar").active(&[]),
        ]
    }),
    Entry::new("Squeeze", read_squeeze, squeeze_samples),
    Entry::new("Tile", read_tile, tile_samples),
    Entry::new("Unsqueeze", read_unsqueeze, unsqueeze_samples),
];
