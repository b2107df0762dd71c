//! Elements at positions that are computed or listed.

use ndarray::{ArrayD, IxDyn};
use taste_graph::{
    Array, Build, Calculus, Concrete, DType, Dim, Emitter, Id, Lift, Linear, Op, OpError, Tensor,
    algebra::{Slice, Span},
    map_array, take,
};
use taste_onnx::builders;

use crate::{
    Entry, Reader, Sample,
    scatter::{At, ScatterAt},
};

/// y[l, j, …] = x[l, i[j], …]: the index tuples along the last axis of `i` address the axes of x
/// after the first `lead`, which are carried along.
#[derive(Clone, Debug)]
pub(crate) struct GatherNd {
    pub(crate) lead: usize,
}

/// Where the index tuples of a gather or scatter point.
pub(crate) struct Places {
    /// How many blocks precede the indexed axes.
    pub(crate) lead: usize,
    /// The number of positions along the indexed axes together.
    pub(crate) positions: usize,
    /// The number of elements of one slice behind the indexed axes.
    pub(crate) slice: usize,
    /// The position of every tuple.
    pub(crate) at: Vec<usize>,
}

/// The shape of what `GatherNd` takes from `data`.
pub(crate) fn picked_shape(
    lead: usize,
    data: &Concrete,
    indices: &Concrete,
) -> Result<Vec<usize>, OpError> {
    if indices.dtype != DType::Int {
        return Err(OpError::DType { want: DType::Int, got: indices.dtype });
    }
    let Some((&tuple, list)) = indices.shape.split_last() else {
        return Err(OpError::shape("indices of at least rank", 1, 0));
    };
    match lead.checked_add(tuple) {
        Some(end) if end <= data.rank() => {
            Ok([&data.shape[..lead], list, &data.shape[end..]].concat())
        }
        _ => Err(OpError::shape("axes to index", data.rank(), (lead, tuple))),
    }
}

/// A position counted from either end.
pub(crate) fn position(index: i64, size: usize) -> Result<usize, OpError> {
    let whole = i64::try_from(size).unwrap_or(i64::MAX);
    let at = if index < 0 { index.saturating_add(whole) } else { index };
    usize::try_from(at)
        .ok()
        .filter(|&a| a < size)
        .ok_or_else(|| OpError::invalid(format!("index {index} on an axis of size {size}")))
}

pub(crate) fn places(
    lead: usize,
    shape: &[usize],
    indices: &Array<i64>,
) -> Result<Places, OpError> {
    let tuple = indices.shape().last().copied().unwrap_or(0);
    let (front, rest) = shape.split_at(lead);
    let (dims, rest) = rest.split_at(tuple);
    let flat: Vec<i64> = indices.iter().copied().collect();
    let count = indices.shape().iter().rev().skip(1).product();
    let at = (0..count)
        .map(|j| {
            dims.iter()
                .enumerate()
                .try_fold(0, |at, (k, &size)| Ok(at * size + position(flat[j * tuple + k], size)?))
        })
        .collect::<Result<_, OpError>>()?;
    Ok(Places {
        lead: front.iter().product(),
        positions: dims.iter().product(),
        slice: rest.iter().product(),
        at,
    })
}

fn pick<T: Copy>(x: &Array<T>, places: &Places, shape: &[usize]) -> Result<ArrayD<T>, OpError> {
    let flat: Vec<T> = x.iter().copied().collect();
    let mut out = Vec::with_capacity(shape.iter().product());
    for block in 0..places.lead {
        for &at in &places.at {
            let start = (block * places.positions + at) * places.slice;
            out.extend_from_slice(&flat[start..start + places.slice]);
        }
    }
    ArrayD::from_shape_vec(IxDyn(shape), out).map_err(|e| OpError::invalid(e.to_string()))
}

/// The first `lead` axes of `rank` moved to the end, and the way back.
pub(crate) fn lead_last(rank: usize, lead: usize) -> (Vec<i64>, Vec<i64>) {
    let cycle = |by: usize| (by..rank).chain(0..by).map(|a| a as i64).collect();
    (cycle(lead), cycle(rank - lead))
}

impl Op for GatherNd {
    fn name(&self) -> &'static str {
        "GatherND"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x, indices] = take(args)?;
        Ok(vec![x.with_shape(picked_shape(self.lead, x, indices)?)])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x, indices] = take(args)?;
        let shape = picked_shape(self.lead, &x.concrete(), &indices.concrete())?;
        let places = places(self.lead, x.shape(), indices.as_int()?)?;
        Ok(vec![map_array!(x, a => pick(a, &places, &shape)?)])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, laned: &[bool], _lanes: usize) -> Lift {
        if laned.get(1) == Some(&true) {
            return Lift::PerLane;
        }
        let op = Self { lead: self.lead + 1 };
        Lift::Shift { op: std::sync::Arc::new(op), shared: vec![1] }
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let shape = e.arg_fact(1).shape.clone();
        if let Some((tuple, list)) = shape.split_last()
            && *tuple == Dim::from(1)
        {
            let listed = e.arg_constant(1).and_then(|t| t.as_int().ok()).map(|a| {
                let at: Vec<usize> = list.iter().map(|d| d.at(0)).collect();
                a.to_shape(IxDyn(&at)).map(|a| Tensor::from(a.to_owned()))
            });
            let indices = match listed {
                Some(Ok(tensor)) => e.tensor(&tensor),
                _ => e.reshape(&args[1], list),
            };
            let axis = builders::attr_int("axis", self.lead as i64);
            return Ok(vec![e.node("Gather", &[args[0].clone(), indices], vec![axis])]);
        }
        if self.lead == 0 {
            return Ok(vec![e.node("GatherND", args, vec![])]);
        }
        let (there, _) = lead_last(e.arg_fact(0).rank(), self.lead);
        let (_, back) = lead_last(e.out_fact(0).rank(), self.lead);
        let perm = |p: &[i64]| vec![builders::attr_ints("perm", p)];
        let x = e.node("Transpose", &args[..1], perm(&there));
        let y = e.node("GatherND", &[x, args[1].clone()], vec![]);
        Ok(vec![e.node("Transpose", &[y], perm(&back))])
    }
}

impl Linear for GatherNd {
    fn active(&self, i: usize) -> bool {
        i == 0
    }

    fn transpose(&self, b: &mut Build<'_>, args: &[Id], _i: usize, ct: Id) -> Result<Id, OpError> {
        let zeros = b.zeros_like(args[0])?;
        b.push(ScatterAt { at: At::Tuples { lead: self.lead }, add: true }, &[zeros, args[1], ct])
    }
}

/// y[…, j, …] = x[…, i[…, j, …], …] along an axis; the other axes of x and i have equal sizes.
#[derive(Clone, Debug)]
pub(crate) struct GatherElements {
    pub(crate) axis: usize,
}

/// Checks the shapes of data and indices along an axis.
pub(crate) fn check_along(axis: usize, data: &Concrete, indices: &Concrete) -> Result<(), OpError> {
    if indices.dtype != DType::Int {
        return Err(OpError::DType { want: DType::Int, got: indices.dtype });
    }
    let fits = data.rank() == indices.rank()
        && axis < data.rank()
        && (0..data.rank()).all(|a| a == axis || data.shape[a] == indices.shape[a]);
    if fits {
        Ok(())
    } else {
        Err(OpError::shape("indices of equal sizes beside the axis", &data.shape, &indices.shape))
    }
}

impl Op for GatherElements {
    fn name(&self) -> &'static str {
        "GatherElements"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x, indices] = take(args)?;
        check_along(self.axis, x, indices)?;
        Ok(vec![x.with_shape(indices.shape.clone())])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x, indices] = take(args)?;
        check_along(self.axis, &x.concrete(), &indices.concrete())?;
        let size = x.shape()[self.axis];
        let indices = indices.as_int()?;
        let shape = IxDyn(indices.shape());
        Ok(vec![map_array!(x, a => {
            let mut out = Vec::with_capacity(indices.len());
            for (mut at, &index) in indices.indexed_iter() {
                at[self.axis] = position(index, size)?;
                out.push(a[at]);
            }
            ArrayD::from_shape_vec(shape, out).map_err(|e| OpError::invalid(e.to_string()))?
        })])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axis: self.axis + 1 })
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let axis = builders::attr_int("axis", self.axis as i64);
        Ok(vec![e.node("GatherElements", args, vec![axis])])
    }
}

impl Linear for GatherElements {
    fn active(&self, i: usize) -> bool {
        i == 0
    }

    fn transpose(&self, b: &mut Build<'_>, args: &[Id], _i: usize, ct: Id) -> Result<Id, OpError> {
        let zeros = b.zeros_like(args[0])?;
        b.push(ScatterAt { at: At::Along { axis: self.axis }, add: true }, &[zeros, args[1], ct])
    }
}

/// Positions in an even progression, if they are in one.
fn progression(at: &[usize]) -> Option<Span> {
    let signed = |i: usize| isize::try_from(at[i]).ok();
    let step = match at {
        [] | [_] => 1,
        _ => signed(1)? - signed(0)?,
    };
    let even =
        (1..at.len()).all(|i| signed(i).zip(signed(i - 1)).is_some_and(|(a, b)| a - b == step));
    (even && step != 0).then(|| Span {
        start: at.first().copied().unwrap_or(0),
        step,
        len: at.len(),
    })
}

/// The index tuples of one element each that a list of indices stands for.
fn tuples(r: &mut Reader<'_, '_>, indices: Id) -> Result<Id, OpError> {
    let mut shape = r.fact(indices).shape.clone();
    shape.push(Dim::from(1));
    r.b.reshape(indices, &shape)
}

fn read_gather(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, indices] = r.take()?;
    let axis = r.int_or("axis", 0);
    let axis = r.axis(axis, r.rank(x))?;
    if r.fact(indices).dtype != DType::Int {
        return Err(OpError::DType { want: DType::Int, got: r.fact(indices).dtype });
    }
    if let (Some(Tensor::Int(list)), Ok(size)) =
        (r.b.graph().as_constant(indices), r.fixed_size(x, axis))
    {
        let at = list.iter().map(|&i| position(i, size)).collect::<Result<Vec<_>, _>>()?;
        let repeated = at.len() > 1 && at.iter().all(|&a| a == at[0]);
        let span =
            if repeated { Some(Span { start: at[0], step: 1, len: 1 }) } else { progression(&at) };
        if let Some(span) = span {
            let mut shape = r.fact(x).shape.clone();
            shape.splice(axis..=axis, r.fact(indices).shape.clone());
            let whole = span == Span { start: 0, step: 1, len: size };
            let mut y = if whole { x } else { r.b.push(Slice::along(axis, span), &[x])? };
            if repeated {
                let mut spread = r.fact(y).shape.clone();
                spread[axis] = Dim::from(at.len());
                y = r.b.expand(y, &spread)?;
            }
            return Ok(vec![r.b.reshape(y, &shape)?]);
        }
    }
    let indices = tuples(r, indices)?;
    Ok(vec![r.b.push(GatherNd { lead: axis }, &[x, indices])?])
}

fn read_gather_elements(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, indices] = r.take()?;
    let axis = r.int_or("axis", 0);
    let axis = r.axis(axis, r.rank(x))?;
    let spans = corner(r, x, indices, axis)?;
    let x = if spans.is_empty() { x } else { r.b.push(Slice { spans }, &[x])? };
    Ok(vec![r.b.push(GatherElements { axis }, &[x, indices])?])
}

/// The part of `x` that indices reach beside an axis: nothing for axes that are reached entirely.
pub(crate) fn corner(
    r: &Reader<'_, '_>,
    x: Id,
    indices: Id,
    axis: usize,
) -> Result<Vec<(usize, Span)>, OpError> {
    if r.rank(indices) != r.rank(x) {
        return Err(OpError::shape("indices of rank", r.rank(x), r.rank(indices)));
    }
    let mut spans = Vec::new();
    for other in (0..r.rank(x)).filter(|&a| a != axis) {
        if r.fact(x).shape[other] != r.fact(indices).shape[other] {
            let (size, len) = (r.fixed_size(x, other)?, r.fixed_size(indices, other)?);
            if len > size {
                return Err(OpError::shape("indices within the data", size, len));
            }
            spans.push((other, Span { start: 0, step: 1, len }));
        }
    }
    Ok(spans)
}

/// With batch axes, tuples of one index select along the next axis, each the same for all that
/// follows; longer tuples become one index into the axes they address, merged.
fn read_gather_nd(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, indices] = r.take()?;
    let batch = r.int_or("batch_dims", 0);
    if batch == 0 {
        return Ok(vec![r.b.push(GatherNd { lead: 0 }, &[x, indices])?]);
    }
    let list = r.fact(indices).shape.clone();
    let shape = r.fact(x).shape.clone();
    let batch = usize::try_from(batch)
        .ok()
        .filter(|&b| b < list.len() && b < shape.len() && list[..b] == shape[..b])
        .ok_or_else(|| OpError::unsupported("batch_dims", batch))?;
    let tuple = r.fixed_size(indices, list.len() - 1)?;
    if tuple == 0 || batch + tuple > shape.len() {
        return Err(OpError::shape("axes to index", shape.len(), (batch, tuple)));
    }
    let sizes = (batch..shape.len()).map(|a| r.fixed_size(x, a)).collect::<Result<Vec<_>, _>>()?;
    let (sizes, rest) = sizes.split_at(tuple);
    let count = |sizes: &[usize]| {
        sizes
            .iter()
            .try_fold(1usize, |n, &s| n.checked_mul(s))
            .ok_or_else(|| OpError::invalid("a size beyond memory"))
    };
    let listed =
        (batch..list.len() - 1).map(|a| r.fixed_size(indices, a)).collect::<Result<Vec<_>, _>>()?;
    let indices = if tuple == 1 {
        indices
    } else {
        let Some(Tensor::Int(a)) = r.b.graph().as_constant(indices) else {
            return Err(OpError::unsupported("computed indices of several axes", tuple));
        };
        let flat: Vec<i64> = a.iter().copied().collect();
        let merged: Vec<i64> = flat
            .chunks(tuple)
            .map(|t| {
                t.iter().zip(sizes).try_fold(0i64, |at, (&i, &size)| {
                    Ok(at * size as i64 + position(i, size)? as i64)
                })
            })
            .collect::<Result<_, OpError>>()?;
        r.b.graph_mut().constant(Tensor::ints(&merged))
    };
    let (along, behind) = (count(sizes)?, count(rest)?);
    let with = |middle: usize| {
        let mut shape = shape[..batch].to_vec();
        shape.extend([Dim::from(middle), Dim::from(behind)]);
        shape
    };
    let x = r.b.reshape(x, &with(along))?;
    let listed = count(&listed)?;
    let mut thin = with(listed);
    thin[batch + 1] = Dim::from(1);
    let indices = r.b.reshape(indices, &thin)?;
    let indices = r.b.expand(indices, &with(listed))?;
    let y = r.b.push(GatherElements { axis: batch }, &[x, indices])?;
    let mut out = list[..list.len() - 1].to_vec();
    out.extend(rest.iter().map(|&s| Dim::from(s)));
    Ok(vec![r.b.reshape(y, &out)?])
}

/// Integers in row-major order.
pub(crate) fn int_tensor(shape: &[usize], values: &[i64]) -> Tensor {
    match ArrayD::from_shape_vec(IxDyn(shape), values.to_vec()) {
        Ok(a) => a.into(),
        Err(_) => Tensor::ints(values),
    }
}

fn gather_samples() -> Vec<Sample> {
    let of = |title: &str| Sample::new(title).active(&[2, 4, 3]).int("axis", 1).batched();
    vec![
        of("one element").constant(int_tensor(&[], &[-1])),
        of("neighbours").ints(&[1, 2]),
        of("every other, from the end").ints(&[3, 1]),
        of("the same twice").ints(&[2, 2]),
        of("none").ints(&[]),
        of("in any order").ints(&[2, 0, -1, 2]),
        of("a matrix of indices").constant(int_tensor(&[2, 2], &[0, 3, 3, 1])),
        Sample::new("last axis").active(&[2, 2, 3]).ints(&[2, 0, 0]).int("axis", -1).batched(),
        Sample::new("first axis").active(&[4, 2]).ints(&[3, 0, 0]),
        Sample::new("first axis backwards").active(&[3, 2]).ints(&[1, 0]),
        Sample::new("computed indices").active(&[4, 2]).fed(int_tensor(&[2, 2], &[0, 3, -1, 1])),
        Sample::new("computed index").active(&[4, 2]).fed(int_tensor(&[], &[2])),
        Sample::new("a table").fixed(&[5, 3]).fed(int_tensor(&[2, 2], &[4, 0, 2, 2])).batched(),
        Sample::new("integers").constant(Tensor::ints(&[5, 6, 7])).fed(int_tensor(&[2], &[2, 0])),
    ]
}

fn gather_elements_samples() -> Vec<Sample> {
    let at = int_tensor(&[2, 2], &[0, 2, -1, 1]);
    vec![
        Sample::new("constant indices").active(&[2, 3]).constant(at.clone()).int("axis", 1),
        Sample::new("computed indices").active(&[2, 3]).fed(at.clone()).int("axis", 1).batched(),
        Sample::new("first axis").active(&[3, 2]).constant(at.clone()),
        Sample::new("a corner").active(&[3, 3]).constant(at).int("axis", -1),
        Sample::new("three axes")
            .active(&[2, 3, 2])
            .fed(int_tensor(&[2, 1, 2], &[0, 2, 1, 1]))
            .int("axis", 1)
            .batched(),
    ]
}

fn gather_nd_samples() -> Vec<Sample> {
    vec![
        Sample::new("elements").active(&[2, 3]).constant(int_tensor(&[3, 2], &[0, 0, 1, -1, 0, 0])),
        Sample::new("rows").active(&[3, 2, 2]).constant(int_tensor(&[2, 1], &[2, 0])),
        Sample::new("a list of lists")
            .active(&[2, 3, 2])
            .fed(int_tensor(&[2, 1, 2], &[0, 1, 1, 2])),
        Sample::new("one batch axis")
            .active(&[2, 3, 2])
            .fed(int_tensor(&[2, 2, 1], &[2, 0, 1, 1]))
            .int("batch_dims", 1)
            .batched(),
        Sample::new("a batch axis, pairs")
            .active(&[2, 3, 2])
            .constant(int_tensor(&[2, 2], &[1, 0, 2, -1]))
            .int("batch_dims", 1),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Gather", read_gather, gather_samples),
    Entry::new("GatherElements", read_gather_elements, gather_elements_samples),
    Entry::new("GatherND", read_gather_nd, gather_nd_samples),
];
