//! Normalisation by neighbouring channels.

use ndarray::ArrayD;
use taste_graph::{
    Build, Calculus, Concrete, DType, Emitter, Id, Lift, Op, OpError, Pointwise, Tensor, take,
};

use super::check;
use crate::{Reader, Sample, matmul::MatMul, reduce::Square, shape::product};

/// x^p for positive x, element by element.
#[derive(Clone, Copy, Debug)]
struct Power(f64);

impl Op for Power {
    fn name(&self) -> &'static str {
        "Pow"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        if x.dtype != DType::Float {
            return Err(OpError::DType { want: DType::Float, got: x.dtype });
        }
        Ok(vec![x.clone()])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        Ok(vec![x.as_float()?.mapv(|v| v.powf(self.0)).into()])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Pointwise(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let exponent = e.scalar(self.0);
        Ok(vec![e.node("Pow", &[args[0].clone(), exponent], vec![])])
    }
}

impl Pointwise for Power {
    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        let power = b.push(Self(self.0 - 1.0), &[x])?;
        b.scale(power, self.0)
    }
}

/// x · (bias + α/size · Σ x²)^−β, with the sum over neighbouring channels: a product with a matrix of
/// ones around the diagonal.
pub(super) fn read(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    check(r, x, 3)?;
    let (alpha, beta) = (r.float_or("alpha", 1e-4), r.float_or("beta", 0.75));
    let bias = r.float_or("bias", 1.0);
    let size = r.int("size").ok_or_else(|| OpError::invalid("attribute size is missing"))?;
    let size = usize::try_from(size)
        .ok()
        .filter(|&s| s > 0)
        .ok_or_else(|| OpError::shape("a number of channels of at least", 1, size))?;
    let channels = r.fixed_size(x, 1)?;
    if channels > CHANNELS {
        return Err(OpError::unsupported("neighbours among more channels than", CHANNELS));
    }
    let shape = r.fact(x).shape.clone();
    let rest = product(&shape[2..])
        .ok_or_else(|| OpError::unsupported("several axes of", "the batch size"))?;
    let (before, after) = ((size - 1) / 2, size / 2);
    let band = ArrayD::from_shape_fn(ndarray::IxDyn(&[channels, channels]), |at| {
        let near = at[1] + before >= at[0] && at[1] <= at[0].saturating_add(after);
        if near { alpha / size as f64 } else { 0.0 }
    });
    let band = r.b.graph_mut().constant(band.into());
    let b = &mut r.b;
    let square = b.push(Square, &[x])?;
    let square = b.reshape(square, &[shape[0], shape[1], rest])?;
    let sum = b.push(MatMul, &[band, square])?;
    let sum = b.reshape(sum, &shape)?;
    let sum = b.offset(sum, bias)?;
    let factor = b.push(Power(-beta), &[sum])?;
    Ok(vec![b.mul(x, factor)?])
}

/// The matrix of neighbours has this many rows at most.
const CHANNELS: usize = 2048;

pub(super) fn samples() -> Vec<Sample> {
    let of = |title: &str, size: i64| {
        Sample::new(title).active(&[2, 4, 1, 2]).int("size", size).float("alpha", 0.5).batched()
    };
    vec![
        of("three channels", 3),
        of("two channels", 2).float("beta", 0.5).float("bias", 2.0),
        of("more than there are", 11),
    ]
}
