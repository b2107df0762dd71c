//! Activations of networks.

mod pieces;
mod smooth;

use taste_graph::{
    Build, Calculus, Composite, Concrete, DType, Emitter, Id, Lift, Op, OpError, Tensor,
    algebra::{broadcast_shapes, zip_elements},
    take,
};

use crate::{
    Entry, Reader, Sample,
    arithmetic::{Extremum, zero},
    compare::{Compare, Where},
    pointwise::{RELU, Scalar, Unary, samples},
};
use pieces::{Clip, Elu, HardSigmoid, HardSwish, LeakyRelu, Shrink, ThresholdedRelu};
pub(crate) use smooth::{Gelu, Softplus, Swish};
use smooth::{Mish, TanhGelu};

fn scaled(e: &mut Emitter<'_>, x: String, factor: f64) -> String {
    if factor.to_bits() == 1.0f64.to_bits() {
        return x;
    }
    let factor = e.scalar(factor);
    e.node("Mul", &[x, factor], vec![])
}

/// x above zero and slope·x below; the slope broadcasts to x.
#[derive(Debug)]
struct PRelu;

impl Op for PRelu {
    fn name(&self) -> &'static str {
        "PRelu"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x, slope] = take(args)?;
        for arg in [x, slope] {
            if arg.dtype != DType::Float {
                return Err(OpError::DType { want: DType::Float, got: arg.dtype });
            }
        }
        if broadcast_shapes(&x.shape, &slope.shape)? != x.shape {
            return Err(OpError::shape("a slope that broadcasts to", &x.shape, &slope.shape));
        }
        Ok(vec![x.clone()])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x, slope] = take(args)?;
        Ok(vec![zip_elements(x, slope, |x, s| if x < 0.0 { s * x } else { x }, |x, _| x)?])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Composite(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.node("PRelu", args, vec![])])
    }
}

impl Composite for PRelu {
    /// x·(1 or slope).
    fn expand(&self, b: &mut Build<'_>, args: &[Id]) -> Result<Id, OpError> {
        let [x, slope] = *take(args)?;
        let (zero, one) = (b.scalar(0.0), b.scalar(1.0));
        let above = b.push(Compare::Greater, &[x, zero])?;
        let factor = b.push(Where, &[above, one, slope])?;
        b.mul(x, factor)
    }
}

fn read(r: &mut Reader<'_, '_>, function: impl Scalar) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    Ok(vec![r.b.push(Unary(function), &[x])?])
}

/// Integers have a `Relu` too: the larger of x and 0.
fn read_relu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    if r.fact(x).dtype == DType::Int {
        let zero = zero(&mut r.b, DType::Int);
        return Ok(vec![r.b.push(Extremum::Max, &[x, zero])?]);
    }
    read(r, &RELU)
}

fn read_elu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let alpha = r.float_or("alpha", 1.0);
    read(r, Elu { gamma: 1.0, alpha, rate: 1.0 })
}

fn read_selu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let alpha = r.float_or("alpha", 1.673_263_192_176_818_8);
    let gamma = r.float_or("gamma", 1.050_701_022_148_132_3);
    read(r, Elu { gamma, alpha, rate: 1.0 })
}

fn read_celu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let alpha = r.float_or("alpha", 1.0);
    if alpha == 0.0 || !alpha.is_finite() {
        return Err(OpError::unsupported("alpha", alpha));
    }
    read(r, Elu { gamma: 1.0, alpha, rate: 1.0 / alpha })
}

fn read_leaky_relu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let alpha = r.float_or("alpha", 0.01);
    read(r, LeakyRelu { alpha })
}

fn read_hard_sigmoid(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let (alpha, beta) = (r.float_or("alpha", 0.2), r.float_or("beta", 0.5));
    read(r, HardSigmoid { alpha, beta })
}

fn read_thresholded_relu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let alpha = r.float_or("alpha", 1.0);
    read(r, ThresholdedRelu { alpha })
}

fn read_shrink(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let (lambda, bias) = (r.float_or("lambd", 0.5), r.float_or("bias", 0.0));
    if lambda < 0.0 {
        return Err(OpError::unsupported("lambd", lambda));
    }
    read(r, Shrink { lambda, bias })
}

fn read_swish(r: &mut Reader<'_, '_>, default: f64) -> Result<Vec<Id>, OpError> {
    let alpha = r.float_or("alpha", default);
    read(r, Swish { alpha })
}

fn read_gelu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    match r.string_or("approximate", "none").as_str() {
        "none" => read(r, Gelu),
        "tanh" => read(r, TanhGelu),
        other => Err(OpError::unsupported("approximate", other)),
    }
}

/// The function of x + bias, where the bias may be left out.
fn read_biased(r: &mut Reader<'_, '_>, function: impl Scalar) -> Result<Vec<Id>, OpError> {
    let mut x = r.arg(0)?;
    if let Some(bias) = r.optional(1) {
        x = r.b.add(x, bias)?;
    }
    Ok(vec![r.b.push(Unary(function), &[x])?])
}

fn read_prelu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, slope] = r.take()?;
    Ok(vec![r.b.push(PRelu, &[x, slope])?])
}

/// A bound of `Clip` as it is written in the file.
enum Bound {
    Number(f64),
    Computed(Id),
}

fn bound(r: &mut Reader<'_, '_>, attribute: Option<f64>, i: usize, absent: f64) -> Bound {
    if let Some(v) = attribute {
        return Bound::Number(v);
    }
    match r.optional(i) {
        None => Bound::Number(absent),
        Some(id) => match r.b.graph().as_constant(id).and_then(Tensor::as_scalar) {
            Some(v) => Bound::Number(v),
            None => Bound::Computed(id),
        },
    }
}

/// Below opset 11 the bounds are attributes. Bounds that are constants make a function of x alone.
fn read_clip(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let given = |v: f64| Some(v).filter(|v| v.is_finite());
    let (low, high) = (r.float_or("min", f64::NAN), r.float_or("max", f64::NAN));
    let low = bound(r, given(low), 1, f64::NEG_INFINITY);
    let high = bound(r, given(high), 2, f64::INFINITY);
    // The largest finite floats are how files say that there is no bound.
    let open = |v: f64| {
        if v.abs() >= f64::from(f32::MAX) { v.signum() * f64::INFINITY } else { v }
    };
    if let (Bound::Number(low), Bound::Number(high)) = (&low, &high) {
        let (low, high) = (open(*low), open(*high));
        if low == f64::NEG_INFINITY && high == f64::INFINITY {
            return Ok(vec![x]);
        }
        if r.fact(x).dtype == DType::Float {
            return Ok(vec![r.b.push(Unary(Clip { low, high }), &[x])?]);
        }
    }
    let mut y = x;
    for (side, bound) in [(Extremum::Max, low), (Extremum::Min, high)] {
        let bound = match bound {
            Bound::Number(v) if v.is_infinite() => continue,
            Bound::Number(v) => r.b.scalar(v),
            Bound::Computed(id) => id,
        };
        y = r.b.push(side, &[y, bound])?;
    }
    Ok(vec![y])
}

/// x between two bounds.
pub(crate) fn clamp(b: &mut Build<'_>, x: Id, low: f64, high: f64) -> Result<Id, OpError> {
    b.push(Unary(Clip { low, high }), &[x])
}

fn with(title: &str, attributes: &[(&str, f32)]) -> Sample {
    let sample = Sample::new(title).active_in(&[2, 4], -2.0, 2.0).batched();
    attributes.iter().fold(sample, |s, (name, value)| s.float(name, *value))
}

/// Samples with the default parameters and with others.
fn samples_with(attributes: &[(&str, f32)]) -> Vec<Sample> {
    let mut all = samples(-2.0, 2.0);
    all.push(with("other parameters", attributes));
    all
}

fn clip_samples() -> Vec<Sample> {
    let number = |v: f64| Tensor::scalar(v);
    let x = |title: &str| Sample::new(title).active_in(&[2, 5], -2.0, 2.0);
    vec![
        x("two bounds").constant(number(-0.5)).constant(number(1.0)).batched(),
        x("a bound below").constant(number(-0.3)).batched(),
        x("a bound above").omitted().constant(number(0.4)).batched(),
        x("no bounds").batched(),
        x("attributes").float("min", -1.0).float("max", 0.5).opset(10).batched(),
        x("one attribute").float("max", 0.5).opset(8).batched(),
        x("computed bounds").active_in(&[], -0.9, -0.4).active_in(&[], 0.4, 0.9),
        x("a computed bound above").constant(number(-0.5)).active_in(&[], 0.4, 0.9),
        Sample::new("integers")
            .fed(Tensor::ints(&[-3, 1, 9]))
            .constant(ndarray::arr0(0).into_dyn().into())
            .constant(ndarray::arr0(5).into_dyn().into()),
    ]
}

fn prelu_samples() -> Vec<Sample> {
    let x = |title: &str, shape: &[usize]| Sample::new(title).active_in(shape, -2.0, 2.0);
    vec![
        x("one slope", &[2, 3]).fixed(&[1]).batched(),
        x("a slope a channel", &[2, 3, 2]).fixed(&[3, 1]).batched(),
        x("a slope that varies", &[2, 3, 2]).active(&[3, 1]),
        x("a slope an element", &[2, 3]).active(&[2, 3]).batched(),
    ]
}

fn relu_samples() -> Vec<Sample> {
    let mut all = samples(-1.0, 1.0);
    all.push(Sample::new("integers").fed(Tensor::ints(&[-3, 0, 7])));
    all
}

fn gelu_samples() -> Vec<Sample> {
    let mut all = samples(-3.0, 3.0);
    let x = Sample::new("hyperbolic").active_in(&[2, 4], -3.0, 3.0).batched();
    all.push(x.string("approximate", "tanh"));
    all
}

fn bias_samples() -> Vec<Sample> {
    let x = |title: &str| Sample::new(title).active_in(&[2, 3], -2.0, 2.0).batched();
    vec![x("no bias"), x("a bias").fixed(&[3])]
}

const MICROSOFT: &str = "com.microsoft";

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Celu", read_celu, || samples_with(&[("alpha", 0.7)])),
    Entry::new("Clip", read_clip, clip_samples),
    Entry::new("Elu", read_elu, || samples_with(&[("alpha", 1.6)])),
    Entry::new("Gelu", read_gelu, gelu_samples),
    Entry::new("HardSigmoid", read_hard_sigmoid, || samples_with(&[("alpha", 0.7), ("beta", 0.4)])),
    Entry::new("HardSwish", |r| read(r, HardSwish), || samples(-5.0, 5.0)),
    Entry::new("LeakyRelu", read_leaky_relu, || samples_with(&[("alpha", 0.3)])),
    Entry::new("Mish", |r| read(r, Mish), || samples(-4.0, 4.0)),
    Entry::new("PRelu", read_prelu, prelu_samples),
    Entry::new("Relu", read_relu, relu_samples),
    Entry::new("Selu", read_selu, || samples_with(&[("alpha", 1.2), ("gamma", 0.8)])),
    Entry::new("Shrink", read_shrink, || samples_with(&[("lambd", 0.8), ("bias", 0.6)])),
    Entry::new("Softplus", |r| read(r, Softplus), || samples(-4.0, 4.0)),
    Entry::new("Swish", |r| read_swish(r, 1.0), || samples_with(&[("alpha", 1.7)])),
    Entry::new("ThresholdedRelu", read_thresholded_relu, || samples_with(&[("alpha", 0.4)])),
    Entry {
        name: "BiasGelu",
        domain: MICROSOFT,
        read: |r| read_biased(r, Gelu),
        samples: || vec![Sample::new("a bias").active(&[2, 3]).fixed(&[3]).batched()],
    },
    Entry {
        name: "FastGelu",
        domain: MICROSOFT,
        read: |r| read_biased(r, TanhGelu),
        samples: bias_samples,
    },
    Entry {
        name: "Gelu",
        domain: MICROSOFT,
        read: |r| read(r, Gelu),
        samples: || samples(-3.0, 3.0),
    },
    Entry {
        name: "QuickGelu",
        domain: MICROSOFT,
        read: |r| read_swish(r, 1.702),
        samples: || samples_with(&[("alpha", 1.2)]),
    },
];
