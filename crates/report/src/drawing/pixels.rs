//! A small raster inside a drawing.

use tiny_skia::{ColorU8, Pixmap};

use crate::Error;

/// Pixels with an alpha channel, row by row from the top.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pixels {
    width: u32,
    height: u32,
    rgba: Vec<[u8; 4]>,
}

impl Pixels {
    /// The pixels that a function gives for row and column.
    pub(crate) fn from_fn(
        height: usize,
        width: usize,
        mut at: impl FnMut(usize, usize) -> [u8; 4],
    ) -> Self {
        let (Ok(h), Ok(w)) = (u32::try_from(height), u32::try_from(width)) else {
            return Self::default();
        };
        let rgba = (0..height).flat_map(|r| (0..width).map(move |c| (r, c)));
        Self { width: w, height: h, rgba: rgba.map(|(r, c)| at(r, c)).collect() }
    }

    /// Gives every pixel another colour.
    pub(crate) fn recolour(&mut self, to: impl Fn([u8; 3]) -> [u8; 3]) {
        for [r, g, b, _] in &mut self.rgba {
            [*r, *g, *b] = to([*r, *g, *b]);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rgba.is_empty()
    }

    pub(crate) fn pixmap(&self) -> Result<Pixmap, Error> {
        let mut map = Pixmap::new(self.width, self.height).ok_or(Error::TooLarge {
            width: self.width.into(),
            height: self.height.into(),
            most: super::raster::MOST_MEGAPIXELS,
        })?;
        for (pixel, &[r, g, b, a]) in map.pixels_mut().iter_mut().zip(&self.rgba) {
            *pixel = ColorU8::from_rgba(r, g, b, a).premultiply();
        }
        Ok(map)
    }

    pub(crate) fn png(&self) -> Result<Vec<u8>, Error> {
        self.pixmap()?.encode_png().map_err(|e| Error::Encoding(e.to_string()))
    }
}
