//! The key to a colour scale.

use crate::{
    Scale,
    drawing::{Anchor, Drawing, Pixels, Point, Shape, Style, Text},
    number::Range,
    text,
    theme::Paint,
};

const SIZE: f64 = 11.0;
const THICKNESS: f64 = 14.0;
const STEPS: usize = 128;
const ARROW: f64 = 9.0;

/// An upright bar of a scale's colours with round numbers beside it.
pub(crate) struct ColourBar<'a> {
    pub(crate) scale: Scale,
    /// What the values are.
    pub(crate) label: &'a str,
    /// Whether there are values below and above the limits; the bar's ends are pointed there.
    pub(crate) beyond: (bool, bool),
}

impl ColourBar<'_> {
    fn range(&self) -> Range {
        Range { low: self.scale.low(), high: self.scale.high() }
    }

    /// The width it needs for bar, numbers and label.
    pub(crate) fn width(&self) -> f64 {
        let labels = self.range().ticks(6).labels();
        let widest = labels.iter().map(|l| text::width(l, SIZE)).fold(0.0, f64::max);
        let label = if self.label.is_empty() { 0.0 } else { SIZE + 12.0 };
        THICKNESS + 7.0 + widest + label
    }

    /// Draws it with its upper left corner at a point.
    pub(crate) fn draw(&self, d: &mut Drawing, at: Point, height: f64) {
        let [x, top] = at;
        let (below, above) = self.beyond;
        let bar_top = top + if above { ARROW } else { 0.0 };
        let bottom = top + height - if below { ARROW } else { 0.0 };
        let length = (bottom - bar_top).max(1.0);
        let palette = self.scale.palette();
        let strip = Pixels::from_fn(STEPS, 1, |row, _| {
            let c = palette.at(1.0 - row as f64 / (STEPS - 1) as f64);
            [c.r, c.g, c.b, 255]
        });
        d.image([x, bar_top], [THICKNESS, length], strip, false);
        let middle = x + THICKNESS / 2.0;
        let mut arrow = |base: f64, tip: f64, position: f64| {
            let points = vec![[x, base], [middle, tip], [x + THICKNESS, base]];
            d.shape(Shape::Polygon(points), Style::fill(Paint::Fixed(palette.at(position))));
        };
        if above {
            arrow(bar_top, top, 1.0);
        }
        if below {
            arrow(bottom, top + height, 0.0);
        }
        let frame = Style::stroke(Paint::Muted, 0.75);
        d.rect([x, bar_top], [THICKNESS, length], frame);

        let range = self.range();
        let ticks = range.ticks(if height < 120.0 { 3 } else { 6 });
        for (value, label) in ticks.values.iter().zip(ticks.labels()) {
            let y = bottom - range.position(*value) * length;
            let right = x + THICKNESS;
            d.line([right, y], [right + 4.0, y], Style::stroke(Paint::Muted, 0.75));
            d.text(Text::new([right + 7.0, y + SIZE * 0.36], label, SIZE).paint(Paint::Muted));
        }
        let label = text::shorten(self.label, SIZE, height.max(80.0));
        let place = [x + self.width() - 2.0, top + height / 2.0];
        d.text(Text::new(place, label, SIZE).upright().anchor(Anchor::Middle).paint(Paint::Muted));
    }
}
