use ndarray::{ArrayD, IxDyn, Zip};
use taste_graph::{
    Build, Calculus, Composite, Concrete, DType, Dim, Emitter, Id, Lift, Op, OpError, Tensor,
    algebra::{Scatter, Slice, Span},
    grid, take,
};

use super::{CONSTANT_LIMIT, Field, average::AveragePool, plane_sample, window_samples};
use crate::{
    Reader, Sample,
    arg::FirstMax,
    cast::Cast,
    conv::{Conv, Place, window::Window},
};

/// Below every element, and finite, so that nothing times it is undefined.
const LOWEST: f64 = -3e38;

/// The largest element of each window. Derivatives flow to the first that is largest.
#[derive(Clone, Debug)]
pub(super) struct MaxPool {
    pub(super) field: Field,
}

impl MaxPool {
    /// Builds the pool; engines' own pools are not dilated.
    pub(super) fn push(self, b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
        if self.field.is_native() { b.push(self, &[x]) } else { self.expand(b, &[x]) }
    }

    /// Windows side by side: the mask has the shape of the input, and the sum over each window is a
    /// multiple of its mean.
    fn expand_tiles(&self, b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
        let shape = b.fact(x).shape.clone();
        let mask = self.tile_mask(b, x)?;
        if self.field.covers() {
            let picked = b.mul(x, mask)?;
            return b.sum(picked, &(2..shape.len()).collect::<Vec<_>>());
        }
        let mask = b.scale(mask, self.field.taps() as f64)?;
        let picked = b.mul(x, mask)?;
        b.push(AveragePool { field: self.field.clone(), count_padding: false }, &[picked])
    }

    /// 1 where derivatives flow to, 0 elsewhere.
    fn tile_mask(&self, b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
        let positions = self.field.positions()?;
        let (kernel, rank) = (&self.field.window.kernel, positions.len());
        let lead = b.fact(x).shape[..2].to_vec();
        let (mut spans, mut sizes) = (Vec::new(), Vec::new());
        let mut cropped = lead.clone();
        for axis in 0..rank {
            let len = positions[axis] * kernel[axis];
            cropped.push(Dim::from(len));
            if len < self.field.size[axis] {
                spans.push((axis + 2, Span { start: 0, step: 1, len }));
                sizes.push(self.field.size[axis]);
            }
        }
        let x = if spans.is_empty() { x } else { b.push(Slice { spans: spans.clone() }, &[x])? };
        // Each axis becomes two, positions and taps; then taps come last, as one axis.
        let pairs = positions.iter().zip(kernel).flat_map(|(&p, &k)| [Dim::from(p), Dim::from(k)]);
        let split: Vec<Dim> = lead.iter().copied().chain(pairs).collect();
        let order = (0..rank).map(|a| 2 + 2 * a).chain((0..rank).map(|a| 3 + 2 * a));
        let perm: Vec<usize> = [0, 1].into_iter().chain(order).collect();
        let mut back = vec![0; perm.len()];
        for (to, &from) in perm.iter().enumerate() {
            back[from] = to;
        }
        let windows: Vec<Dim> = perm.iter().map(|&from| split[from]).collect();
        let mut flat = windows[..rank + 2].to_vec();
        flat.push(Dim::from(self.field.taps()));
        let x = b.reshape(x, &split)?;
        let x = b.transpose(x, &perm)?;
        let x = b.reshape(x, &flat)?;
        let mask = b.push(FirstMax { axis: rank + 2 }, &[x])?;
        let mask = b.reshape(mask, &windows)?;
        let mask = b.transpose(mask, &back)?;
        let mask = b.reshape(mask, &cropped)?;
        if spans.is_empty() { Ok(mask) } else { b.push(Scatter { spans, sizes }, &[mask]) }
    }

    /// [`LOWEST`] in the border of padded elements and 0 within: from a row for every axis, as the product of all may be large.
    fn low(&self, b: &mut Build<'_>, padded: &[usize]) -> Result<Id, OpError> {
        let (window, size) = (&self.field.window, &self.field.size);
        let mut within = b.scalar(1.0);
        for axis in (0..size.len()).filter(|&a| padded[a] > size[a]) {
            let mut shape = vec![1; size.len()];
            shape[axis] = padded[axis];
            let inner = window.begin[axis]..window.begin[axis] + size[axis];
            let row = grid(&shape, |at| f64::from(u8::from(inner.contains(&at[axis]))));
            let row = b.graph_mut().constant(row.into());
            within = b.mul(within, row)?;
        }
        let raised = b.scale(within, -LOWEST)?;
        b.offset(raised, LOWEST)
    }

    /// Any window: a convolution of each channel with one kernel for each tap lays windows out as
    /// channels. The mask sees padding that is below every element, the sum sees zeros there.
    fn expand_windows(&self, b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
        let (window, size, taps) = (&self.field.window, &self.field.size, self.field.taps());
        let padded: Vec<usize> =
            (0..size.len()).map(|a| window.begin[a] + size[a] + window.end[a]).collect();
        if taps.saturating_mul(taps) > CONSTANT_LIMIT {
            return Err(OpError::unsupported("derivatives of a maximum over windows of", taps));
        }
        let shape = b.fact(x).shape.clone();
        let channels = shape[1].as_fixed().ok_or_else(|| {
            OpError::unsupported("pooling with a number of channels that is", shape[1])
        })?;
        let merged = crate::shape::product(&[shape[0], Dim { per_batch: 0, fixed: channels }]);
        let merged = merged.ok_or_else(|| OpError::invalid("a size beyond memory"))?;
        let folded = [&[merged, Dim::from(1)], &shape[2..]].concat();
        let x = b.reshape(x, &folded)?;
        let one_hot = grid(&[taps, taps], |at| f64::from(u8::from(at[0] == at[1])));
        let one_hot = one_hot
            .into_shape_with_order(IxDyn(&[&[taps, 1], &window.kernel[..]].concat()))
            .map_err(|e| OpError::invalid(e.to_string()))?;
        let one_hot = b.graph_mut().constant(one_hot.into());
        let conv = Conv { window: window.clone(), groups: 1, yields: Place::Y, size: size.clone() };
        let windows = b.push(conv.clone(), &[x, one_hot])?;
        let mask = if self.field.is_padded() {
            let low = self.low(b, &padded)?;
            let spans = (0..size.len())
                .map(|a| (a + 2, Span { start: window.begin[a], step: 1, len: size[a] }))
                .collect();
            let wide = b.push(Scatter { spans, sizes: padded.clone() }, &[x])?;
            let wide = b.add(wide, low)?;
            let zeros = vec![0; size.len()];
            let window = Window { begin: zeros.clone(), end: zeros, ..window.clone() };
            let all = b.push(Conv { window, size: padded, ..conv }, &[wide, one_hot])?;
            b.push(FirstMax { axis: 1 }, &[all])?
        } else {
            b.push(FirstMax { axis: 1 }, &[windows])?
        };
        let picked = b.mul(windows, mask)?;
        let sum = b.sum(picked, &[1])?;
        let mut result = shape[..2].to_vec();
        result.extend(self.field.positions()?.into_iter().map(Dim::from));
        b.reshape(sum, &result)
    }
}

impl Op for MaxPool {
    fn name(&self) -> &'static str {
        "MaxPool"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        self.field.infer(args)
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        let shape = self.field.result(x.shape())?;
        let mut y = ArrayD::from_elem(IxDyn(&shape), f64::NEG_INFINITY);
        let x = x.as_float()?;
        for [from, to] in self.field.parts()? {
            let part = y.slice_mut(&to[..]);
            Zip::from(part).and(x.slice(&from[..])).for_each(|y, &x| *y = y.max(x));
        }
        Ok(vec![y.into()])
    }

    fn steps(&self, _args: &[Concrete], results: &[Concrete]) -> usize {
        self.field.steps(results)
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Composite(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Fold
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.node("MaxPool", args, self.field.attributes())])
    }
}

impl Composite for MaxPool {
    fn expand(&self, b: &mut Build<'_>, args: &[Id]) -> Result<Id, OpError> {
        let [x] = take(args)?;
        if self.field.tiles() { self.expand_tiles(b, *x) } else { self.expand_windows(b, *x) }
    }
}

pub(super) fn read(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    let field = Field::read(r, x)?;
    // It orders the indices, which are not read.
    r.ignore("storage_order");
    let float = r.fact(x).dtype != DType::Int;
    // Integers here have 8 bits, so that floats hold them.
    let data = if float { x } else { r.b.push(Cast { to: DType::Float }, &[x])? };
    let y = field.apply(r, data, |field, b, x| MaxPool { field }.push(b, x))?;
    Ok(vec![if float { y } else { r.b.push(Cast { to: DType::Int }, &[y])? }])
}

pub(super) fn samples() -> Vec<Sample> {
    let of = plane_sample;
    let own = vec![
        Sample::new("side by side, channels")
            .active(&[1, 2, 4, 4])
            .int_list("kernel_shape", &[2, 4])
            .int_list("strides", &[2, 4])
            .batched(),
        of("asymmetric padding", [2, 3]).int_list("pads", &[1, 0, 0, 2]),
        of("rounded up", [2, 2]).int_list("strides", &[2, 2]).int("ceil_mode", 1),
        of("rounded up, overlapping", [3, 3]).int_list("strides", &[2, 2]).int("ceil_mode", 1),
        Sample::new("two channels, strided")
            .active(&[2, 2, 5])
            .int_list("kernel_shape", &[3])
            .int_list("strides", &[2])
            .int_list("pads", &[1, 0])
            .batched(),
        Sample::new("one axis, side by side")
            .active(&[2, 2, 6])
            .int_list("kernel_shape", &[3])
            .int_list("strides", &[3])
            .batched(),
    ];
    window_samples().into_iter().chain(own).collect()
}
