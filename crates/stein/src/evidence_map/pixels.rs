//! The cut at the pixels: how much there is of every scale, in what the score of photographs in general makes of an image.
//!
//! The score tells how a pixel would have to change to look more like those of photographs. It is split into bands of size,
//! and what counts is the logarithm of the energy of each around a place: a density of these sees too little structure as
//! well as too much.

use taste_detector::channel_axis;
use taste_graph::{Build, Dim, Id, OpError};
use taste_ops::functions;

use super::{grid::Grid, planes::Planes};
use crate::{
    Error,
    evidence::density::stored,
    fields::{Dct, Field, Layout, NOISE, basis},
};

/// Deviations of the blurs between bands.
const BANDS: [f64; 3] = [1.0, 2.0, 4.0];
/// Energies below this are none.
const LEAST: f64 = 1e-6;

/// What is taken of the pixels of an image.
#[derive(Clone, Debug)]
pub(super) struct Pixels {
    layout: Layout,
    /// Where samples have their channels, if they have an axis for them.
    channel_axis: Option<usize>,
    range: Vec<(f64, f64)>,
    grid: Grid,
}

/// Values of the pixel cut at the places of a grid.
pub(super) struct Texture {
    /// N × channels × height × width of the grid: log energies and, if asked for, colours.
    pub(super) values: Id,
    /// The logarithm of the whole energy of the score: N × 1 × height × width.
    pub(super) size: Id,
}

impl Pixels {
    /// Of samples of this shape, in whose channels these are black and white.
    pub(super) fn new(layout: Layout, sample_shape: &[usize], range: Vec<(f64, f64)>) -> Self {
        let grid = Grid::of([layout.height, layout.width]);
        Self { layout, channel_axis: channel_axis(sample_shape), range, grid }
    }

    pub(super) fn grid(&self) -> Grid {
        self.grid
    }

    /// A plane (N × 1 × H × W) as a sample with one channel, where samples have channels.
    pub(super) fn as_sample(&self, b: &mut Build<'_>, plane: Id) -> Result<Id, OpError> {
        let [rows, one, height, width] = [0, 1, 2, 3].map(|axis| b.fact(plane).shape[axis]);
        match self.channel_axis {
            Some(0) => Ok(plane),
            Some(_) => b.reshape(plane, &[rows, height, width, one]),
            None => b.reshape(plane, &[rows, height, width]),
        }
    }

    /// Adds the cut to a graph.
    pub(super) fn build(
        &self,
        b: &mut Build<'_>,
        x: Id,
        with_colours: bool,
    ) -> Result<Texture, Error> {
        let field = Dct::of_photographs(&self.layout, self.range.clone(), NOISE);
        let s = field.build(b, x)?;
        let s = field.in_ranges(b, s)?;
        let s = b.scale(s, NOISE)?;
        let s = self.along_axes(b, s)?;
        let size = self.grid.image;
        let blurs = BANDS.map(|deviation| Planes::blur(size, deviation));
        let mut blurred = vec![s];
        for blur in &blurs {
            blurred.push(blur.apply(b, s)?);
        }
        let mut energies = Vec::new();
        for (i, pair) in blurred.windows(2).enumerate() {
            let band = b.sub(pair[0], pair[1])?;
            let grey = functions::slice(b, band, 1, 0, 1)?;
            energies.push(b.square(grey)?);
            if self.layout.channels > 1 && i < 2 {
                let colour = functions::slice(b, band, 1, 1, self.layout.channels - 1)?;
                energies.push(functions::square_sum(b, colour, 1)?);
            }
        }
        energies.push(functions::square_sum(b, blurred[3], 1)?);
        energies.push(functions::square_sum(b, s, 1)?);
        let all = functions::concat(b, &energies, 1)?;
        let around = self.grid.gather().apply(b, all)?;
        let logs = b.offset(around, LEAST)?;
        let logs = functions::log(b, logs)?;
        let bands = energies.len() - 1;
        let mut values = functions::slice(b, logs, 1, 0, bands)?;
        if with_colours {
            let x = self.in_unit_range(b, x)?;
            let x = self.along_axes(b, x)?;
            let colours = self.grid.gather().apply(b, x)?;
            values = functions::concat(b, &[values, colours], 1)?;
        }
        Ok(Texture { values, size: functions::slice(b, logs, 1, bands, 1)? })
    }

    /// Samples with black as 0 and white as 1.
    fn in_unit_range(&self, b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
        let low: Vec<f64> = self.range.iter().map(|r| r.0).collect();
        let one_by: Vec<f64> = self.range.iter().map(|r| 1.0 / (r.1 - r.0)).collect();
        let low = self.layout.per_channel(b, x, &low)?;
        let one_by = self.layout.per_channel(b, x, &one_by)?;
        let above = b.sub(x, low)?;
        b.mul(above, one_by)
    }

    /// Samples as grey and colours: N × C × H × W.
    fn along_axes(&self, b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
        let Layout { channels, height, width, channels_last } = self.layout;
        let rows = b.fact(x).shape[0];
        let x = if channels_last { b.transpose(x, &[0, 3, 1, 2])? } else { x };
        let flat = b.reshape(x, &[rows, channels.into(), Dim::from(height * width)])?;
        let turned = if channels == 1 {
            flat
        } else {
            let axes = stored(b, &basis(channels))?;
            functions::matmul(b, axes, flat)?
        };
        b.reshape(turned, &[rows, channels.into(), height.into(), width.into()])
    }
}
