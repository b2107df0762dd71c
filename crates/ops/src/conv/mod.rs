//! Convolutions.
//!
//! The form ⟨c, conv(x, w)⟩ is linear in x, w and c. Its three partial derivatives are one operator
//! that differs in which of the three it yields, so derivatives of any order are convolutions again.

mod eval;
mod geometry;
mod read;
pub(crate) mod window;
mod write;

use taste_graph::{
    Bilinear, Build, Calculus, Concrete, DType, Emitter, Id, Lift, Op, OpError, Side, Tensor, take,
};

pub use geometry::Geometry;
pub(crate) use read::{ENTRIES, convolved};
pub use window::Window;

/// Which of the three places of the form is the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The data, from (y, w).
    X,
    /// The weights, from (x, y).
    W,
    /// The convolution, from (x, w).
    Y,
}

/// y\[n, o, p\] = Σ w\[o, c, k\] · x\[n, c, stride · p + dilation · k − begin\], or one of its adjoints.
/// Output channel o sees the input channels of its group.
#[derive(Clone, Debug)]
pub(crate) struct Conv {
    pub(crate) window: Window,
    pub(crate) groups: usize,
    pub(crate) yields: Place,
    /// The spatial size of x.
    pub(crate) size: Vec<usize>,
}

/// The convolution of images with weights (outputs × inputs × height × width): `pad` zeros around every image.
pub fn convolve(
    b: &mut Build<'_>,
    x: Id,
    weights: Id,
    stride: usize,
    pad: usize,
) -> Result<Id, OpError> {
    convolve_between(b, x, weights, stride, [pad, pad])
}

/// The same with `before` zeros above and to the left of every image, and `after` zeros below and to the right.
pub fn convolve_between(
    b: &mut Build<'_>,
    x: Id,
    weights: Id,
    stride: usize,
    [before, after]: [usize; 2],
) -> Result<Id, OpError> {
    let (size, kernel) = (window::spatial_sizes(b, x)?, window::spatial_sizes(b, weights)?);
    let rank = size.len();
    let window = Window {
        kernel,
        strides: vec![stride; rank],
        dilations: vec![1; rank],
        begin: vec![before; rank],
        end: vec![after; rank],
    };
    window.check()?;
    b.push(Conv { window, groups: 1, yields: Place::Y, size }, &[x, weights])
}

/// The shapes at the three places.
#[derive(Debug)]
struct Shapes {
    batch: usize,
    inputs: usize,
    outputs: usize,
    /// The spatial size of y.
    positions: Vec<usize>,
}

impl Conv {
    fn shapes(&self, lhs: &[usize], rhs: &[usize]) -> Result<Shapes, OpError> {
        let positions = self.window.positions(&self.size)?;
        let misfit = || OpError::shape("arguments of a convolution", self, (lhs, rhs));
        let rank = self.window.rank() + 2;
        if lhs.len() != rank || rhs.len() != rank || self.groups == 0 {
            return Err(misfit());
        }
        let (batch, inputs, outputs) = match self.yields {
            Place::Y => (lhs[0], lhs[1], rhs[0]),
            Place::X => (lhs[0], rhs[1].checked_mul(self.groups).ok_or_else(misfit)?, lhs[1]),
            Place::W => (lhs[0], lhs[1], rhs[1]),
        };
        let shapes = Shapes { batch, inputs, outputs, positions };
        let (x, w, y) = (self.data(&shapes), self.weights(&shapes), Self::result(&shapes));
        let fits = match self.yields {
            Place::Y => lhs == x && rhs == w,
            Place::X => lhs == y && rhs == w,
            Place::W => lhs == x && rhs == y,
        };
        let divides = inputs.is_multiple_of(self.groups) && outputs.is_multiple_of(self.groups);
        if fits && divides { Ok(shapes) } else { Err(misfit()) }
    }

    fn data(&self, shapes: &Shapes) -> Vec<usize> {
        [&[shapes.batch, shapes.inputs], &self.size[..]].concat()
    }

    fn weights(&self, shapes: &Shapes) -> Vec<usize> {
        [&[shapes.outputs, shapes.inputs / self.groups], &self.window.kernel[..]].concat()
    }

    fn result(shapes: &Shapes) -> Vec<usize> {
        [&[shapes.batch, shapes.outputs], &shapes.positions[..]].concat()
    }

    /// The same form with another result.
    pub(crate) fn yielding(&self, yields: Place) -> Self {
        Self { yields, ..self.clone() }
    }
}

impl Op for Conv {
    fn name(&self) -> &'static str {
        match self.yields {
            Place::X => "ConvTranspose",
            Place::W => "ConvWeights",
            Place::Y => "Conv",
        }
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [lhs, rhs] = take(args)?;
        if let Some(arg) = args.iter().find(|a| a.dtype != DType::Float) {
            return Err(OpError::DType { want: DType::Float, got: arg.dtype });
        }
        let shapes = self.shapes(&lhs.shape, &rhs.shape)?;
        Ok(vec![Concrete::float(match self.yields {
            Place::X => self.data(&shapes),
            Place::W => self.weights(&shapes),
            Place::Y => Self::result(&shapes),
        })])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [lhs, rhs] = take(args)?;
        let shapes = self.shapes(lhs.shape(), rhs.shape())?;
        Ok(vec![self.compute(&shapes, lhs.as_float()?, rhs.as_float()?).into()])
    }

    /// Every tap meets every position, and every group is a product of its own.
    fn steps(&self, args: &[Concrete], results: &[Concrete]) -> usize {
        let taps = self.window.kernel.iter().fold(1usize, |n, &k| n.saturating_mul(k));
        let [lhs, rhs] = args else { return usize::MAX };
        let (Ok(shapes), Some(_)) = (self.shapes(&lhs.shape, &rhs.shape), results.first()) else {
            return usize::MAX;
        };
        let positions =
            Self::result(&shapes).iter().fold(1usize, |n, &d| n.saturating_mul(d.max(1)));
        positions
            .saturating_mul(taps)
            .saturating_mul((shapes.inputs / self.groups).max(1))
            .saturating_add(taps.saturating_mul(self.groups).saturating_mul(64))
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Bilinear(self)
    }

    /// Lanes of data are more of a batch. Lanes of weights, or of both, are convolutions of their own.
    fn lift(&self, laned: &[bool], _lanes: usize) -> Lift {
        match (self.yields, laned) {
            (Place::X | Place::Y, [true, false]) => Lift::Fold,
            _ => Lift::PerLane,
        }
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![match self.yields {
            Place::X => self.write_data(e, args)?,
            Place::W => self.write_weights(e, args)?,
            Place::Y => self.write_result(e, args),
        }])
    }
}

impl Bilinear for Conv {
    fn transpose(
        &self,
        b: &mut Build<'_>,
        side: Side,
        [lhs, rhs]: [Id; 2],
        ct: Id,
    ) -> Result<Id, OpError> {
        // Orders of arguments: Y(x, w), X(y, w), W(x, y).
        let (yields, args) = match (self.yields, side) {
            (Place::Y, Side::Lhs) => (Place::X, [ct, rhs]),
            (Place::Y, Side::Rhs) => (Place::W, [lhs, ct]),
            (Place::X, Side::Lhs) => (Place::Y, [ct, rhs]),
            (Place::X, Side::Rhs) => (Place::W, [ct, lhs]),
            (Place::W, Side::Lhs) => (Place::X, [rhs, ct]),
            (Place::W, Side::Rhs) => (Place::Y, [lhs, ct]),
        };
        b.push(self.yielding(yields), &args)
    }
}
