//! Ranked contributions as bars to both sides of zero.

use super::{LABEL, MARGIN, SMALL, WIDTH, draw_title, name, nothing, title_lines};
use crate::{
    drawing::{Anchor, Drawing, Figure, Shape, Style, Text},
    number::number,
    text,
    theme::Paint,
};

const ROW: f64 = 24.0;
const THICKNESS: f64 = 15.0;
const LONGEST_NAME: f64 = 230.0;

/// Names with values, one bar each.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    title: String,
    label: String,
    items: Vec<(String, f64)>,
    left_out: usize,
}

impl Bars {
    /// Bars in the order given.
    pub fn new(title: impl Into<String>, bars: impl IntoIterator<Item = (String, f64)>) -> Self {
        Self { title: title.into(), items: bars.into_iter().collect(), ..Self::default() }
    }

    /// What the values are.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The `most` bars with the largest |value|, largest first, and a word about the others.
    #[must_use]
    pub fn ranked(mut self, most: usize) -> Self {
        // What is not a number has no rank and comes last.
        let size = |v: f64| if v.is_nan() { -1.0 } else { v.abs() };
        self.items.sort_by(|a, b| size(b.1).total_cmp(&size(a.1)));
        self.left_out += self.items.len().saturating_sub(most);
        self.items.truncate(most);
        self
    }

    fn note(&self) -> String {
        match self.left_out {
            0 => String::new(),
            1 => "and one smaller".to_owned(),
            n => format!("and {n} smaller"),
        }
    }
}

impl Figure for Bars {
    fn draw(&self) -> Drawing {
        if self.items.is_empty() {
            return nothing(&self.title);
        }
        let largest = self.items.iter().map(|b| b.1.abs()).filter(|v| v.is_finite());
        let largest = largest.fold(0.0, f64::max);
        let part = |v: f64| {
            if largest > 0.0 && !v.is_nan() { (v / largest).clamp(-1.0, 1.0) } else { 0.0 }
        };
        let names = self.items.iter().map(|b| text::width(&b.0, LABEL)).fold(0.0, f64::max);
        let names = names.min(LONGEST_NAME);
        let values =
            self.items.iter().map(|b| text::width(&number(b.1), SMALL)).fold(0.0, f64::max);

        let left = MARGIN + names + 12.0;
        let room = WIDTH - MARGIN - left;
        let negative = self.items.iter().map(|b| -part(b.1)).fold(0.0, f64::max);
        let positive = self.items.iter().map(|b| part(b.1)).fold(0.0, f64::max);
        let beside = values + 8.0;
        let margins = beside * if negative > 0.0 { 2.0 } else { 1.0 };
        let unit = (room - margins) / (negative + positive).max(1e-9);
        let zero = left + if negative > 0.0 { beside + negative * unit } else { 0.0 };

        let rows = self.items.len() as f64;
        let titles = title_lines(&self.title, WIDTH).len() as f64;
        let top = MARGIN + super::TITLE * 1.35 * titles + if titles > 0.0 { 6.0 } else { 0.0 };
        let note = self.note();
        let foot = [&self.label, &note].iter().any(|t| !t.is_empty());
        let foot = if foot { LABEL + 10.0 } else { 0.0 };
        let mut d =
            Drawing::new(WIDTH, top + rows * ROW + foot + MARGIN, name(&self.title, "bar chart"));
        draw_title(&mut d, &self.title);
        for (i, (name, value)) in self.items.iter().enumerate() {
            let middle = top + ROW * (i as f64 + 0.5);
            let baseline = middle + LABEL * 0.36;
            let short = text::shorten(name, LABEL, names);
            let hint = if short == *name { String::new() } else { name.clone() };
            let at = [left - 10.0, baseline];
            d.text(Text::new(at, short, LABEL).anchor(Anchor::End).hint(hint));
            let length = part(*value) * unit;
            let paint = if length < 0.0 { Paint::Negative } else { Paint::Positive };
            let shape = Shape::Rect {
                at: [zero + length.min(0.0), middle - THICKNESS / 2.0],
                size: [length.abs(), THICKNESS],
            };
            d.hinted(shape, Style::fill(paint), format!("{name}: {}", number(*value)));
            let (x, anchor) = if length < 0.0 { (-5.0, Anchor::End) } else { (5.0, Anchor::Start) };
            let at = [zero + length + x, middle + SMALL * 0.36];
            d.text(Text::new(at, number(*value), SMALL).anchor(anchor).paint(Paint::Muted));
        }
        let bottom = top + rows * ROW;
        d.line([zero, top], [zero, bottom], Style::stroke(Paint::Muted, 1.0));
        let baseline = bottom + LABEL + 6.0;
        let label = text::shorten(&self.label, LABEL, WIDTH - left - MARGIN);
        d.text(Text::new([left + room / 2.0, baseline], label, LABEL).anchor(Anchor::Middle));
        let at = [left - 10.0, baseline];
        d.text(Text::new(at, note, SMALL).anchor(Anchor::End).paint(Paint::Muted));
        d
    }
}
