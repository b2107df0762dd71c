//! One matrix, one image, or a matrix upon an image.

use ndarray::Array2;

use super::{Image, outline::outline, thinned};
use crate::{
    Scale,
    colour::{Colour, Palette, byte},
    drawing::{Drawing, Pixels, Point, Style},
    theme::Paint,
};

/// A part of a heat map.
#[derive(Clone, Debug)]
pub struct Panel {
    pub(super) values: Option<Array2<f32>>,
    pub(super) image: Option<Image>,
    threshold: Option<f64>,
    /// Whether entries are coloured, not outlined alone.
    shaded: bool,
    pub(super) caption: String,
    /// Height and width of the matrix, or of the image where there is none.
    pub(super) size: (usize, usize),
}

impl Panel {
    /// A matrix, its first row at the top. Matrices too large for a screen are thinned: of a block of
    /// entries the one with the largest |value| is shown.
    pub fn map(values: Array2<f32>) -> Self {
        let values = thin(values);
        let size = values.dim();
        let caption = String::new();
        Self { values: Some(values), image: None, threshold: None, shaded: true, caption, size }
    }

    /// An image alone.
    pub fn image(image: Image) -> Self {
        let size = image.size;
        let caption = String::new();
        Self { values: None, image: Some(image), threshold: None, shaded: true, caption, size }
    }

    /// Shows the matrix upon an image of any size; an entry covers it the more the further it stands
    /// out.
    #[must_use]
    pub fn over(mut self, image: Image) -> Self {
        self.image = Some(image);
        self
    }

    /// Leaves the entries out: what is below them is seen with their outline alone.
    #[must_use]
    pub fn unshaded(mut self) -> Self {
        self.shaded = false;
        self
    }

    /// Draws a line around the entries with |value| ≥ `threshold`, on a sequential scale with value ≥ `threshold`.
    #[must_use]
    pub fn outline(mut self, threshold: f64) -> Self {
        self.threshold = Some(threshold);
        self
    }

    /// A line or two below.
    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Values that are not NaN.
    pub(super) fn numbers(&self) -> impl Iterator<Item = f64> {
        let all = self.values.iter().flatten().copied().map(f64::from);
        all.filter(|v| !v.is_nan())
    }

    pub(super) fn draw(&self, d: &mut Drawing, scale: &Scale, at: Point, size: Point) {
        if let Some(image) = &self.image {
            d.image(at, size, image.pixels.clone(), false);
        }
        if let Some(values) = &self.values {
            let covers = self.image.is_some();
            let (height, width) = values.dim();
            let pixels = Pixels::from_fn(height, width, |r, c| {
                let value = f64::from(values[[r, c]]);
                let Colour { r, g, b } = scale.colour(value);
                [r, g, b, if covers { cover(scale, value) } else { 255 }]
            });
            if self.shaded {
                d.image(at, size, pixels, false);
            }
            if let Some(threshold) = self.threshold {
                let is_signed = scale.palette() == Palette::Diverging;
                let inside = |r: usize, c: usize| {
                    let value = f64::from(values[[r, c]]);
                    (if is_signed { value.abs() } else { value }) >= threshold
                };
                self.draw_outline(d, at, size, inside);
            }
        }
        d.rect(at, size, Style::stroke(Paint::Muted, 0.75));
    }

    fn draw_outline(
        &self,
        d: &mut Drawing,
        at: Point,
        size: Point,
        inside: impl Fn(usize, usize) -> bool,
    ) {
        let (height, width) = self.size;
        let (dx, dy) = (size[0] / width as f64, size[1] / height as f64);
        let lines = outline(height, width, inside);
        // White below black is seen on every colour.
        for (colour, stroke) in [(Colour::new(255, 255, 255), 3.0), (Colour::new(0, 0, 0), 1.25)] {
            for [from, to] in &lines {
                let place = |p: &Point| [at[0] + p[0] * dx, at[1] + p[1] * dy];
                d.line(place(from), place(to), Style::stroke(Paint::Fixed(colour), stroke));
            }
        }
    }
}

/// How much an entry covers the image below it.
fn cover(scale: &Scale, value: f64) -> u8 {
    if value.is_nan() { 150 } else { byte(0.9 * scale.salience(value)) }
}

/// A matrix of at most the size that images have.
fn thin(values: Array2<f32>) -> Array2<f32> {
    let (height, width) = values.dim();
    let (rows, columns) = thinned((height, width));
    if (rows, columns) == (height, width) {
        return values;
    }
    let (tall, wide) = (height.div_ceil(rows), width.div_ceil(columns));
    Array2::from_shape_fn((height.div_ceil(tall), width.div_ceil(wide)), |(r, c)| {
        let (bottom, right) = ((r * tall + tall).min(height), (c * wide + wide).min(width));
        let block = values.slice(ndarray::s![r * tall..bottom, c * wide..right]);
        let largest = block.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
        largest.unwrap_or(f32::NAN)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_matrices_are_thinned_and_keep_their_largest_entries() {
        let mut values = Array2::<f32>::zeros((5001, 3));
        values[[4321, 1]] = -7.0;
        let panel = Panel::map(values);
        assert!(panel.size.0 <= 2048 && panel.size.1 == 3, "{:?}", panel.size);
        assert_eq!(panel.numbers().filter(|v| (v + 7.0).abs() < 1e-6).count(), 1);
    }
}
