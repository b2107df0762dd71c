use ndarray::{ArrayD, IxDyn};
use taste_graph::{
    Build, Calculus, Concrete, Dim, Emitter, Id, Lift, Linear, Op, OpError, Tensor, grid, take,
};
use taste_onnx::builders;

use super::{CONSTANT_LIMIT, Field, plane_sample, window_samples};
use crate::{
    Reader, Sample,
    conv::{Conv, Place},
};

/// The mean over each window. Padding counts or does not.
#[derive(Clone, Debug)]
pub(super) struct AveragePool {
    pub(super) field: Field,
    pub(super) count_padding: bool,
}

impl AveragePool {
    /// One over the number of elements in each window along an axis.
    fn weights(&self, axis: usize, positions: usize) -> Vec<f64> {
        let window = &self.field.window;
        let (begin, size) = (window.begin[axis], self.field.size[axis]);
        let inside = if self.count_padding {
            0..begin + size + self.field.asked[axis]
        } else {
            begin..begin + size
        };
        (0..positions)
            .map(|p| {
                // Taps before a place: start + dilation · k < place.
                let start = window.strides[axis] * p;
                let before = |place: usize| {
                    let taps = place.saturating_sub(start).div_ceil(window.dilations[axis]);
                    taps.min(window.kernel[axis])
                };
                1.0 / (before(inside.end) - before(inside.start)) as f64
            })
            .collect()
    }

    /// One over the number of elements in each window: one number where all windows have the same.
    fn scale(&self) -> Result<Tensor, OpError> {
        let positions = self.field.positions()?;
        if positions.iter().fold(1usize, |n, &p| n.saturating_mul(p)) > CONSTANT_LIMIT {
            return Err(OpError::unsupported("pooling to a size of", format!("{positions:?}")));
        }
        let weights: Vec<Vec<f64>> =
            positions.iter().enumerate().map(|(axis, &p)| self.weights(axis, p)).collect();
        let even = |w: &Vec<f64>| w.iter().all(|v| v.to_bits() == w[0].to_bits());
        if weights.iter().all(even) {
            return Ok(Tensor::scalar(weights.iter().map(|w| w[0]).product()));
        }
        let scale = grid::<f64>(&positions, |at| {
            weights.iter().enumerate().map(|(axis, w)| w[at[axis]]).product()
        });
        Ok(scale.into())
    }

    /// The sum over each window, as a convolution of each channel with ones.
    fn sums(&self, b: &mut Build<'_>, channels: Dim) -> Result<(Conv, Id), OpError> {
        let groups = channels.as_fixed().and_then(|c| usize::try_from(c).ok());
        let groups = groups.filter(|&g| g > 0).ok_or_else(|| {
            OpError::unsupported("pooling with a number of channels that is", channels)
        })?;
        if self.field.taps().saturating_mul(groups) > CONSTANT_LIMIT {
            return Err(OpError::unsupported("pooling over windows of", self.field.taps()));
        }
        let shape = [&[groups, 1], &self.field.window.kernel[..]].concat();
        let ones = b.graph_mut().constant(ArrayD::from_elem(IxDyn(&shape), 1.0).into());
        let (window, size) = (self.field.window.clone(), self.field.size.clone());
        Ok((Conv { window, groups, yields: Place::Y, size }, ones))
    }

    /// The pool from convolutions, for what engines' own pools do not take.
    fn composed(&self, b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
        let (conv, ones) = self.sums(b, b.fact(x).shape[1])?;
        let sums = b.push(conv, &[x, ones])?;
        let scale = b.graph_mut().constant(self.scale()?);
        b.mul(sums, scale)
    }

    /// Builds the pool.
    pub(super) fn push(self, b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
        if self.field.is_native() { b.push(self, &[x]) } else { self.composed(b, x) }
    }
}

impl Op for AveragePool {
    fn name(&self) -> &'static str {
        "AveragePool"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        self.field.infer(args)
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        let mut y = ArrayD::<f64>::zeros(IxDyn(&self.field.result(x.shape())?));
        let (x, scale) = (x.as_float()?, self.scale()?);
        for [from, to] in self.field.parts()? {
            let mut part = y.slice_mut(&to[..]);
            part += &x.slice(&from[..]);
        }
        Ok(vec![(y * scale.as_float()?).into()])
    }

    fn steps(&self, _args: &[Concrete], results: &[Concrete]) -> usize {
        self.field.steps(results)
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Fold
    }

    /// Positions are never left to an engine's rounding: the padding at the end holds the last one.
    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let mut attributes = self.field.attributes();
        let counts = self.count_padding && self.field.is_padded();
        attributes.push(builders::attr_int("count_include_pad", i64::from(counts)));
        let y = e.node("AveragePool", args, attributes);
        if !counts || self.field.window.end == self.field.asked {
            return Ok(vec![y]);
        }
        // The engine counted padding that the file did not ask for.
        let taps = self.field.taps() as f64;
        let factor = e.tensor(&self.scale()?.as_float()?.mapv(|s| s * taps).into());
        Ok(vec![e.node("Mul", &[y, factor], vec![])])
    }
}

impl Linear for AveragePool {
    fn transpose(&self, b: &mut Build<'_>, args: &[Id], _i: usize, ct: Id) -> Result<Id, OpError> {
        if self.field.covers() {
            let shape = b.fact(args[0]).shape.clone();
            let ct = b.scale(ct, 1.0 / self.field.taps() as f64)?;
            return b.expand(ct, &shape);
        }
        let (conv, ones) = self.sums(b, b.fact(args[0]).shape[1])?;
        let scale = b.graph_mut().constant(self.scale()?);
        let ct = b.mul(ct, scale)?;
        b.push(conv.yielding(Place::X), &[ct, ones])
    }
}

pub(super) fn read(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    let field = Field::read(r, x)?;
    let count_padding = r.flag("count_include_pad", false);
    let pool = |field, b: &mut Build<'_>, x| AveragePool { field, count_padding }.push(b, x);
    Ok(vec![field.apply(r, x, pool)?])
}

pub(super) fn samples() -> Vec<Sample> {
    let of = plane_sample;
    let own = vec![
        Sample::new("everything").active(&[2, 2, 2, 3]).int_list("kernel_shape", &[2, 3]).batched(),
        of("padding counts", [3, 3]).int_list("pads", &[1, 0, 1, 2]).int("count_include_pad", 1),
        of("rounded up", [3, 3]).int_list("strides", &[2, 2]).int("ceil_mode", 1),
        of("rounded up, padding counts", [3, 3])
            .int_list("strides", &[2, 3])
            .int_list("pads", &[0, 1, 0, 1])
            .int("ceil_mode", 1)
            .int("count_include_pad", 1),
        of("a window in the padding is dropped", [1, 2])
            .int_list("strides", &[3, 4])
            .int_list("pads", &[0, 1, 0, 1])
            .int("ceil_mode", 1),
        Sample::new("one axis")
            .active(&[2, 2, 5])
            .int_list("kernel_shape", &[3])
            .int_list("strides", &[2])
            .batched(),
    ];
    window_samples().into_iter().chain(own).collect()
}
