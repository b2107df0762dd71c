//! Values of convolutions.

use ndarray::{Array2, ArrayD, ArrayViewD, IxDyn, SliceInfoElem, s};
use taste_graph::Array;

use super::{Conv, Place, Shapes, window::Touch};

impl Conv {
    /// One product of matrices for every group and tap: [outputs × inputs] with the elements that the
    /// tap touches in between.
    pub(super) fn compute(
        &self,
        shapes: &Shapes,
        lhs: &Array<f64>,
        rhs: &Array<f64>,
    ) -> ArrayD<f64> {
        let taps: usize = self.window.kernel.iter().product();
        let (inputs, outputs) = (shapes.inputs / self.groups, shapes.outputs / self.groups);
        let zeros = |shape: Vec<usize>| ArrayD::<f64>::zeros(IxDyn(&shape));
        let mut sum = match self.yields {
            Place::X => zeros(self.data(shapes)),
            Place::W => zeros(vec![shapes.outputs, inputs, taps]),
            Place::Y => zeros(Self::result(shapes)),
        };
        let weights = match self.yields {
            Place::W => None,
            _ => rhs
                .as_standard_layout()
                .into_owned()
                .into_shape_with_order((shapes.outputs, inputs, taps))
                .ok(),
        };
        for (tap, at) in ndarray::indices(IxDyn(&self.window.kernel)).into_iter().enumerate() {
            let touches: Vec<Touch> = (0..self.window.rank())
                .map(|a| self.window.touch(a, at[a], self.size[a], shapes.positions[a]))
                .collect();
            for group in 0..self.groups {
                let (ins, outs) = (group * inputs, group * outputs);
                let x = self.elements(ins, inputs, &touches, |t, stride| (t.start, stride));
                let y = self.elements(outs, outputs, &touches, |t, _| (t.first, 1));
                let w = weights.as_ref().map(|w| w.slice(s![outs..outs + outputs, .., tap]));
                match (self.yields, w) {
                    (Place::Y, Some(w)) => put(&mut sum, &y, &w.dot(&matrix(lhs.slice(&x[..])))),
                    (Place::X, Some(w)) => {
                        put(&mut sum, &x, &w.t().dot(&matrix(lhs.slice(&y[..]))));
                    }
                    _ => {
                        let product = matrix(rhs.slice(&y[..])).dot(&matrix(lhs.slice(&x[..])).t());
                        let mut w = sum.slice_mut(s![outs..outs + outputs, .., tap]);
                        w += &product;
                    }
                }
            }
        }
        match self.yields {
            Place::W => sum.into_shape_with_order(IxDyn(&self.weights(shapes))).unwrap_or_default(),
            _ => sum,
        }
    }

    /// All of the batch, some channels, and what a tap touches.
    fn elements(
        &self,
        channel: usize,
        count: usize,
        touches: &[Touch],
        place: impl Fn(&Touch, usize) -> (usize, usize),
    ) -> Vec<SliceInfoElem> {
        let range = |start: usize, count: usize, step: usize| SliceInfoElem::Slice {
            start: start as isize,
            end: Some((start + (count.max(1) - 1) * step + usize::from(count > 0)) as isize),
            step: step as isize,
        };
        let mut info = vec![(..).into(), range(channel, count, 1)];
        info.extend(touches.iter().zip(&self.window.strides).map(|(touch, &stride)| {
            let (start, step) = place(touch, stride);
            range(start, touch.len, step)
        }));
        info
    }
}

/// [n, c, …] as a matrix of c rows.
fn matrix(mut a: ArrayViewD<'_, f64>) -> Array2<f64> {
    a.swap_axes(0, 1);
    let channels = a.shape()[0];
    let columns = a.len() / channels.max(1);
    let mut copy = ArrayD::zeros(a.raw_dim());
    copy.assign(&a);
    copy.into_shape_with_order((channels, columns)).unwrap_or_default()
}

/// Adds a matrix of c rows to a part of [n, c, …].
fn put(sum: &mut ArrayD<f64>, part: &[SliceInfoElem], matrix: &Array2<f64>) {
    let mut target = sum.slice_mut(part);
    target.swap_axes(0, 1);
    let shape = target.raw_dim();
    if let Ok(matrix) = matrix.as_standard_layout().into_owned().into_shape_with_order(shape) {
        target += &matrix;
    }
}
