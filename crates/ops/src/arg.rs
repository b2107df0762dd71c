//! Positions of extreme elements, and the elements there.

use std::{cmp::Ordering, sync::Arc};

use ndarray::{ArrayD, Axis, IxDyn};
use taste_graph::{
    Array, Build, Calculus, Concrete, DType, Dim, Emitter, Id, Lift, Linear, Op, OpError, Tensor,
    map_array, take,
};
use taste_onnx::{ElemType, builders, proto::AttributeProto};

use crate::{Entry, Reader, Sample, reduce::Extreme, softmax::old_distribution};

/// The position of the largest or smallest element along an axis, which stays with size 1.
#[derive(Clone, Debug)]
pub(crate) struct ArgExtreme {
    /// The axis.
    pub(crate) axis: usize,
    /// Which element.
    pub(crate) extreme: Extreme,
    /// Whether the last of equal elements is meant, rather than the first.
    pub(crate) last: bool,
}

impl ArgExtreme {
    fn find<T: PartialOrd + Copy>(&self, a: &Array<T>) -> ArrayD<i64> {
        let axis = Axis(self.axis);
        let beats = |new: T, old: T| match self.extreme {
            Extreme::Max => new > old || (self.last && new == old),
            Extreme::Min => new < old || (self.last && new == old),
        };
        a.map_axis(axis, |lane| {
            (1..lane.len()).fold(0, |best, i| if beats(lane[i], lane[best]) { i } else { best })
                as i64
        })
        .insert_axis(axis)
    }
}

impl ArgExtreme {
    /// The first of equal elements: rten takes the last of them, so their places are compared.
    fn write_first(&self, e: &mut Emitter<'_>, x: &str, attrs: Vec<AttributeProto>) -> String {
        let shape = &e.arg_fact(0).shape;
        let size = shape[self.axis].as_fixed().and_then(|s| usize::try_from(s).ok());
        let Some(size) = size else {
            return e.node(self.name(), &[x.to_owned()], attrs);
        };
        let reduction = match self.extreme {
            Extreme::Max => "ReduceMax",
            Extreme::Min => "ReduceMin",
        };
        let mut sizes = vec![1; shape.len() - self.axis];
        sizes[0] = size;
        let places = ArrayD::from_shape_fn(IxDyn(&sizes), |at| at[0] as f64);
        let (places, end) = (e.tensor(&places.into()), e.scalar(size.saturating_sub(1) as f64));
        let axes = e.ints(&[self.axis as i64]);
        let keep = || vec![builders::attr_int("keepdims", 1)];
        let found = e.node(reduction, &[x.to_owned(), axes.clone()], keep());
        let hits = e.node("Equal", &[x.to_owned(), found], vec![]);
        let places = e.node("Where", &[hits, places, end], vec![]);
        let first = e.node("ReduceMin", &[places, axes], keep());
        let whole = vec![builders::attr_int("to", i64::from(ElemType::I64.code()))];
        e.node("Cast", &[first], whole)
    }
}

impl Op for ArgExtreme {
    fn name(&self) -> &'static str {
        match self.extreme {
            Extreme::Max => "ArgMax",
            Extreme::Min => "ArgMin",
        }
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        let mut shape = x.shape.clone();
        match shape.get_mut(self.axis) {
            Some(0) => return Err(OpError::shape("elements along axis", 1, 0)),
            Some(size) => *size = 1,
            None => return Err(OpError::shape("an axis below", x.rank(), self.axis)),
        }
        Ok(vec![Concrete { dtype: DType::Int, shape }])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        Ok(vec![match x {
            Tensor::Float(a) => self.find(a).into(),
            Tensor::Int(a) => self.find(a).into(),
            Tensor::Bool(a) => self.find(a).into(),
        }])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Constant
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axis: self.axis + 1, ..self.clone() })
    }

    /// The last of equal elements is the first from the end: not every engine has an attribute for it.
    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let attrs =
            vec![builders::attr_int("axis", self.axis as i64), builders::attr_int("keepdims", 1)];
        if !self.last {
            return Ok(vec![self.write_first(e, &args[0], attrs)]);
        }
        let mut end = e.arg_fact(0).shape[self.axis];
        end.fixed -= 1;
        let back = e.ints(&[-1]);
        let (stop, axis) = (e.ints(&[i64::from(i32::MIN)]), e.ints(&[self.axis as i64]));
        let x = e.node("Slice", &[args[0].clone(), back.clone(), stop, axis, back], vec![]);
        let from_end = self.write_first(e, &x, attrs);
        let end = e.dims(&[end]);
        Ok(vec![e.node("Sub", &[end, from_end], vec![])])
    }
}

/// The positions of the k largest or smallest elements along an axis, in order.
#[derive(Clone, Debug)]
pub(crate) struct TopPositions {
    pub(crate) axis: usize,
    pub(crate) k: usize,
    pub(crate) extreme: Extreme,
}

impl TopPositions {
    fn find<T: PartialOrd + Copy>(&self, a: &Array<T>) -> ArrayD<i64> {
        let mut shape = a.shape().to_vec();
        shape[self.axis] = self.k;
        let mut found = ArrayD::zeros(IxDyn(&shape));
        let lanes = a.lanes(Axis(self.axis)).into_iter();
        for (lane, mut out) in lanes.zip(found.lanes_mut(Axis(self.axis))) {
            let mut order: Vec<usize> = (0..lane.len()).collect();
            // A stable sort: of equal elements the first comes first.
            order.sort_by(|&i, &j| {
                let order = lane[i].partial_cmp(&lane[j]).unwrap_or(Ordering::Equal);
                if self.extreme == Extreme::Max { order.reverse() } else { order }
            });
            for (to, from) in out.iter_mut().zip(order) {
                *to = from as i64;
            }
        }
        found
    }
}

impl Op for TopPositions {
    fn name(&self) -> &'static str {
        "TopK"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        let mut shape = x.shape.clone();
        let size = shape
            .get_mut(self.axis)
            .ok_or_else(|| OpError::shape("an axis below", x.rank(), self.axis))?;
        if self.k > *size {
            return Err(OpError::shape("at most as many elements as the axis has", *size, self.k));
        }
        *size = self.k;
        Ok(vec![Concrete { dtype: DType::Int, shape }])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        self.infer(&[x.concrete()])?;
        Ok(vec![match x {
            Tensor::Float(a) => self.find(a).into(),
            Tensor::Int(a) => self.find(a).into(),
            Tensor::Bool(_) => {
                return Err(OpError::unsupported("an order of elements of type", x.dtype()));
            }
        }])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Constant
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axis: self.axis + 1, ..self.clone() })
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let k = e.ints(&[self.k as i64]);
        let attrs = vec![
            builders::attr_int("axis", self.axis as i64),
            builders::attr_int("largest", i64::from(self.extreme == Extreme::Max)),
            builders::attr_int("sorted", 1),
        ];
        let mut outs = e.node_with("TopK", &[args[0].clone(), k], attrs, 2);
        Ok(vec![outs.swap_remove(1)])
    }
}

/// The elements of x at positions along an axis: y[…, i, …] = x[…, at[…, i, …], …]. Beside the axis both
/// have the same shape.
#[derive(Clone, Debug)]
pub(crate) struct Select {
    /// The axis.
    pub(crate) axis: usize,
}

/// Whether two shapes agree on all axes but one, and have that one.
fn agree_beside(axis: usize, a: &[usize], b: &[usize]) -> bool {
    axis < a.len() && a.len() == b.len() && (0..a.len()).all(|i| i == axis || a[i] == b[i])
}

fn check_positions(at: &Concrete) -> Result<(), OpError> {
    if at.dtype == DType::Int {
        return Ok(());
    }
    Err(OpError::DType { want: DType::Int, got: at.dtype })
}

fn index(at: i64, size: usize) -> Result<usize, OpError> {
    usize::try_from(at)
        .ok()
        .filter(|&i| i < size)
        .ok_or_else(|| OpError::shape("a position below", size, at))
}

impl Op for Select {
    fn name(&self) -> &'static str {
        "GatherElements"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x, at] = take(args)?;
        check_positions(at)?;
        if !agree_beside(self.axis, &x.shape, &at.shape) {
            return Err(OpError::shape("equal sizes beside the axis", &x.shape, &at.shape));
        }
        Ok(vec![x.with_shape(at.shape.clone())])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        fn pick<T: Clone>(
            a: &Array<T>,
            at: &Array<i64>,
            axis: usize,
        ) -> Result<ArrayD<T>, OpError> {
            let size = a.shape()[axis];
            let mut picked = Vec::with_capacity(at.len());
            for (mut place, &i) in at.indexed_iter() {
                place[axis] = index(i, size)?;
                picked.push(a[place].clone());
            }
            ArrayD::from_shape_vec(at.raw_dim(), picked)
                .map_err(|e| OpError::invalid(e.to_string()))
        }
        let [x, at] = take(args)?;
        self.infer(&[x.concrete(), at.concrete()])?;
        let at = at.as_int()?;
        Ok(vec![map_array!(x, a => pick(a, at, self.axis)?)])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axis: self.axis + 1 })
    }

    fn mixes(&self, axis: usize) -> bool {
        axis == self.axis
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let axis = builders::attr_int("axis", self.axis as i64);
        Ok(vec![e.node("GatherElements", args, vec![axis])])
    }
}

impl Linear for Select {
    fn active(&self, i: usize) -> bool {
        i == 0
    }

    fn transpose(&self, b: &mut Build<'_>, args: &[Id], _i: usize, ct: Id) -> Result<Id, OpError> {
        let size = b.fact(args[0]).shape[self.axis];
        b.push(Place { axis: self.axis, size }, &[ct, args[1]])
    }
}

/// The adjoint of [`Select`]: elements added to zeros at positions along an axis.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) axis: usize,
    /// The size of the axis in the result.
    pub(crate) size: Dim,
}

impl Op for Place {
    fn name(&self) -> &'static str {
        "ScatterElements"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x, at] = take(args)?;
        check_positions(at)?;
        if x.shape != at.shape || self.axis >= x.rank() {
            return Err(OpError::shape("a position for every element", &x.shape, &at.shape));
        }
        if x.dtype != DType::Float {
            return Err(OpError::DType { want: DType::Float, got: x.dtype });
        }
        let mut shape = x.shape.clone();
        shape[self.axis] = self.size.at(0);
        Ok(vec![x.with_shape(shape)])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x, at] = take(args)?;
        let out = self.infer(&[x.concrete(), at.concrete()])?.swap_remove(0);
        let mut sum = ArrayD::<f64>::zeros(IxDyn(&out.shape));
        for ((mut place, v), &i) in x.as_float()?.indexed_iter().zip(at.as_int()?.iter()) {
            place[self.axis] = index(i, out.shape[self.axis])?;
            sum[place] += v;
        }
        Ok(vec![sum.into()])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axis: self.axis + 1, size: self.size })
    }

    fn with_batch(&self, batch: Dim) -> Option<Arc<dyn Op>> {
        let size = self.size.with_batch(batch);
        self.size
            .depends_on_batch()
            .then(|| Arc::new(Self { axis: self.axis, size }) as Arc<dyn Op>)
    }

    fn mixes(&self, axis: usize) -> bool {
        axis == self.axis
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let shape = e.out_fact(0).shape.clone();
        let (zero, shape) = (e.scalar(0.0), e.dims(&shape));
        let zeros = e.node("Expand", &[zero, shape], vec![]);
        let attrs = vec![
            builders::attr_int("axis", self.axis as i64),
            builders::attr_string("reduction", "add"),
        ];
        Ok(vec![e.node("ScatterElements", &[zeros, args[1].clone(), args[0].clone()], attrs)])
    }
}

impl Linear for Place {
    fn active(&self, i: usize) -> bool {
        i == 0
    }

    fn transpose(&self, b: &mut Build<'_>, args: &[Id], _i: usize, ct: Id) -> Result<Id, OpError> {
        b.push(Select { axis: self.axis }, &[ct, args[1]])
    }
}

/// Positions along an axis up to this size are written into a file.
const WRITTEN: i64 = 1 << 16;

/// 1 at the first largest element along an axis, 0 elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct FirstMax {
    pub(crate) axis: usize,
}

impl Op for FirstMax {
    fn name(&self) -> &'static str {
        "FirstMax"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        if self.axis >= x.rank() {
            return Err(OpError::shape("an axis below", x.rank(), self.axis));
        }
        Ok(vec![x.clone()])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        let mut mask = x.as_float()?.to_owned();
        for mut lane in mask.lanes_mut(Axis(self.axis)) {
            let mut best = 0;
            for (i, v) in lane.iter().enumerate() {
                if *v > lane[best] {
                    best = i;
                }
            }
            lane.fill(0.0);
            if let Some(first) = lane.get_mut(best) {
                *first = 1.0;
            }
        }
        Ok(vec![mask.into()])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Constant
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axis: self.axis + 1 })
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let fact = e.arg_fact(0);
        let (rank, size) = (fact.rank(), fact.shape[self.axis]);
        let size = size.as_fixed().ok_or_else(|| {
            OpError::unsupported("a maximum along an axis that depends on the batch", size)
        })?;
        let attributes =
            vec![builders::attr_int("axis", self.axis as i64), builders::attr_int("keepdims", 1)];
        let first = e.node("ArgMax", args, attributes);
        // A long axis is counted when the file runs: files stay small.
        let places = if size <= WRITTEN {
            let mut shape = vec![1; rank - self.axis];
            shape[0] = usize::try_from(size).unwrap_or(0);
            let places = ArrayD::from_shape_vec(IxDyn(&shape), (0..size).collect())
                .map_err(|e| OpError::invalid(e.to_string()))?;
            e.tensor(&places.into())
        } else {
            let ends = [0, size, 1].map(|v| e.tensor(&ndarray::arr0(v).into_dyn().into()));
            let places = e.node("Range", &ends, vec![]);
            let mut shape = vec![Dim::from(1); rank - self.axis];
            shape[0] = Dim { per_batch: 0, fixed: size };
            e.reshape(&places, &shape)
        };
        let mask = e.node("Equal", &[first, places], vec![]);
        let float = builders::attr_int("to", 1);
        Ok(vec![e.node("Cast", &[mask], vec![float])])
    }
}

fn read_arg(r: &mut Reader<'_, '_>, extreme: Extreme) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    let (axis, keep) = (r.int_or("axis", 0), r.flag("keepdims", true));
    let axis = r.axis(axis, r.rank(x))?;
    let last = r.flag("select_last_index", false);
    let at = r.b.push(ArgExtreme { axis, extreme, last }, &[x])?;
    if keep {
        return Ok(vec![at]);
    }
    let mut shape = r.fact(at).shape.clone();
    shape.remove(axis);
    Ok(vec![r.b.reshape(at, &shape)?])
}

fn read_top(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let axis = r.int_or("axis", -1);
    let axis = r.axis(axis, r.rank(x))?;
    let k = match r.int("k") {
        Some(k) => vec![k],
        None => r.fixed_ints(1)?,
    };
    let k = match k[..] {
        [k] => usize::try_from(k).map_err(|_| OpError::shape("a size of at least", 0, k))?,
        _ => return Err(OpError::shape("one number of elements", 1, k.len())),
    };
    let extreme = if r.flag("largest", true) { Extreme::Max } else { Extreme::Min };
    // Any order will do if the node asks for none.
    r.ignore("sorted");
    Ok(top(&mut r.b, x, TopPositions { axis, k, extreme })?.to_vec())
}

/// The elements at positions that are found, and the positions.
pub(crate) fn top(b: &mut Build<'_>, x: Id, positions: TopPositions) -> Result<[Id; 2], OpError> {
    let axis = positions.axis;
    let at = b.push(positions, &[x])?;
    Ok([b.push(Select { axis }, &[x, at])?, at])
}

/// One at the first largest element along an axis, zero elsewhere.
fn read_hardmax(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    let shape = r.fact(x).shape.clone();
    let (x, axis) = if r.opset < 13 {
        old_distribution(r, x)?
    } else {
        let axis = r.int_or("axis", -1);
        (x, r.axis(axis, shape.len())?)
    };
    if r.fact(x).dtype != DType::Float {
        return Err(OpError::DType { want: DType::Float, got: r.fact(x).dtype });
    }
    let size = r.fact(x).shape[axis];
    let at = r.b.push(ArgExtreme { axis, extreme: Extreme::Max, last: false }, &[x])?;
    let one = r.b.scalar(1.0);
    let ones = r.b.expand(one, &r.fact(at).shape.clone())?;
    let y = r.b.push(Place { axis, size }, &[ones, at])?;
    Ok(vec![r.b.reshape(y, &shape)?])
}

fn arg_samples() -> Vec<Sample> {
    let ties =
        || Tensor::from(ndarray::arr2(&[[1.0, 3.0, 3.0, 1.0], [0.0, 0.0, 0.0, 0.0]]).into_dyn());
    let whole = || Tensor::from(ndarray::arr2(&[[1i64, 3, 3, 1], [0, 0, 0, 0]]).into_dyn());
    let fed = |title: &str, x: Tensor| Sample::new(title).fed(x).int("axis", 1).batched();
    vec![
        Sample::new("first axis").active(&[3, 2]),
        Sample::new("from the end, dropped")
            .active(&[2, 3, 2])
            .int("axis", -2)
            .int("keepdims", 0)
            .batched(),
        Sample::new("first of equals").constant(ties()).int("axis", 1),
        fed("first of equal integers", whole()),
        fed("last of equal integers", whole()).int("select_last_index", 1),
        Sample::new("last of equals")
            .active(&[2, 3])
            .int("axis", 1)
            .int("select_last_index", 1)
            .batched(),
        Sample::new("integers").fed(Tensor::ints(&[2, 5, 3])),
    ]
}

fn top_samples() -> Vec<Sample> {
    let of = |title: &str| Sample::new(title).active(&[2, 5]).ints(&[2]).results(2).batched();
    vec![
        of("largest"),
        of("smallest").int("largest", 0),
        of("in any order").int("sorted", 0),
        Sample::new("middle axis")
            .active(&[2, 4, 2])
            .ints(&[3])
            .int("axis", 1)
            .results(2)
            .batched(),
        Sample::new("first axis").active(&[3, 2]).ints(&[2]).int("axis", 0).results(2),
        Sample::new("k as an attribute").active(&[2, 4]).int("k", 1).results(2).opset(9),
        Sample::new("integers").fed(Tensor::ints(&[2, 5, 3])).ints(&[2]).results(2),
    ]
}

fn hardmax_samples() -> Vec<Sample> {
    vec![
        Sample::new("last axis").active(&[2, 4]).batched(),
        Sample::new("axis 1 of 3").active(&[2, 3, 2]).int("axis", 1).batched(),
        Sample::new("first axis").active(&[3, 2]).int("axis", 0),
        Sample::new("all but the first axis").active(&[2, 3, 2]).opset(11).batched(),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("ArgMax", |r| read_arg(r, Extreme::Max), arg_samples),
    Entry::new("ArgMin", |r| read_arg(r, Extreme::Min), arg_samples),
    Entry::new("TopK", read_top, top_samples),
    Entry::new("Hardmax", read_hardmax, hardmax_samples),
];
