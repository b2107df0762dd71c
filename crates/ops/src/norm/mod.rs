//! Normalisation by mean and deviation, by a norm, or by neighbours.

mod local;
mod lp;

pub(crate) use lp::LpNormalization;

use ndarray::{ArrayD, Axis, IxDyn};
use taste_graph::{
    Build, Calculus, Composite, Concrete, DType, Dim, Emitter, Id, Lift, Op, OpError, Tensor, take,
};
use taste_onnx::builders;

use crate::{
    Entry, Reader, Sample,
    pointwise::{RECIPROCAL, SQRT, Unary},
    reduce::{mean, sum_square},
    shape::product,
};

/// What scale and shift belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Affine {
    /// The elements that are normalised together: shapes of the axes from the first of them on.
    Element,
    /// Channels, axis 1: vectors.
    Channel,
}

/// scale · (x − mean) / √(variance + ε) + shift over the axes from one on, for x, scale and shift.
#[derive(Clone, Debug)]
struct Normalize {
    /// The first axis that is normalised over.
    from: usize,
    affine: Affine,
    epsilon: f64,
}

impl Op for Normalize {
    fn name(&self) -> &'static str {
        match self.affine {
            Affine::Element => "LayerNormalization",
            Affine::Channel => "InstanceNormalization",
        }
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x, scale, shift] = take(args)?;
        let want = match self.affine {
            Affine::Element => x.shape.get(self.from..),
            Affine::Channel => x.shape.get(1..2).filter(|_| x.rank() > self.from),
        };
        let want = want.ok_or_else(|| OpError::shape("an axis below", x.rank(), self.from))?;
        for arg in [scale, shift] {
            if arg.shape != want {
                return Err(OpError::shape("scale and shift of shape", want, &arg.shape));
            }
        }
        if let Some(other) = args.iter().find(|a| a.dtype != DType::Float) {
            return Err(OpError::DType { want: DType::Float, got: other.dtype });
        }
        Ok(vec![x.clone()])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x, scale, shift] = take(args)?;
        let x = x.as_float()?;
        let (outer, inner) = x.shape().split_at(self.from);
        let rows = IxDyn(&[outer.iter().product(), inner.iter().product()]);
        let misfit = |e: ndarray::ShapeError| OpError::invalid(e.to_string());
        let mut y = x.to_shape(rows).map_err(misfit)?.to_owned();
        for mut row in y.axis_iter_mut(Axis(0)) {
            let count = row.len() as f64;
            let mean = row.sum() / count;
            let variance = row.mapv(|v| (v - mean).powi(2)).sum() / count;
            row.mapv_inplace(|v| (v - mean) / (variance + self.epsilon).sqrt());
        }
        let y = y.into_shape_with_order(x.raw_dim()).map_err(misfit)?;
        let aligned = |t: &Tensor| -> Result<ArrayD<f64>, OpError> {
            let t = t.as_float()?;
            let mut shape = t.shape().to_vec();
            if self.affine == Affine::Channel {
                shape.resize(x.ndim() - 1, 1);
            }
            t.to_shape(IxDyn(&shape)).map(|t| t.to_owned()).map_err(misfit)
        };
        Ok(vec![(y * aligned(scale)? + aligned(shift)?).into()])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Composite(self)
    }

    fn lift(&self, laned: &[bool], _lanes: usize) -> Lift {
        match (self.affine, laned) {
            (Affine::Element, [_, false, false]) => Lift::Shift {
                op: std::sync::Arc::new(Self { from: self.from + 1, ..self.clone() }),
                shared: vec![1, 2],
            },
            (Affine::Channel, [_, false, false]) => Lift::Fold,
            _ => Lift::PerLane,
        }
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        #[expect(clippy::cast_possible_truncation, reason = "files are single precision")]
        let mut attrs = vec![builders::attr_float("epsilon", self.epsilon as f32)];
        if self.affine == Affine::Element {
            attrs.push(builders::attr_int("axis", self.from as i64));
        }
        Ok(vec![e.node(self.name(), args, attrs)])
    }
}

impl Composite for Normalize {
    fn expand(&self, b: &mut Build<'_>, args: &[Id]) -> Result<Id, OpError> {
        let rank = b.fact(args[0]).rank();
        let axes: Vec<usize> = (self.from..rank).collect();
        let Parts { centred, inverse, .. } = standardize(b, args[0], &axes, self.epsilon)?;
        let y = b.mul(centred, inverse)?;
        let [scale, shift] = [args[1], args[2]].map(|arg| match self.affine {
            Affine::Element => Ok(arg),
            Affine::Channel => per_channel(b, arg, rank),
        });
        affine(b, y, scale?, shift?)
    }
}

/// Mean, deviation and their use on x.
struct Parts {
    mean: Id,
    /// x − mean.
    centred: Id,
    /// 1 / √(variance + ε).
    inverse: Id,
}

fn standardize(b: &mut Build<'_>, x: Id, axes: &[usize], epsilon: f64) -> Result<Parts, OpError> {
    let average = mean(b, x, axes)?;
    let centred = b.sub(x, average)?;
    let inverse = inverse_root_mean_square(b, centred, axes, epsilon)?;
    Ok(Parts { mean: average, centred, inverse })
}

/// 1 / √(mean(x²) + ε) over axes, which stay with size 1.
fn inverse_root_mean_square(
    b: &mut Build<'_>,
    x: Id,
    axes: &[usize],
    epsilon: f64,
) -> Result<Id, OpError> {
    let square = b.push(crate::reduce::Square, &[x])?;
    let variance = mean(b, square, axes)?;
    let variance = b.offset(variance, epsilon)?;
    inverse_root(b, variance)
}

/// 1 / √x.
fn inverse_root(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let root = b.push(Unary(&SQRT), &[x])?;
    b.push(Unary(&RECIPROCAL), &[root])
}

/// A vector along axis 1 of something with `rank` axes.
fn per_channel(b: &mut Build<'_>, x: Id, rank: usize) -> Result<Id, OpError> {
    let mut shape = b.fact(x).shape.clone();
    shape.resize(rank.saturating_sub(1).max(1), Dim::from(1));
    b.reshape(x, &shape)
}

/// scale · x + shift, without what changes nothing.
fn affine(b: &mut Build<'_>, x: Id, scale: Id, shift: Id) -> Result<Id, OpError> {
    let y = if is_all(b, scale, 1.0) { x } else { b.mul(x, scale)? };
    if is_all(b, shift, 0.0) { Ok(y) } else { b.add(y, shift) }
}

fn is_all(b: &Build<'_>, id: Id, value: f64) -> bool {
    let constant = b.graph().as_constant(id).and_then(|t| t.as_float().ok());
    constant.is_some_and(|a| a.iter().all(|v| v.to_bits() == value.to_bits()))
}

/// scale · (x − mean) / √(variance + ε) + shift over groups of channels and all that is behind them; scale and
/// shift belong to channels.
pub fn normalize_groups(
    b: &mut Build<'_>,
    x: Id,
    groups: usize,
    [scale, shift]: [Id; 2],
    epsilon: f64,
) -> Result<Id, OpError> {
    let shape = b.fact(x).shape.clone();
    let channels = shape.get(1).and_then(|c| c.as_fixed()).unwrap_or(0);
    let by = i64::try_from(groups).ok().filter(|&g| g > 0 && channels > 0 && channels % g == 0);
    let by =
        by.ok_or_else(|| OpError::shape("a number of groups that divides", channels, groups))?;
    let rest = [&[Dim { per_batch: 0, fixed: channels / by }], &shape[2..]].concat();
    let rest = product(&rest)
        .ok_or_else(|| OpError::unsupported("a group over several axes of", "the batch size"))?;
    let grouped = b.reshape(x, &[shape[0], groups.into(), rest])?;
    let (ones, zeros) = (filled(b, &[groups.into()], 1.0)?, filled(b, &[groups.into()], 0.0)?);
    let op = Normalize { from: 2, affine: Affine::Channel, epsilon };
    let y = b.push(op, &[grouped, ones, zeros])?;
    let y = b.reshape(y, &shape)?;
    let scale = per_channel(b, scale, shape.len())?;
    let shift = per_channel(b, shift, shape.len())?;
    affine(b, y, scale, shift)
}

/// scale · (x − mean) / √(variance + ε) + shift over the last axis.
pub fn normalize_last(
    b: &mut Build<'_>,
    x: Id,
    [scale, shift]: [Id; 2],
    epsilon: f64,
) -> Result<Id, OpError> {
    let from = b.fact(x).rank().saturating_sub(1);
    b.push(Normalize { from, affine: Affine::Element, epsilon }, &[x, scale, shift])
}

/// A value at every place of a shape.
fn filled(b: &mut Build<'_>, shape: &[Dim], value: f64) -> Result<Id, OpError> {
    let value = b.scalar(value);
    b.expand(value, shape)
}

/// A float with at least `rank` axes.
fn check(r: &Reader<'_, '_>, x: Id, rank: usize) -> Result<(), OpError> {
    let fact = r.fact(x);
    if fact.dtype != DType::Float {
        return Err(OpError::DType { want: DType::Float, got: fact.dtype });
    }
    if fact.rank() < rank {
        return Err(OpError::shape("at least as many axes as", rank, fact.rank()));
    }
    Ok(())
}

/// That scale and shift did not make a result larger than its argument.
fn check_same(r: &Reader<'_, '_>, y: Id, x: Id) -> Result<(), OpError> {
    if r.fact(y).shape == r.fact(x).shape {
        return Ok(());
    }
    Err(OpError::shape("a result like", r.fact(x).to_string(), r.fact(y).to_string()))
}

/// A float vector with an element for each of `size` channels or groups.
fn check_vector(r: &Reader<'_, '_>, id: Id, size: Dim) -> Result<(), OpError> {
    check(r, id, 1)?;
    if r.fact(id).shape != [size] {
        return Err(OpError::shape("a vector of length", size.to_string(), r.fact(id).to_string()));
    }
    Ok(())
}

/// With the statistics of training: scale · (x − mean) / √(variance + ε) + shift = a·x + c, where a and
/// c are constants of the file.
fn read_batch(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, scale, shift, mean, variance] = r.take()?;
    check(r, x, 2)?;
    let channels = r.fact(x).shape[1];
    for vector in [scale, shift, mean, variance] {
        check_vector(r, vector, channels)?;
    }
    r.ignore("momentum");
    let (training, spatial) = (r.int_or("training_mode", 0), r.int_or("spatial", 1));
    if training != 0 {
        return Err(OpError::unsupported("batch normalisation with training_mode", training));
    }
    if spatial != 1 {
        return Err(OpError::unsupported("batch normalisation with spatial", spatial));
    }
    let epsilon = r.float_or("epsilon", 1e-5);
    let rank = r.rank(x);
    let variance = r.b.offset(variance, epsilon)?;
    let inverse = inverse_root(&mut r.b, variance)?;
    let factor = r.b.mul(scale, inverse)?;
    let moved = r.b.mul(mean, factor)?;
    let offset = r.b.sub(shift, moved)?;
    let factor = per_channel(&mut r.b, factor, rank)?;
    let offset = per_channel(&mut r.b, offset, rank)?;
    Ok(vec![affine(&mut r.b, x, factor, offset)?])
}

fn read_instance(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, scale, shift] = r.take()?;
    check(r, x, 3)?;
    let epsilon = r.float_or("epsilon", 1e-5);
    let op = Normalize { from: 2, affine: Affine::Channel, epsilon };
    Ok(vec![r.b.push(op, &[x, scale, shift])?])
}

/// Groups of channels are the channels of an instance normalisation; scale and shift belong to groups
/// before opset 21 and to channels from then on.
fn read_group(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, scale, shift] = r.take()?;
    check(r, x, 2)?;
    r.ignore("stash_type");
    let epsilon = r.float_or("epsilon", 1e-5);
    let groups =
        r.int("num_groups").ok_or_else(|| OpError::invalid("attribute num_groups is missing"))?;
    let channels = r.fixed_size(x, 1)?;
    let groups = usize::try_from(groups)
        .ok()
        .filter(|&g| g > 0 && channels.is_multiple_of(g))
        .ok_or_else(|| OpError::shape("a number of groups that divides", channels, groups))?;
    let shape = r.fact(x).shape.clone();
    let by_group = r.opset < 21;
    let size = Dim::from(if by_group { groups } else { channels });
    for vector in [scale, shift] {
        check_vector(r, vector, size)?;
    }
    if !by_group {
        return Ok(vec![normalize_groups(&mut r.b, x, groups, [scale, shift], epsilon)?]);
    }
    let rest = [&[Dim::from(channels / groups)], &shape[2..]].concat();
    let rest = product(&rest)
        .ok_or_else(|| OpError::unsupported("a group over several axes of", "the batch size"))?;
    let op = Normalize { from: 2, affine: Affine::Channel, epsilon };
    let grouped = r.b.reshape(x, &[shape[0], groups.into(), rest])?;
    let y = r.b.push(op, &[grouped, scale, shift])?;
    Ok(vec![r.b.reshape(y, &shape)?])
}

fn read_layer(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let (x, scale, shift) = (r.arg(0)?, r.arg(1)?, r.optional(2));
    check(r, x, 1)?;
    r.ignore("stash_type");
    let (axis, epsilon) = (r.int_or("axis", -1), r.float_or("epsilon", 1e-5));
    let rank = r.rank(x);
    let from = r.axis(axis, rank)?;
    let inner = r.fact(x).shape[from..].to_vec();
    let b = &mut r.b;
    let op = Normalize { from, affine: Affine::Element, epsilon };
    let fits = |id: Id| b.fact(id).rank() <= inner.len();
    let y = if fits(scale) && shift.is_none_or(fits) {
        let scale = b.expand(scale, &inner)?;
        let shift = match shift {
            Some(shift) => b.expand(shift, &inner)?,
            None => filled(b, &inner, 0.0)?,
        };
        b.push(op, &[x, scale, shift])?
    } else {
        // Scale or shift vary over axes that are not normalised over.
        let (ones, zeros) = (filled(b, &inner, 1.0)?, filled(b, &inner, 0.0)?);
        let y = b.push(op, &[x, ones, zeros])?;
        let y = b.mul(y, scale)?;
        shift.map_or(Ok(y), |shift| b.add(y, shift))?
    };
    check_same(r, y, x)?;
    if !r.wants_result(1) && !r.wants_result(2) {
        return Ok(vec![y]);
    }
    let axes: Vec<usize> = (from..rank).collect();
    let Parts { mean, inverse, .. } = standardize(&mut r.b, x, &axes, epsilon)?;
    Ok(vec![y, mean, inverse])
}

/// scale · x / √(mean(x²) + ε).
fn read_root_mean_square(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, scale] = r.take()?;
    check(r, x, 1)?;
    r.ignore("stash_type");
    let (axis, epsilon) = (r.int_or("axis", -1), r.float_or("epsilon", 1e-5));
    let rank = r.rank(x);
    let axes: Vec<usize> = (r.axis(axis, rank)?..rank).collect();
    let inverse = inverse_root_mean_square(&mut r.b, x, &axes, epsilon)?;
    let y = r.b.mul(x, inverse)?;
    let y = r.b.mul(y, scale)?;
    check_same(r, y, x)?;
    Ok(vec![y])
}

/// (x − mean) / (deviation + 10⁻⁹).
fn read_mean_variance(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    check(r, x, 1)?;
    let rank = r.rank(x);
    let axes = r.ints("axes").unwrap_or_else(|| vec![0, 2, 3]);
    let mut axes = axes.into_iter().map(|a| r.axis(a, rank)).collect::<Result<Vec<_>, _>>()?;
    axes.sort_unstable();
    axes.dedup();
    let b = &mut r.b;
    let average = mean(b, x, &axes)?;
    let centred = b.sub(x, average)?;
    let square = b.push(crate::reduce::Square, &[centred])?;
    let variance = mean(b, square, &axes)?;
    let deviation = b.push(Unary(&SQRT), &[variance])?;
    let deviation = b.offset(deviation, 1e-9)?;
    let inverse = b.push(Unary(&RECIPROCAL), &[deviation])?;
    Ok(vec![b.mul(centred, inverse)?])
}

fn batch_samples() -> Vec<Sample> {
    let with = |sample: Sample, c: usize| {
        sample.fixed(&[c]).fixed(&[c]).fixed(&[c]).fixed_in(&[c], 0.2, 2.0).batched()
    };
    vec![
        with(Sample::new("images").active(&[2, 3, 2, 2]), 3),
        with(Sample::new("vectors").active(&[2, 3]), 3).float("epsilon", 0.01),
        with(Sample::new("sequences, old").active(&[2, 2, 3]), 2).float("momentum", 0.9).opset(9),
        Sample::new("everything varies")
            .active(&[2, 3, 2])
            .active(&[3])
            .active(&[3])
            .active(&[3])
            .active_in(&[3], 0.5, 1.5),
    ]
}

fn instance_samples() -> Vec<Sample> {
    let of = |title: &str, shape: &[usize]| Sample::new(title).active(shape);
    vec![
        of("sequences", &[2, 2, 4]).fixed(&[2]).fixed(&[2]).batched(),
        of("images", &[2, 2, 2, 3]).fixed(&[2]).fixed(&[2]).float("epsilon", 0.1).batched(),
        of("scale and shift vary", &[2, 2, 3]).active(&[2]).active(&[2]),
    ]
}

fn group_samples() -> Vec<Sample> {
    let of = |title: &str, groups: i64, size: usize, opset: i64| {
        Sample::new(title)
            .active(&[2, 4, 3])
            .fixed(&[size])
            .fixed(&[size])
            .int("num_groups", groups)
            .opset(opset)
            .batched()
    };
    vec![
        of("scale by channel", 2, 4, 21),
        of("scale by group", 2, 2, 18),
        of("one group", 1, 4, 21),
        Sample::new("scale varies")
            .active(&[1, 4, 2, 2])
            .active(&[4])
            .active(&[4])
            .int("num_groups", 2)
            .float("epsilon", 0.1)
            .opset(21),
    ]
}

fn layer_samples() -> Vec<Sample> {
    let of = |title: &str, shape: &[usize]| Sample::new(title).active(shape);
    vec![
        of("last axis", &[2, 4]).fixed(&[4]).fixed(&[4]).batched(),
        of("two axes", &[2, 3, 2]).fixed(&[3, 2]).fixed(&[3, 2]).int("axis", 1).batched(),
        of("no shift", &[2, 2, 3]).fixed(&[3]).float("epsilon", 0.1).batched(),
        of("scale and shift vary", &[2, 4]).active(&[4]).active(&[4]),
        of("scalar scale", &[2, 4]).fixed(&[1]).fixed(&[4]).batched(),
        of("scale by row", &[2, 2, 3]).fixed(&[2, 1]).fixed(&[2, 3]).batched(),
        of("mean and deviation too", &[2, 4]).fixed(&[4]).fixed(&[4]).results(3).batched(),
        of("over everything", &[2, 3]).fixed(&[3]).fixed(&[2, 3]).int("axis", 0),
    ]
}

fn root_mean_square_samples() -> Vec<Sample> {
    let of = |title: &str, shape: &[usize]| Sample::new(title).active(shape).opset(23);
    vec![
        of("last axis", &[2, 4]).fixed(&[4]).batched(),
        of("two axes", &[2, 3, 2]).fixed(&[3, 2]).int("axis", 1).float("epsilon", 0.1).batched(),
        of("scale varies", &[2, 4]).active(&[4]),
    ]
}

fn mean_variance_samples() -> Vec<Sample> {
    vec![
        Sample::new("images over the batch").active(&[2, 2, 2, 3]).batched(),
        Sample::new("by sample").active(&[2, 2, 4]).int_list("axes", &[-2, -1]).batched(),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("BatchNormalization", read_batch, batch_samples),
    Entry::new("InstanceNormalization", read_instance, instance_samples),
    Entry::new("GroupNormalization", read_group, group_samples),
    Entry::new("LayerNormalization", read_layer, layer_samples),
    Entry::new("RMSNormalization", read_root_mean_square, root_mean_square_samples),
    Entry::new("MeanVarianceNormalization", read_mean_variance, mean_variance_samples),
    Entry::new("LpNormalization", lp::read, lp::samples),
    Entry::new("LRN", local::read, local::samples),
];
