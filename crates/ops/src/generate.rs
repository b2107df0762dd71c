//! Values made from shapes and numbers.

use std::sync::Arc;

use ndarray::{ArrayD, Axis, IxDyn};
use taste_graph::{
    Calculus, Concrete, DType, Dim, Emitter, Id, Lift, Op, OpError, Tensor,
    algebra::{Slice, Span},
    take,
};
use taste_onnx::{ElemType, builders};

use crate::{Entry, Reader, Sample, cast::Cast, gather::int_tensor};

/// The largest tensor that is written out as a constant here.
const LIMIT: usize = 1 << 24;

fn read_constant(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let tensor = if let Some(tensor) = r.tensor("value")? {
        tensor
    } else if let Some(value) = r.int("value_int") {
        int_tensor(&[], &[value])
    } else if let Some(values) = r.ints("value_ints") {
        Tensor::ints(&values)
    } else if let Some(values) = r.floats("value_floats") {
        Tensor::floats(&[values.len()], values)?
    } else if r.floats("value_float").is_some() {
        Tensor::scalar(r.float_or("value_float", 0.0))
    } else {
        return Err(OpError::unsupported("a constant without", "a tensor or numbers"));
    };
    Ok(vec![r.b.graph_mut().constant(tensor)])
}

fn read_constant_of_shape(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let shape = r.known_ints(0)?;
    let value = r.tensor("value")?.unwrap_or_else(|| Tensor::scalar(0.0));
    if value.len() != 1 {
        return Err(OpError::shape("one value", 1, value.shape()));
    }
    if let Some(below) = shape.iter().find(|d| d.value_at(1) < 0) {
        return Err(OpError::shape("sizes of at least", 0, below));
    }
    let value = r.b.graph_mut().constant(value);
    let value = r.b.reshape(value, &[])?;
    Ok(vec![r.b.expand(value, &shape)?])
}

/// start, start + delta, … below the limit (above it, if delta is negative).
#[derive(Clone, Debug)]
struct Range {
    start: Dim,
    limit: Dim,
    delta: i64,
}

impl Range {
    fn len(&self) -> Result<usize, OpError> {
        let (start, limit) = (self.start.value_at(0), self.limit.value_at(0));
        let span = if self.delta > 0 { limit.checked_sub(start) } else { start.checked_sub(limit) };
        let span = span.ok_or_else(|| OpError::invalid("a range beyond memory"))?.max(0);
        if self.delta == 0 {
            return Err(OpError::invalid("a range with step 0"));
        }
        usize::try_from(span.unsigned_abs().div_ceil(self.delta.unsigned_abs()))
            .map_err(|_| OpError::invalid("a range beyond memory"))
    }
}

impl Op for Range {
    fn name(&self) -> &'static str {
        "Range"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [] = take(args)?;
        Ok(vec![Concrete { dtype: DType::Int, shape: vec![self.len()?] }])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [] = take(args)?;
        let start = self.start.value_at(0);
        let len = i64::try_from(self.len()?).map_err(|e| OpError::invalid(e.to_string()))?;
        Ok(vec![Tensor::ints(&(0..len).map(|i| start + i * self.delta).collect::<Vec<_>>())])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Constant
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn with_batch(&self, batch: Dim) -> Option<Arc<dyn Op>> {
        (self.start.depends_on_batch() || self.limit.depends_on_batch()).then(|| {
            Arc::new(Self {
                start: self.start.with_batch(batch),
                limit: self.limit.with_batch(batch),
                delta: self.delta,
            }) as Arc<dyn Op>
        })
    }

    fn write(&self, e: &mut Emitter<'_>, _args: &[String]) -> Result<Vec<String>, OpError> {
        let mut scalar = |dim: Dim| {
            if let Some(value) = dim.as_fixed() {
                return e.tensor(&int_tensor(&[], &[value]));
            }
            let one = e.dims(&[dim]);
            e.reshape(&one, &[])
        };
        let (start, limit) = (scalar(self.start), scalar(self.limit));
        let delta = scalar(Dim { per_batch: 0, fixed: self.delta });
        Ok(vec![e.node("Range", &[start, limit, delta], vec![])])
    }
}

fn read_range(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    // The precision of the sums.
    r.ignore("stash_type");
    if r.fact(r.arg(0)?).dtype == DType::Float {
        let mut ends = [0.0; 3];
        for (i, end) in ends.iter_mut().enumerate() {
            let scalar = r.constant(i)?.as_scalar();
            *end = scalar.ok_or_else(|| OpError::shape("a scalar", 1, "another shape"))?;
        }
        let [start, limit, delta] = ends;
        let len = ((limit - start) / delta).ceil().max(0.0);
        if len.is_nan() || len > LIMIT as f64 {
            return Err(OpError::unsupported("a range of length", len));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the limit"
        )]
        let values: Vec<f64> = (0..len as usize).map(|i| start + i as f64 * delta).collect();
        return Ok(vec![r.b.graph_mut().constant(Tensor::floats(&[values.len()], values)?)]);
    }
    let mut ends = [Dim::from(0); 3];
    for (i, end) in ends.iter_mut().enumerate() {
        let [known] = r.known_ints(i)?[..] else {
            return Err(OpError::shape("a scalar", 1, "another shape"));
        };
        *end = known;
    }
    let [start, limit, delta] = ends;
    let delta = delta
        .as_fixed()
        .ok_or_else(|| OpError::unsupported("a step that depends on the batch", delta))?;
    let range = Range { start, limit, delta };
    if start.depends_on_batch() || limit.depends_on_batch() {
        return Ok(vec![r.b.push(range, &[])?]);
    }
    if range.len()? > LIMIT {
        return Err(OpError::unsupported("a range of length", range.len()?));
    }
    let values = range.eval(&[])?.swap_remove(0);
    Ok(vec![r.b.graph_mut().constant(values)])
}

fn read_eye_like(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let k = r.int_or("k", 0);
    let dtype = match r.int("dtype").map(|code| (code, i32::try_from(code))) {
        None => r.fact(x).dtype,
        Some((code, short)) => match short.ok().and_then(ElemType::from_code) {
            Some(ElemType::F32 | ElemType::F64 | ElemType::F16 | ElemType::Bf16) => DType::Float,
            Some(ElemType::Bool) => DType::Bool,
            Some(ElemType::String) | None => return Err(OpError::unsupported("dtype", code)),
            Some(_) => DType::Int,
        },
    };
    if r.rank(x) != 2 {
        return Err(OpError::shape("a matrix of rank", 2, r.rank(x)));
    }
    let shape = [r.fixed_size(x, 0)?, r.fixed_size(x, 1)?];
    if shape[0].checked_mul(shape[1]).is_none_or(|n| n > LIMIT) {
        return Err(OpError::unsupported("an identity of shape", format!("{shape:?}")));
    }
    let on = |i: &IxDyn| {
        i64::try_from(i[1]).ok() == i64::try_from(i[0]).ok().and_then(|a| a.checked_add(k))
    };
    let shape = IxDyn(&shape);
    let eye: Tensor = match dtype {
        DType::Float => ArrayD::from_shape_fn(shape, |i| f64::from(u8::from(on(&i)))).into(),
        DType::Int => ArrayD::from_shape_fn(shape, |i| i64::from(on(&i))).into(),
        DType::Bool => ArrayD::from_shape_fn(shape, |i| on(&i)).into(),
    };
    Ok(vec![r.b.graph_mut().constant(eye)])
}

/// 1 at the index along a new axis and 0 elsewhere.
#[derive(Clone, Debug)]
struct OneHot {
    axis: usize,
    depth: usize,
    dtype: DType,
}

impl Op for OneHot {
    fn name(&self) -> &'static str {
        "OneHot"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [indices] = take(args)?;
        if indices.dtype != DType::Int {
            return Err(OpError::DType { want: DType::Int, got: indices.dtype });
        }
        if self.axis > indices.rank() {
            return Err(OpError::shape("an axis up to", indices.rank(), self.axis));
        }
        let mut shape = indices.shape.clone();
        shape.insert(self.axis, self.depth);
        Ok(vec![Concrete { dtype: self.dtype, shape }])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [indices] = take(args)?;
        let shape = self.infer(&[indices.concrete()])?.swap_remove(0).shape;
        let depth = i64::try_from(self.depth).unwrap_or(i64::MAX);
        let mut hot = ArrayD::from_elem(IxDyn(&shape), 0i64);
        for (place, mut layer) in (0..depth).zip(hot.axis_iter_mut(Axis(self.axis))) {
            let on = indices
                .as_int()?
                .mapv(|i| i64::from(i == place || i.saturating_add(depth) == place));
            layer.assign(&on);
        }
        Ok(vec![match self.dtype {
            DType::Float => hot.mapv(|v| v as f64).into(),
            DType::Int => hot.into(),
            DType::Bool => hot.mapv(|v| v != 0).into(),
        }])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Constant
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axis: self.axis + 1, ..self.clone() })
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let depth = e.tensor(&int_tensor(&[], &[self.depth as i64]));
        let values = match self.dtype {
            DType::Int => e.ints(&[0, 1]),
            _ => e.tensor(&Tensor::floats(&[2], vec![0.0, 1.0])?),
        };
        let axis = builders::attr_int("axis", self.axis as i64);
        Ok(vec![e.node("OneHot", &[args[0].clone(), depth, values], vec![axis])])
    }
}

/// off + hot · (on − off).
fn read_one_hot(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [mut indices, _, values] = r.take()?;
    if r.fact(indices).dtype == DType::Float {
        indices = r.b.push(Cast { to: DType::Int }, &[indices])?;
    }
    let depth = match r.b.graph().as_constant(r.arg(1)?).and_then(Tensor::as_scalar) {
        Some(depth) if depth.fract() == 0.0 && (0.0..LIMIT as f64).contains(&depth) => {
            #[expect(clippy::cast_possible_truncation, reason = "a whole number below the limit")]
            let depth = depth as i64;
            depth
        }
        Some(depth) => return Err(OpError::unsupported("a depth of", depth)),
        None => match r.fixed_ints(1)?[..] {
            [depth] => depth,
            _ => return Err(OpError::shape("one depth", 1, "another shape")),
        },
    };
    let depth = usize::try_from(depth)
        .ok()
        .filter(|d| (1..=LIMIT).contains(d))
        .ok_or_else(|| OpError::unsupported("a depth of", depth))?;
    let axis = r.int_or("axis", -1);
    let axis = r.axis(axis, r.rank(indices) + 1)?;
    let dtype = r.fact(values).dtype;
    if dtype == DType::Bool || r.fact(values).shape != [Dim::from(2)] {
        return Err(OpError::unsupported("values of", r.fact(values)));
    }
    let hot = r.b.push(OneHot { axis, depth, dtype }, &[indices])?;
    let plain = match r.b.graph().as_constant(values) {
        Some(Tensor::Float(v)) => v.iter().eq([0.0, 1.0].iter()),
        Some(Tensor::Int(v)) => v.iter().eq([0, 1].iter()),
        _ => false,
    };
    if plain {
        return Ok(vec![hot]);
    }
    let [off, on] = [0, 1].map(|start| Slice::along(0, Span { start, step: 1, len: 1 }));
    let (off, on) = (r.b.push(off, &[values])?, r.b.push(on, &[values])?);
    let rise = r.b.sub(on, off)?;
    let risen = r.b.mul(hot, rise)?;
    Ok(vec![r.b.add(risen, off)?])
}

fn read_non_zero(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    fn positions<T>(a: &taste_graph::Array<T>, is_set: impl Fn(&T) -> bool) -> Vec<IxDyn> {
        a.indexed_iter().filter(|(_, v)| is_set(v)).map(|(i, _)| i).collect()
    }
    let x = r.constant(0)?;
    let rank = x.shape().len();
    let at = match x {
        Tensor::Float(a) => positions(a, |v| *v != 0.0),
        Tensor::Int(a) => positions(a, |v| *v != 0),
        Tensor::Bool(a) => positions(a, |v| *v),
    };
    let columns: Vec<i64> =
        (0..rank).flat_map(|axis| at.iter().map(move |i| i[axis] as i64)).collect();
    let tensor = int_tensor(&[rank, at.len()], &columns);
    Ok(vec![r.b.graph_mut().constant(tensor)])
}

fn constant_samples() -> Vec<Sample> {
    vec![
        Sample::new("a tensor").attribute(builders::attr_tensor(
            "value",
            builders::tensor_f32("", &[2], &[0.5, -1.0]),
        )),
        Sample::new("a float").float("value_float", 0.25),
        Sample::new("floats").attribute(builders::attr_floats("value_floats", &[1.0, 2.0])),
        Sample::new("an integer").int("value_int", 3),
        Sample::new("integers").int_list("value_ints", &[3, -4]),
    ]
}

fn constant_of_shape_samples() -> Vec<Sample> {
    let seven = builders::tensor_i64("", &[1], &[7]);
    vec![
        Sample::new("zeros").ints(&[2, 3]),
        Sample::new("sevens").ints(&[3]).attribute(builders::attr_tensor("value", seven)),
        Sample::new("a scalar").ints(&[]),
    ]
}

fn range_samples() -> Vec<Sample> {
    let ints = |title: &str, v: [i64; 3]| {
        v.iter().fold(Sample::new(title), |s, &v| s.constant(int_tensor(&[], &[v])))
    };
    let floats = [1.0, 2.2, 0.5].map(Tensor::scalar);
    vec![
        ints("up", [1, 8, 3]),
        ints("down", [5, 0, -2]),
        ints("empty", [5, 0, 2]),
        floats.into_iter().fold(Sample::new("floats"), Sample::constant),
    ]
}

fn one_hot_samples() -> Vec<Sample> {
    let at = || int_tensor(&[2], &[1, -1]);
    let depth = || int_tensor(&[], &[3]);
    let values = |v: [f64; 2]| Tensor::floats(&[2], v.to_vec()).unwrap_or(Tensor::scalar(0.0));
    vec![
        Sample::new("zeros and ones").fed(at()).constant(depth()).constant(values([0.0, 1.0])),
        Sample::new("first axis")
            .fed(at())
            .constant(depth())
            .constant(values([0.5, -1.0]))
            .int("axis", 0),
        Sample::new("integers").fed(at()).ints(&[3]).ints(&[0, 1]).batched(),
        Sample::new("active values")
            .constant(int_tensor(&[2, 2], &[0, 2, 7, 1]))
            .constant(depth())
            .active(&[2])
            .int("axis", 1),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Constant", read_constant, constant_samples),
    Entry::new("ConstantOfShape", read_constant_of_shape, constant_of_shape_samples),
    Entry::new("EyeLike", read_eye_like, || {
        vec![
            Sample::new("main diagonal").active(&[2, 3]),
            Sample::new("another, of integers").active(&[3, 3]).int("k", 1).int("dtype", 7),
        ]
    }),
    Entry::new("NonZero", read_non_zero, || {
        vec![Sample::new("of a constant").constant(int_tensor(&[2, 2], &[0, 3, 1, 0]))]
    }),
    Entry::new("OneHot", read_one_hot, one_hot_samples),
    Entry::new("Range", read_range, range_samples),
];
