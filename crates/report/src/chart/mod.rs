//! Charts: lines, histograms, bars, intervals, points, coloured tables.

mod bars;
mod frame;
mod histogram;
mod intervals;
mod legend;
mod lines;
mod matrix;
mod scatter;
mod sparkline;

pub use bars::Bars;
pub use histogram::Histogram;
pub use intervals::Intervals;
pub use lines::{Lines, Series};
pub use matrix::Matrix;
pub use scatter::{Field, Scatter};
pub use sparkline::Sparkline;

use crate::{
    drawing::{Anchor, Drawing, Style, Text},
    text,
    theme::Paint,
};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 380.0;
const MARGIN: f64 = 14.0;
const TITLE: f64 = 15.0;
const LABEL: f64 = 12.5;
const SMALL: f64 = 11.5;

/// The lines of a title that a width holds.
fn title_lines(title: &str, width: f64) -> Vec<String> {
    // Bold letters are a little wider than those of the measure.
    text::wrap(title, TITLE * 1.08, width - 2.0 * MARGIN, 2)
}

/// Draws a title; what follows may begin at the height that is returned.
fn draw_title(d: &mut Drawing, title: &str) -> f64 {
    let lines = title_lines(title, d.width);
    for (i, line) in lines.iter().enumerate() {
        let y = MARGIN + TITLE * (0.9 + 1.35 * i as f64);
        d.text(Text::new([MARGIN, y], line, TITLE).bold());
    }
    MARGIN + TITLE * 1.35 * lines.len() as f64
}

/// A figure that says that there is nothing to show.
pub(crate) fn nothing(title: &str) -> Drawing {
    let mut d = Drawing::new(360.0, 120.0, if title.is_empty() { "no data" } else { title });
    let top = draw_title(&mut d, title) + 6.0;
    let (width, height) = (d.width - 2.0 * MARGIN, d.height - top - MARGIN);
    d.rect([MARGIN, top], [width, height], Style::stroke(Paint::Grid, 1.0).dashed(true));
    let middle = [d.width / 2.0, top + height / 2.0 + LABEL * 0.36];
    d.text(Text::new(middle, "no data", LABEL).anchor(Anchor::Middle).paint(Paint::Muted));
    d
}

/// A name for those who can't see the figure.
fn name(title: &str, kind: &str) -> String {
    if title.is_empty() { kind.to_owned() } else { format!("{title} ({kind})") }
}
