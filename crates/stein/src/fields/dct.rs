//! Images as Gaussians in frequency space: for every frequency of the cosine transform a mean and a covariance of the
//! channels. With noise of deviation σ added, `s = −DCTᵀ[(C + σ²I)⁻¹(ŷ − m)]`, and x + σ²s is the Wiener filter.

use std::sync::Arc;

use ndarray::{Array2, Array3};
use serde_json::json;
use taste_choice::{Arguments, Choice};
use taste_detector::{
    channel_axis,
    passes::{Gather, Watch},
};
use taste_graph::{Build, Dim, Id, OpError, Tensor};
use taste_ops::functions;
use taste_stats::linear;

use super::{Field, FieldFamily, FieldSpec, Learner, Learning, photographs};
use crate::{Error, refused};

pub(super) const FAMILY: FieldFamily = FieldFamily {
    choice: Choice {
        name: "dct",
        usage: "dct[:generic][,noise=SIGMA]",
        about: "images as Gaussians in frequency space, fitted in one pass, or those of any photographs (generic); \
                noise as a share of a channel's range, .0234 by default",
    },
    read,
};

/// The deviation of the noise, as a share of the range of a channel: three grey levels of 128.
pub(crate) const NOISE: f64 = 0.0234;
/// Entries of the images that the spectrum is estimated from, at most, where it is not estimated in passes.
const DRAWN: usize = 1 << 26;

#[derive(Clone, Copy, Debug)]
struct Asked {
    /// Whether it is that of photographs in general.
    generic: bool,
    noise: f64,
}

fn read(mut arguments: Arguments<'_>) -> Result<Arc<dyn FieldSpec>, Error> {
    let generic = arguments.flag("generic");
    let noise = arguments.number("noise", "a positive share of the range", |v| *v > 0.0)?;
    arguments.finish()?;
    Ok(Arc::new(Asked { generic, noise: noise.unwrap_or(NOISE) }))
}

impl FieldSpec for Asked {
    fn learns(&self) -> bool {
        true
    }

    fn begin(&self, learner: &Learner<'_>) -> Result<Learning, Error> {
        let (data, noise) = (learner.data.clone(), self.noise);
        let layout = Layout::of(&data.sample_shape)?;
        if self.generic {
            let watches = vec![Watch::input("range", Gather::Range)];
            return Ok(Learning::pass(watches, move |seen| {
                let range = photographs::pixel_range(&layout, &data, seen.range("range")?)?;
                Ok(Learning::done(Dct::of_photographs(&layout, range, noise)))
            }));
        }
        let drawn = Gather::rows(DRAWN, data.dimension(), learner.seed);
        let watches = vec![Watch::input("images", drawn), Watch::input("range", Gather::Range)];
        Ok(Learning::pass(watches, move |seen| {
            let images = &seen.rows("images")?.values;
            let mut sums = Sums::new(&layout);
            images
                .outer_iter()
                .for_each(|image| sums.add(&layout, image.as_slice().unwrap_or(&[])));
            Ok(Learning::done(Dct::new(&layout, &sums.columns(), seen.range("range")?, noise)?))
        }))
    }
}

/// Where an image keeps its channels, rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) channels: usize,
    pub(crate) height: usize,
    pub(crate) width: usize,
    /// Whether the channels come last.
    pub(crate) channels_last: bool,
}

impl Layout {
    /// Of samples of two or three axes.
    pub(crate) fn of(sample_shape: &[usize]) -> Result<Self, Error> {
        match (sample_shape, channel_axis(sample_shape)) {
            (&[height, width], _) if height * width > 0 => {
                Ok(Self { channels: 1, height, width, channels_last: false })
            }
            (&[height, width, channels], Some(2)) => {
                Ok(Self { channels, height, width, channels_last: true })
            }
            (&[channels, height, width], Some(_)) => {
                Ok(Self { channels, height, width, channels_last: false })
            }
            _ => Err(refused(format!(
                "frequencies are for images, and samples have shape {sample_shape:?}"
            ))),
        }
    }

    fn frequencies(&self) -> usize {
        self.height * self.width
    }

    /// The channel that an entry of a flattened sample belongs to.
    fn channel(&self, entry: usize) -> usize {
        if self.channels_last { entry % self.channels } else { entry / self.frequencies() }
    }

    /// The smallest and the largest value of every channel, of those of every entry.
    pub(super) fn channel_ranges(&self, entries: &[(f32, f32)]) -> Vec<(f64, f64)> {
        let mut range = vec![(f64::INFINITY, f64::NEG_INFINITY); self.channels];
        for (entry, &(low, high)) in entries.iter().enumerate() {
            let of = &mut range[self.channel(entry)];
            *of = (of.0.min(f64::from(low)), of.1.max(f64::from(high)));
        }
        range
    }

    /// A number for every channel in a shape that goes with samples: 1 × C × 1 × 1 or the like.
    pub(crate) fn per_channel(
        &self,
        b: &mut Build<'_>,
        like: Id,
        values: &[f64],
    ) -> Result<Id, OpError> {
        let mut shape = vec![1; b.fact(like).rank()];
        if shape.len() == 4 {
            shape[if self.channels_last { 3 } else { 1 }] = self.channels;
        }
        Ok(b.graph_mut().stored(Tensor::floats(&shape, values.to_vec())?))
    }

    /// Cosine coefficients of samples: N × C × W × H, in which columns come before rows.
    fn forward(&self, b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
        let rows = b.fact(x).shape[0];
        let images = if self.channels_last { b.transpose(x, &[0, 3, 1, 2])? } else { x };
        let shape = [rows, self.channels.into(), self.height.into(), self.width.into()];
        let images = b.reshape(images, &shape)?;
        let across = matrix(b, &basis(self.width).reversed_axes())?;
        let down = matrix(b, &basis(self.height).reversed_axes())?;
        let half = functions::matmul(b, images, across)?;
        let turned = b.transpose(half, &[0, 1, 3, 2])?;
        functions::matmul(b, turned, down)
    }

    /// Samples of cosine coefficients (N × C × W × H), in the shape of `like`.
    fn backward(&self, b: &mut Build<'_>, coefficients: Id, like: Id) -> Result<Id, OpError> {
        let (across, down) = (matrix(b, &basis(self.width))?, matrix(b, &basis(self.height))?);
        let half = functions::matmul(b, coefficients, down)?;
        let turned = b.transpose(half, &[0, 1, 3, 2])?;
        let images = functions::matmul(b, turned, across)?;
        let images = if self.channels_last { b.transpose(images, &[0, 2, 3, 1])? } else { images };
        let shape = b.fact(like).shape.clone();
        b.reshape(images, &shape)
    }

    /// What moments are gathered of: coefficients of every channel, then products of every pair of channels.
    pub(crate) fn spectrum(&self, b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
        let coefficients = self.forward(b, x)?;
        let rows = b.fact(x).shape[0];
        let flat = [rows, Dim::from(self.channels), Dim::from(self.frequencies())];
        let coefficients = b.reshape(coefficients, &flat)?;
        let channels = (0..self.channels)
            .map(|c| functions::slice(b, coefficients, 1, c, 1))
            .collect::<Result<Vec<_>, _>>()?;
        let mut columns = vec![coefficients];
        for (i, &one) in channels.iter().enumerate() {
            for &other in &channels[i..] {
                columns.push(b.mul(one, other)?);
            }
        }
        let all = functions::concat(b, &columns, 1)?;
        let width = self.columns();
        b.reshape(all, &[rows, Dim::from(width)])
    }

    /// Columns of [`Self::spectrum`].
    fn columns(&self) -> usize {
        self.frequencies() * (self.channels + self.channels * (self.channels + 1) / 2)
    }
}

/// Sums over images that are at hand.
struct Sums {
    across: Array2<f64>,
    down: Array2<f64>,
    totals: Vec<f64>,
    count: usize,
}

impl Sums {
    fn new(layout: &Layout) -> Self {
        Self {
            across: basis(layout.width),
            down: basis(layout.height),
            totals: vec![0.0; layout.columns()],
            count: 0,
        }
    }

    fn add(&mut self, layout: &Layout, image: &[f32]) {
        let frequencies = layout.frequencies();
        let coefficients: Vec<Array2<f64>> = (0..layout.channels)
            .map(|c| {
                let pixels = Array2::from_shape_fn((layout.height, layout.width), |(i, j)| {
                    let place = i * layout.width + j;
                    f64::from(if layout.channels_last {
                        image[place * layout.channels + c]
                    } else {
                        image[c * frequencies + place]
                    })
                });
                // Columns before rows, as in the graph.
                self.across.dot(&pixels.t()).dot(&self.down.t())
            })
            .collect();
        let mut sums = self.totals.iter_mut();
        for channel in &coefficients {
            channel.iter().for_each(|v| *sums.next().expect("as many") += v);
        }
        for (i, one) in coefficients.iter().enumerate() {
            for other in &coefficients[i..] {
                one.iter().zip(other).for_each(|(a, b)| *sums.next().expect("as many") += a * b);
            }
        }
        self.count += 1;
    }

    fn columns(&self) -> Vec<f64> {
        self.totals.iter().map(|s| s / self.count.max(1) as f64).collect()
    }
}

/// The field of a spectrum.
#[derive(Clone, Debug)]
pub(crate) struct Dct {
    pub(super) layout: Layout,
    /// C × W × H.
    pub(super) mean: Array3<f64>,
    /// (C + σ²I)⁻¹ for every frequency: C × C × (W·H).
    pub(super) precision: Array3<f64>,
    /// σ of every channel.
    pub(super) noise: Vec<f64>,
    /// The smallest and the largest value of every channel.
    pub(super) range: Vec<(f64, f64)>,
    /// Whether it is that of photographs in general.
    pub(super) generic: bool,
}

impl Dct {
    /// From the means of the columns of [`Layout::spectrum`] and the range of every entry of a sample.
    pub(crate) fn fit(
        layout: &Layout,
        columns: &[f64],
        ranges: &[(f32, f32)],
    ) -> Result<Self, Error> {
        Self::new(layout, columns, ranges, NOISE)
    }

    fn new(
        layout: &Layout,
        columns: &[f64],
        ranges: &[(f32, f32)],
        share: f64,
    ) -> Result<Self, Error> {
        let (channels, frequencies) = (layout.channels, layout.frequencies());
        let range = layout.channel_ranges(ranges);
        check_varies(&range)?;
        let noise: Vec<f64> = range.iter().map(|(low, high)| share * (high - low)).collect();
        let shape = (channels, layout.width, layout.height);
        let mean = Array3::from_shape_vec(shape, columns[..channels * frequencies].to_vec())
            .map_err(|e| refused(e.to_string()))?;
        let products = &columns[channels * frequencies..];
        let mut precision = Array3::zeros((channels, channels, frequencies));
        let flat = |c: usize, w: usize| columns[c * frequencies + w];
        for w in 0..frequencies {
            let mut covariance = Array2::zeros((channels, channels));
            let mut pair = 0;
            for i in 0..channels {
                for j in i..channels {
                    let value = products[pair * frequencies + w] - flat(i, w) * flat(j, w);
                    covariance[[i, j]] = value;
                    covariance[[j, i]] = value;
                    pair += 1;
                }
                covariance[[i, i]] = f64::max(covariance[[i, i]], 0.0) + noise[i] * noise[i];
            }
            let inverse = small_inverse(&covariance)
                .ok_or_else(|| refused("the spectrum of the images has no inverse"))?;
            precision.slice_mut(ndarray::s![.., .., w]).assign(&inverse);
        }
        Ok(Self { layout: *layout, mean, precision, noise, range, generic: false })
    }

    /// x′ = x + σ²s(x), within the range of every channel.
    pub(crate) fn step(&self, b: &mut Build<'_>, x: Id, s: Id) -> Result<Id, OpError> {
        let squares: Vec<f64> = self.noise.iter().map(|n| n * n).collect();
        let squares = self.layout.per_channel(b, x, &squares)?;
        let ends = |end: fn(&(f64, f64)) -> f64| self.range.iter().map(end).collect::<Vec<_>>();
        let low = self.layout.per_channel(b, x, &ends(|r| r.0))?;
        let high = self.layout.per_channel(b, x, &ends(|r| r.1))?;
        b.formula([x, s, squares, low, high], |[x, s, squares, low, high]| {
            let moved = (x + squares * s - low).then(functions::relu) + low;
            high - (high - moved).then(functions::relu)
        })
    }

    /// s in units of the range of its channel.
    pub(crate) fn in_ranges(&self, b: &mut Build<'_>, s: Id) -> Result<Id, OpError> {
        let ranges: Vec<f64> = self.range.iter().map(|(low, high)| high - low).collect();
        let ranges = self.layout.per_channel(b, s, &ranges)?;
        b.mul(s, ranges)
    }
}

impl Field for Dct {
    fn describe(&self) -> serde_json::Value {
        json!({
            "family": if self.generic { "dct:generic" } else { "dct" },
            "channels": self.layout.channels,
            "frequencies": self.layout.frequencies(),
            "noise": self.noise.iter().copied().fold(0.0, f64::max),
        })
    }

    fn noise(&self) -> Vec<f64> {
        self.noise.clone()
    }

    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error> {
        let Layout { channels, height, width, .. } = self.layout;
        let rows = b.fact(y).shape[0];
        let coefficients = self.layout.forward(b, y)?;
        let mean =
            Tensor::floats(&[1, channels, width, height], self.mean.iter().copied().collect())?;
        let mean = b.graph_mut().stored(mean);
        let off = b.sub(mean, coefficients)?;
        let frequencies = self.layout.frequencies();
        let shape = [1, channels, channels, frequencies];
        let filter = Tensor::floats(&shape, self.precision.iter().copied().collect())?;
        let filter = b.graph_mut().stored(filter);
        let off = b.reshape(off, &[rows, 1.into(), channels.into(), frequencies.into()])?;
        let filtered = b.mul(off, filter)?;
        let filtered = if channels == 1 { filtered } else { b.sum(filtered, &[2])? };
        let shape = [rows, channels.into(), width.into(), height.into()];
        let filtered = b.reshape(filtered, &shape)?;
        Ok(self.layout.backward(b, filtered, y)?)
    }
}

/// Fails where a channel has one value everywhere.
pub(super) fn check_varies(range: &[(f64, f64)]) -> Result<(), Error> {
    if range.iter().all(|(low, high)| high - low > 0.0 && (high - low).is_finite()) {
        return Ok(());
    }
    Err(refused("a channel of the images has one value everywhere"))
}

/// The orthonormal cosine transform (DCT-II): one row a frequency.
pub(crate) fn basis(size: usize) -> Array2<f64> {
    let n = size as f64;
    Array2::from_shape_fn((size, size), |(k, i)| {
        let scale = if k == 0 { 1.0 / n } else { 2.0 / n };
        scale.sqrt() * (std::f64::consts::PI * (i as f64 + 0.5) * k as f64 / n).cos()
    })
}

fn matrix(b: &mut Build<'_>, of: &Array2<f64>) -> Result<Id, OpError> {
    let values = of.iter().copied().collect();
    Ok(b.graph_mut().stored(Tensor::floats(&[of.nrows(), of.ncols()], values)?))
}

/// The inverse of a covariance; one number needs no factorisation.
fn small_inverse(a: &Array2<f64>) -> Option<Array2<f64>> {
    match a.dim() {
        (1, 1) => Some(Array2::from_elem((1, 1), 1.0 / a[[0, 0]])),
        _ => linear::inverse(a),
    }
}
