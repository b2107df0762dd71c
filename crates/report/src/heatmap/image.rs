//! Images that maps are shown beside or upon.

use ndarray::{ArrayView2, ArrayView3};

use crate::{
    Error,
    colour::{NOT_A_NUMBER, byte},
    drawing::Pixels,
};

use super::thinned;

/// A grey or coloured image.
#[derive(Clone, Debug)]
pub struct Image {
    pub(super) pixels: Pixels,
    /// Height and width.
    pub(super) size: (usize, usize),
}

impl Image {
    /// From a matrix; `low` is black and `high` is white.
    pub fn grey(values: &ArrayView2<'_, f32>, low: f32, high: f32) -> Self {
        Self::from_fn(values.dim(), |r, c| {
            let v = values[[r, c]];
            [v, v, v].map(|v| level(v, low, high))
        })
    }

    /// From a sample as models take it, channels × height × width with one channel or three; `low` is the
    /// darkest value and `high` the brightest.
    pub fn from_sample(values: &ArrayView3<'_, f32>, low: f32, high: f32) -> Result<Self, Error> {
        let (channels, height, width) = values.dim();
        let last = match channels {
            1 => 0,
            3 => 2,
            found => return Err(Error::Channels { found }),
        };
        Ok(Self::from_fn((height, width), |r, c| {
            [0, 1.min(last), last].map(|channel| level(values[[channel, r, c]], low, high))
        }))
    }

    /// Without its colours, so that all colours belong to the map upon it.
    #[must_use]
    pub fn in_grey(mut self) -> Self {
        self.pixels.recolour(|[r, g, b]| {
            let bright = 0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b);
            [byte(bright / 255.0); 3]
        });
        self
    }

    fn from_fn(size: (usize, usize), at: impl Fn(usize, usize) -> [Option<u8>; 3]) -> Self {
        let (height, width) = thinned(size);
        let pixels = Pixels::from_fn(height, width, |r, c| {
            match at(r * size.0 / height, c * size.1 / width) {
                [Some(r), Some(g), Some(b)] => [r, g, b, 255],
                _ => [NOT_A_NUMBER.r, NOT_A_NUMBER.g, NOT_A_NUMBER.b, 255],
            }
        });
        Self { pixels, size }
    }
}

/// A brightness, none for what is not a number.
fn level(value: f32, low: f32, high: f32) -> Option<u8> {
    let (value, low, high) = (f64::from(value), f64::from(low), f64::from(high));
    let span = if high > low { high - low } else { 1.0 };
    (!value.is_nan()).then(|| byte((value - low) / span))
}
