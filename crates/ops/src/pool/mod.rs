//! Pooling over windows.

mod average;
mod global;
mod max;
mod norm;

use taste_graph::{Build, Concrete, DType, Dim, Id, OpError, take};
use taste_onnx::{builders, proto::AttributeProto};

use crate::{
    Entry, Reader, Sample,
    conv::window::{Attributes, Padding, Window, spatial, spatial_sizes},
};

/// Constants made for a window stay below this many elements.
const CONSTANT_LIMIT: usize = 1 << 24;

/// A window on an input of known size.
#[derive(Clone, Debug)]
struct Field {
    /// Padded at the end so far that every position lies inside.
    window: Window,
    /// The spatial size of the input.
    size: Vec<usize>,
    /// The padding at the end that the file asks for; positions rounded up reach beyond it.
    asked: Vec<usize>,
}

impl Field {
    fn read(r: &mut Reader<'_, '_>, x: Id) -> Result<Self, OpError> {
        let size = spatial(r, x)?;
        let attributes = Attributes::read(r, size.len(), None)?;
        let round_up = r.flag("ceil_mode", false);
        let mut window = attributes.window(&size)?;
        let asked = window.end.clone();
        if round_up && matches!(attributes.padding, Padding::Explicit(_)) {
            for axis in 0..window.rank() {
                let (stride, reach) = (window.strides[axis], window.reach(axis));
                let inside = size[axis] + window.begin[axis];
                let room = (inside + asked[axis]).checked_sub(reach);
                let next = room.map_or(0, |room| (room / stride + 1) * stride);
                let open = match room {
                    Some(room) => !room.is_multiple_of(stride),
                    None => reach - inside - asked[axis] < stride,
                };
                // One more window, unless it would start in the padding at the end.
                if open && next < inside {
                    window.end[axis] = next + reach - inside;
                }
            }
        }
        window.check()?;
        let field = Self { window, size, asked };
        if field.taps() > CONSTANT_LIMIT {
            return Err(OpError::unsupported("a window with this many elements", field.taps()));
        }
        for (axis, &positions) in field.positions()?.iter().enumerate() {
            let last = field.window.strides[axis] * (positions - 1);
            let inside = field.size[axis] + field.window.begin[axis];
            if field.window.begin[axis] >= field.window.reach(axis) || last >= inside {
                return Err(OpError::unsupported("a window that lies in the padding", last));
            }
        }
        Ok(field)
    }

    /// Pools `x` by `push`. Beyond two axes, those that the window leaves alone are merged into each other or into
    /// the channels: not every engine knows pools over three.
    fn apply(
        self,
        r: &mut Reader<'_, '_>,
        x: Id,
        push: impl FnOnce(Self, &mut Build<'_>, Id) -> Result<Id, OpError>,
    ) -> Result<Id, OpError> {
        if self.size.len() < 3 {
            return push(self, &mut r.b, x);
        }
        let given = r.fact(x).shape.clone();
        let mut shape = given[..2].to_vec();
        let mut out = shape.clone();
        out.extend(self.positions()?.iter().map(|&p| Dim::from(p)));
        let mut kept: Vec<usize> = Vec::new();
        let mut size = Vec::new();
        for (axis, &length) in self.size.iter().enumerate() {
            let alone = self.leaves_alone(axis);
            match size.last_mut() {
                Some(last) if alone && kept.last().is_some_and(|&k| self.leaves_alone(k)) => {
                    *last = length.saturating_mul(*last);
                }
                None if alone => {
                    shape[1] = crate::shape::product(&[shape[1], Dim::from(length)])
                        .ok_or_else(|| OpError::invalid("a size beyond memory"))?;
                }
                _ => {
                    kept.push(axis);
                    size.push(length);
                }
            }
        }
        if kept.is_empty() {
            return Ok(x);
        }
        shape.extend(size.iter().map(|&d| Dim::from(d)));
        let pick = |values: &[usize]| kept.iter().map(|&a| values[a]).collect::<Vec<_>>();
        let window = Window {
            kernel: pick(&self.window.kernel),
            strides: pick(&self.window.strides),
            dilations: pick(&self.window.dilations),
            begin: pick(&self.window.begin),
            end: pick(&self.window.end),
        };
        let merged = Self { window, size, asked: pick(&self.asked) };
        let x = r.b.reshape(x, &shape)?;
        let y = push(merged, &mut r.b, x)?;
        r.b.reshape(y, &out)
    }

    /// Whether every element along an axis is a window of its own.
    fn leaves_alone(&self, axis: usize) -> bool {
        let Window { kernel, strides, begin, end, .. } = &self.window;
        [kernel[axis], strides[axis]] == [1, 1]
            && [begin[axis], end[axis], self.asked[axis]] == [0; 3]
    }

    /// Windows of one size side by side along every spatial axis.
    fn tiling(b: &Build<'_>, x: Id, kernel: usize) -> Result<Self, OpError> {
        Self::sliding(b, x, [kernel, kernel, 0])
    }

    /// Windows of one size along every spatial axis, with this distance and so much padding on either side.
    fn sliding(b: &Build<'_>, x: Id, [kernel, stride, pad]: [usize; 3]) -> Result<Self, OpError> {
        let size = spatial_sizes(b, x)?;
        let rank = size.len();
        let window = Window {
            kernel: vec![kernel; rank],
            strides: vec![stride; rank],
            dilations: vec![1; rank],
            begin: vec![pad; rank],
            end: vec![pad; rank],
        };
        window.check()?;
        Ok(Self { window, size, asked: vec![pad; rank] })
    }

    /// Windows side by side along one axis.
    fn over(size: usize) -> Self {
        let window = Window {
            kernel: vec![size],
            strides: vec![size],
            dilations: vec![1],
            begin: vec![0],
            end: vec![0],
        };
        Self { window, size: vec![size], asked: vec![0] }
    }

    fn positions(&self) -> Result<Vec<usize>, OpError> {
        self.window.positions(&self.size)
    }

    /// How many taps a window has.
    fn taps(&self) -> usize {
        self.window.kernel.iter().fold(1, |n, &k| n.saturating_mul(k))
    }

    /// How many steps the taps of all windows take, and setting each of them up.
    fn steps(&self, results: &[Concrete]) -> usize {
        results.iter().fold(64usize, |n, c| n.saturating_add(c.len())).saturating_mul(self.taps())
    }

    fn is_dilated(&self) -> bool {
        self.window.dilations.iter().any(|&d| d != 1)
    }

    fn is_padded(&self) -> bool {
        self.window.begin.iter().chain(&self.window.end).any(|&p| p != 0)
    }

    /// Whether windows lie side by side, up to a rest at the end.
    fn tiles(&self) -> bool {
        self.window.kernel == self.window.strides && !self.is_dilated() && !self.is_padded()
    }

    /// Whether one window is the whole input.
    fn covers(&self) -> bool {
        self.window.kernel == self.size && !self.is_dilated() && !self.is_padded()
    }

    /// Whether engines take the padding: it must be smaller than the kernel.
    fn is_native(&self) -> bool {
        let small = |pads: &[usize]| pads.iter().zip(&self.window.kernel).all(|(p, k)| p < k);
        !self.is_dilated() && small(&self.window.begin) && small(&self.window.end)
    }

    /// The result of a pool of floats.
    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        if x.dtype != DType::Float {
            return Err(OpError::DType { want: DType::Float, got: x.dtype });
        }
        Ok(vec![x.with_shape(self.result(&x.shape)?)])
    }

    /// The result of a pool on an input of this shape.
    fn result(&self, x: &[usize]) -> Result<Vec<usize>, OpError> {
        match x {
            [batch, channels, size @ ..] if size == self.size => {
                Ok([&[*batch, *channels], &self.positions()?[..]].concat())
            }
            _ => Err(OpError::shape("batch, channels and", &self.size, x)),
        }
    }

    /// The attributes of a native pool.
    fn attributes(&self) -> Vec<AttributeProto> {
        let long = |v: &[usize]| v.iter().map(|&v| v as i64).collect::<Vec<_>>();
        let pads = [&self.window.begin[..], &self.window.end[..]].concat();
        vec![
            builders::attr_ints("kernel_shape", &long(&self.window.kernel)),
            builders::attr_ints("strides", &long(&self.window.strides)),
            builders::attr_ints("pads", &long(&pads)),
        ]
    }

    /// Every tap: the part of an input [n, c, …] that it touches, and the part of a result.
    fn parts(&self) -> Result<Vec<[Vec<ndarray::SliceInfoElem>; 2]>, OpError> {
        use ndarray::SliceInfoElem;
        let range = |start: usize, len: usize, step: usize| SliceInfoElem::Slice {
            start: start as isize,
            end: Some((start + len.saturating_sub(1) * step + usize::from(len > 0)) as isize),
            step: step as isize,
        };
        let positions = self.positions()?;
        let part = |at: ndarray::IxDyn| {
            let mut part = [vec![(..).into(), (..).into()], vec![(..).into(), (..).into()]];
            for axis in 0..self.size.len() {
                let touch = self.window.touch(axis, at[axis], self.size[axis], positions[axis]);
                part[0].push(range(touch.start, touch.len, self.window.strides[axis]));
                part[1].push(range(touch.first, touch.len, 1));
            }
            part
        };
        let taps = ndarray::indices(ndarray::IxDyn(&self.window.kernel));
        Ok(taps.into_iter().map(part).collect())
    }
}

/// The mean over squares of `size` × `size` side by side.
pub fn average_pool(b: &mut Build<'_>, x: Id, size: usize) -> Result<Id, OpError> {
    let field = Field::tiling(b, x, size)?;
    average::AveragePool { field, count_padding: false }.push(b, x)
}

/// The largest entry of squares of `size` × `size` side by side.
pub fn max_pool(b: &mut Build<'_>, x: Id, size: usize) -> Result<Id, OpError> {
    let field = Field::tiling(b, x, size)?;
    max::MaxPool { field }.push(b, x)
}

/// The largest entry of squares of `size` × `size` that lie `stride` apart, with `pad` entries around every image that are never
/// the largest.
pub fn max_pool_between(
    b: &mut Build<'_>,
    x: Id,
    [size, stride, pad]: [usize; 3],
) -> Result<Id, OpError> {
    if pad.saturating_mul(2) > size {
        return Err(OpError::unsupported("a window that lies in the padding", pad));
    }
    let field = Field::sliding(b, x, [size, stride, pad])?;
    max::MaxPool { field }.push(b, x)
}

/// A sample on a plane of 4 × 5 elements.
fn plane_sample(title: &str, kernel: [i64; 2]) -> Sample {
    Sample::new(title).active(&[2, 1, 4, 5]).int_list("kernel_shape", &kernel).batched()
}

/// Samples of where windows may lie, for every kind of pool.
fn window_samples() -> Vec<Sample> {
    let of = plane_sample;
    vec![
        of("side by side, with a rest", [2, 2]).int_list("strides", &[2, 2]),
        of("overlapping", [3, 2]),
        of("padded", [3, 3]).int_list("pads", &[1, 1, 1, 1]).int_list("strides", &[2, 2]),
        of("same, upper", [2, 3]).int_list("strides", &[2, 2]).string("auto_pad", "SAME_UPPER"),
        of("same, lower", [2, 3]).int_list("strides", &[2, 2]).string("auto_pad", "SAME_LOWER"),
        of("dilated", [2, 2]).int_list("dilations", &[2, 3]).int_list("pads", &[1, 0, 0, 0]),
        Sample::new("three axes, one of them pooled")
            .active(&[1, 1, 4, 2, 2])
            .int_list("kernel_shape", &[3, 1, 1])
            .int_list("pads", &[1, 0, 0, 1, 0, 0])
            .batched(),
        Sample::new("three axes, two of them pooled")
            .active(&[1, 2, 2, 3, 2])
            .int_list("kernel_shape", &[1, 2, 2])
            .batched(),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("AveragePool", average::read, average::samples),
    Entry::new("GlobalAveragePool", global::read_average, global::samples),
    Entry::new("GlobalLpPool", norm::read_global, norm::global_samples),
    Entry::new("GlobalMaxPool", global::read_max, global::samples),
    Entry::new("LpPool", norm::read, norm::samples),
    Entry::new("MaxPool", max::read, max::samples),
];
