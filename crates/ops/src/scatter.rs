//! Elements put, or added, at positions that are computed or listed.

use std::sync::Arc;

use ndarray::{ArrayD, IxDyn};
use taste_graph::{
    Array, Build, Calculus, Concrete, Emitter, Id, Lift, Linear, Op, OpError, Tensor,
    algebra::{Scatter, Slice},
    take,
};
use taste_onnx::{builders, proto::AttributeProto};

use crate::{
    Entry, Reader, Sample,
    gather::{
        GatherElements, GatherNd, Places, check_along, corner, int_tensor, lead_last, picked_shape,
        places, position,
    },
};

/// x with entries of y put, or added, at positions: the adjoint in y of gathering there.
#[derive(Clone, Debug)]
pub(crate) struct ScatterAt {
    pub(crate) at: At,
    /// Whether y is added to what is there, rather than replacing it.
    pub(crate) add: bool,
}

/// How indices name positions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    /// Tuples point to slices, as in [`GatherNd`].
    Tuples {
        /// How many axes are carried along before the indexed ones.
        lead: usize,
    },
    /// Elements are counted along an axis, as in [`GatherElements`].
    Along {
        /// The axis.
        axis: usize,
    },
}

fn reduction(add: bool) -> AttributeProto {
    builders::attr_string("reduction", if add { "add" } else { "none" })
}

fn put<T: Copy>(
    x: &Array<T>,
    y: &Array<T>,
    places: &Places,
    join: impl Fn(T, T) -> T,
) -> Result<ArrayD<T>, OpError> {
    let mut flat: Vec<T> = x.iter().copied().collect();
    let mut updates = y.iter();
    for block in 0..places.lead {
        for &at in &places.at {
            let start = (block * places.positions + at) * places.slice;
            for (old, &new) in flat[start..start + places.slice].iter_mut().zip(&mut updates) {
                *old = join(*old, new);
            }
        }
    }
    ArrayD::from_shape_vec(IxDyn(x.shape()), flat).map_err(|e| OpError::invalid(e.to_string()))
}

fn put_along<T: Copy>(
    x: &Array<T>,
    indices: &Array<i64>,
    y: &Array<T>,
    axis: usize,
    join: impl Fn(T, T) -> T,
) -> Result<ArrayD<T>, OpError> {
    let mut out = x.to_owned();
    for ((mut at, &index), &new) in indices.indexed_iter().zip(y) {
        at[axis] = position(index, x.shape()[axis])?;
        let old = &mut out[at];
        *old = join(*old, new);
    }
    Ok(out)
}

/// Applies `$put` to the arrays inside x and y with the way that elements join.
macro_rules! joined {
    ($add:expr, $x:expr, $y:expr, |$a:ident, $b:ident, $join:ident| $put:expr) => {
        match ($x, $y) {
            (Tensor::Float($a), Tensor::Float($b)) => {
                let $join = |old: f64, new: f64| if $add { old + new } else { new };
                Tensor::from($put)
            }
            (Tensor::Int($a), Tensor::Int($b)) => {
                let $join = |old: i64, new: i64| if $add { old.wrapping_add(new) } else { new };
                Tensor::from($put)
            }
            (Tensor::Bool($a), Tensor::Bool($b)) => {
                let $join = |old: bool, new: bool| if $add { old | new } else { new };
                Tensor::from($put)
            }
            (x, y) => return Err(OpError::DType { want: x.dtype(), got: y.dtype() }),
        }
    };
}

/// Checks that updates have the element type of the data and a shape.
fn check_updates(x: &Concrete, y: &Concrete, shape: &[usize]) -> Result<(), OpError> {
    if y.dtype != x.dtype {
        return Err(OpError::DType { want: x.dtype, got: y.dtype });
    }
    if y.shape != shape {
        return Err(OpError::shape("updates of shape", shape, &y.shape));
    }
    Ok(())
}

impl Op for ScatterAt {
    fn name(&self) -> &'static str {
        match self.at {
            At::Tuples { .. } => "ScatterND",
            At::Along { .. } => "ScatterElements",
        }
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x, indices, y] = take(args)?;
        match self.at {
            At::Tuples { lead } => check_updates(x, y, &picked_shape(lead, x, indices)?)?,
            At::Along { axis } => {
                check_along(axis, x, indices)?;
                check_updates(x, y, &indices.shape)?;
            }
        }
        Ok(vec![x.clone()])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x, indices, y] = take(args)?;
        self.infer(&[x.concrete(), indices.concrete(), y.concrete()])?;
        let indices = indices.as_int()?;
        Ok(vec![match self.at {
            At::Tuples { lead } => {
                let places = places(lead, x.shape(), indices)?;
                joined!(self.add, x, y, |a, b, join| put(a, b, &places, join)?)
            }
            At::Along { axis } => {
                joined!(self.add, x, y, |a, b, join| put_along(a, indices, b, axis, join)?)
            }
        }])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, laned: &[bool], _lanes: usize) -> Lift {
        let moved = |at: At| Self { at, add: self.add };
        match self.at {
            At::Tuples { .. } if laned.get(1) == Some(&true) => Lift::PerLane,
            At::Tuples { lead } => {
                let op = moved(At::Tuples { lead: lead + 1 });
                Lift::Shift { op: Arc::new(op), shared: vec![1] }
            }
            At::Along { axis } => Lift::shift(moved(At::Along { axis: axis + 1 })),
        }
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let reduction = reduction(self.add);
        let lead = match self.at {
            At::Along { axis } => {
                let axis = builders::attr_int("axis", axis as i64);
                return Ok(vec![e.node("ScatterElements", args, vec![axis, reduction])]);
            }
            At::Tuples { lead: 0 } => {
                return Ok(vec![e.node("ScatterND", args, vec![reduction])]);
            }
            At::Tuples { lead } => lead,
        };
        let perm = |p: &[i64]| vec![builders::attr_ints("perm", p)];
        let (there, back) = lead_last(e.arg_fact(0).rank(), lead);
        let (updates, _) = lead_last(e.arg_fact(2).rank(), lead);
        let x = e.node("Transpose", &args[..1], perm(&there));
        let y = e.node("Transpose", &args[2..], perm(&updates));
        let z = e.node("ScatterND", &[x, args[1].clone(), y], vec![reduction]);
        Ok(vec![e.node("Transpose", &[z], perm(&back))])
    }
}

impl Linear for ScatterAt {
    fn active(&self, i: usize) -> bool {
        i != 1
    }

    fn apply(
        &self,
        _b: &mut Build<'_>,
        _args: &[Id],
        tangents: &[Option<Id>],
    ) -> Option<Result<Id, OpError>> {
        match tangents {
            [Some(x), _, None] if self.add => Some(Ok(*x)),
            _ => None,
        }
    }

    fn transpose(&self, b: &mut Build<'_>, args: &[Id], i: usize, ct: Id) -> Result<Id, OpError> {
        if i == 2 {
            return match self.at {
                At::Tuples { lead } => b.push(GatherNd { lead }, &[ct, args[1]]),
                At::Along { axis } => b.push(GatherElements { axis }, &[ct, args[1]]),
            };
        }
        if self.add {
            return Ok(ct);
        }
        let zeros = b.zeros_like(args[2])?;
        b.push(self.clone(), &[ct, args[1], zeros])
    }
}

fn adds(r: &mut Reader<'_, '_>) -> Result<bool, OpError> {
    match r.string_or("reduction", "none").as_str() {
        "none" => Ok(false),
        "add" => Ok(true),
        other => Err(OpError::unsupported("reduction", other)),
    }
}

/// Positions in the batch that are the same for every batch size are refused: lanes that serve the
/// whole batch at once would lose them.
fn refuse_batch(r: &Reader<'_, '_>, x: Id, indices: Id, axes: &[usize]) -> Result<(), OpError> {
    let shape = &r.fact(x).shape;
    let open = axes.iter().filter_map(|&a| shape.get(a)).any(|d| d.depends_on_batch());
    if open && !r.fact(indices).depends_on_batch() {
        return Err(OpError::unsupported("scattering to fixed samples of the batch", r.fact(x)));
    }
    Ok(())
}

fn read_scatter_nd(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, indices, y] = r.take()?;
    let add = adds(r)?;
    let last = r.rank(indices).checked_sub(1);
    let tuple = last.ok_or_else(|| OpError::shape("indices of at least rank", 1, 0))?;
    let tuple = r.fixed_size(indices, tuple)?.min(r.rank(x));
    refuse_batch(r, x, indices, &(0..tuple).collect::<Vec<_>>())?;
    Ok(vec![r.b.push(ScatterAt { at: At::Tuples { lead: 0 }, add }, &[x, indices, y])?])
}

/// Where updates reach a corner of x only, the corner is scattered to and put back.
fn read_scatter_elements(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, indices, y] = r.take()?;
    let add = adds(r)?;
    let axis = r.int_or("axis", 0);
    let axis = r.axis(axis, r.rank(x))?;
    refuse_batch(r, x, indices, &[axis])?;
    let spans = corner(r, x, indices, axis)?;
    if spans.is_empty() {
        return Ok(vec![r.b.push(ScatterAt { at: At::Along { axis }, add }, &[x, indices, y])?]);
    }
    let sizes =
        spans.iter().map(|(axis, _)| r.fixed_size(x, *axis)).collect::<Result<Vec<_>, _>>()?;
    let part = r.b.push(Slice { spans: spans.clone() }, &[x])?;
    let new = r.b.push(ScatterAt { at: At::Along { axis }, add }, &[part, indices, y])?;
    let new = r.b.push(Scatter { spans: spans.clone(), sizes: sizes.clone() }, &[new])?;
    // x with zeros in the corner.
    let cut = r.b.push(Scatter { spans, sizes }, &[part])?;
    let rest = r.b.sub(x, cut)?;
    Ok(vec![r.b.add(rest, new)?])
}

fn scatter_nd_samples() -> Vec<Sample> {
    let rows = int_tensor(&[2, 1], &[2, 0]);
    let twice = int_tensor(&[3, 1], &[2, 0, -1]);
    let pairs = int_tensor(&[2, 1, 2], &[0, 1, 1, 2]);
    vec![
        Sample::new("rows").active(&[3, 2]).constant(rows).active(&[2, 2]),
        Sample::new("rows added")
            .active(&[3, 2])
            .constant(twice)
            .active(&[3, 2])
            .string("reduction", "add"),
        Sample::new("elements, computed indices").active(&[2, 3]).fed(pairs).active(&[2, 1]),
        Sample::new("into a constant")
            .fixed(&[3, 2])
            .fed(int_tensor(&[2, 1], &[1, 0]))
            .active(&[2, 2]),
    ]
}

fn scatter_elements_samples() -> Vec<Sample> {
    let at = int_tensor(&[2, 2], &[0, 2, -1, 1]);
    let twice = int_tensor(&[2, 2], &[1, 1, -1, 2]);
    vec![
        Sample::new("along axis 1")
            .active(&[2, 3])
            .constant(at.clone())
            .active(&[2, 2])
            .int("axis", 1),
        Sample::new("added, computed indices")
            .active(&[2, 3])
            .fed(twice)
            .active(&[2, 2])
            .int("axis", 1)
            .string("reduction", "add")
            .batched(),
        Sample::new("replaced, computed indices")
            .active(&[2, 3])
            .fed(at.clone())
            .active(&[2, 2])
            .int("axis", -1)
            .batched(),
        Sample::new("first axis").active(&[3, 2]).constant(at.clone()).active(&[2, 2]),
        Sample::new("a corner").active(&[3, 3]).constant(at).active(&[2, 2]).int("axis", 1),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("ScatterElements", read_scatter_elements, scatter_elements_samples),
    Entry::new("ScatterND", read_scatter_nd, scatter_nd_samples),
    Entry::new("Scatter", read_scatter_elements, || {
        let at = int_tensor(&[1, 2], &[0, 2]);
        vec![
            Sample::new("as ScatterElements")
                .active(&[1, 3])
                .constant(at)
                .active(&[1, 2])
                .int("axis", 1)
                .opset(9),
        ]
    }),
];
