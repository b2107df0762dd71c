//! Matrices as colours: one map or several with a common scale.

mod image;
mod outline;
mod panel;

pub use image::Image;
pub use panel::Panel;

use crate::{
    Scale,
    colour_bar::ColourBar,
    drawing::{Anchor, Drawing, Figure, Point, Text},
    number::Range,
    text,
    theme::Paint,
};

const TITLE: f64 = 15.0;
const SMALL: f64 = 11.0;
const MARGIN: f64 = 14.0;
const GAP: f64 = 16.0;
/// The least height and width of a map.
const SEEN: usize = 24;
const CAPTION_LINES: usize = 3;

/// No side of a matrix or image has more pixels.
const MOST_PIXELS: usize = 2048;

/// A size with its sides cut to what images have.
fn thinned(size: (usize, usize)) -> (usize, usize) {
    (size.0.min(MOST_PIXELS), size.1.min(MOST_PIXELS))
}

/// One panel or a grid of panels, all with the same scale, and its colour bar.
#[derive(Clone, Debug)]
pub struct Heatmap {
    panels: Vec<Panel>,
    scale: Scale,
    title: String,
    label: String,
    columns: usize,
    pixel: Option<u32>,
}

impl Heatmap {
    /// One panel, with its rows and columns numbered.
    pub fn new(panel: Panel, scale: Scale) -> Self {
        Self::grid(vec![panel], 1, scale)
    }

    /// Panels in rows of `columns`.
    pub fn grid(panels: Vec<Panel>, columns: usize, scale: Scale) -> Self {
        let columns = columns.clamp(1, panels.len().max(1));
        let (title, label) = (String::new(), String::new());
        Self { panels, scale, title, label, columns, pixel: None }
    }

    /// A line above.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// What the values are, for the colour bar.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// How many times an entry is enlarged; without it, as suits the size of the panels.
    #[must_use]
    pub fn pixel(mut self, pixel: u32) -> Self {
        self.pixel = Some(pixel.clamp(1, 64));
        self
    }

    /// The size of a panel's place: that of the largest map, enlarged by whole factors. A matrix of a few
    /// rows or columns becomes a strip that can be seen.
    fn place(&self) -> Point {
        let side = |f: fn(&Panel) -> usize| {
            let largest = self.panels.iter().filter(|p| p.values.is_some()).map(f).max();
            largest.or_else(|| self.panels.iter().map(f).max()).unwrap_or(0).max(1)
        };
        let (height, width) = (side(|p| p.size.0), side(|p| p.size.1));
        let aim = if self.panels.len() == 1 { 336 } else { 168 };
        let fitting = || (aim / height.max(width)).clamp(1, 32);
        let factor = self.pixel.map_or_else(fitting, |p| p as usize);
        [width, height].map(|n| (n * factor.max(SEEN.div_ceil(n))) as f64)
    }

    fn has_axes(&self) -> bool {
        self.panels.len() == 1
    }
}

impl Figure for Heatmap {
    fn draw(&self) -> Drawing {
        if self.panels.iter().all(|p| p.size.0 == 0 || p.size.1 == 0) {
            return crate::chart::nothing(&self.title);
        }
        let [wide, tall] = self.place();
        let cell = wide.max(if self.has_axes() { 0.0 } else { 90.0 });
        let captions: Vec<Vec<String>> = self
            .panels
            .iter()
            .map(|p| text::wrap(&p.caption, SMALL, cell, CAPTION_LINES))
            .collect();
        let rows = self.panels.len().div_ceil(self.columns);
        let axes = if self.has_axes() { Axes::of(self.panels[0].size) } else { Axes::default() };

        let shows_values = self.panels.iter().any(|p| p.values.is_some());
        let bar = ColourBar { scale: self.scale, label: &self.label, beyond: self.beyond() };
        let left = MARGIN + axes.room_left();
        let grid_width = self.columns as f64 * (cell + GAP) - GAP;
        let bar_room = if shows_values { GAP + bar.width() } else { 0.0 };
        let width = left + grid_width + bar_room + MARGIN;
        let width = width.max(280.0);

        let title_lines = text::wrap(&self.title, TITLE * 1.08, width - 2.0 * MARGIN, 2);
        let top = MARGIN + title_lines.len() as f64 * TITLE * 1.35 + axes.room_above();
        let heights: Vec<f64> = (0..rows)
            .map(|row| {
                let of_row = captions.iter().skip(row * self.columns).take(self.columns);
                let lines = of_row.map(Vec::len).max().unwrap_or(0);
                tall + lines as f64 * SMALL * 1.4 + if lines > 0 { 4.0 } else { 0.0 }
            })
            .collect();
        let grid_height: f64 = heights.iter().sum::<f64>() + GAP * (rows - 1) as f64;
        let bar_height = (grid_height - heights[rows - 1] + tall).clamp(70.0, 336.0);
        let height = top + grid_height.max(bar_height) + MARGIN;

        let mut d = Drawing::new(width, height, self.name());
        for (i, line) in title_lines.iter().enumerate() {
            let y = MARGIN + TITLE * (0.9 + 1.35 * i as f64);
            d.text(Text::new([MARGIN, y], line, TITLE).bold());
        }
        let mut y = top.round();
        for (row, row_height) in heights.iter().enumerate() {
            for column in 0..self.columns {
                let i = row * self.columns + column;
                let Some(panel) = self.panels.get(i) else { break };
                let x = left.round() + (column as f64 * (cell + GAP)).round();
                let place = [x + ((cell - wide) / 2.0).floor(), y];
                let (at, size) = fitted(panel.size, place, [wide, tall]);
                panel.draw(&mut d, &self.scale, at, size);
                for (k, line) in captions[i].iter().enumerate() {
                    let below = y + tall + 4.0 + SMALL * (1.0 + 1.4 * k as f64);
                    let text = Text::new([x + cell / 2.0, below], line, SMALL);
                    let text = text.hint(if captions[i].len() > 1 { &*panel.caption } else { "" });
                    d.text(text.anchor(Anchor::Middle));
                }
            }
            y += (row_height + GAP).round();
        }
        axes.draw(&mut d, [left.round(), top.round()], [wide, tall]);
        if shows_values {
            let x = left.round() + grid_width + GAP;
            bar.draw(&mut d, [x.round(), top.round()], bar_height);
        }
        d
    }
}

impl Heatmap {
    /// For those who can't see it.
    fn name(&self) -> String {
        if self.title.is_empty() { "heat map".to_owned() } else { self.title.clone() }
    }

    fn beyond(&self) -> (bool, bool) {
        let (low, high) = (self.scale.low(), self.scale.high());
        let numbers = || self.panels.iter().flat_map(Panel::numbers);
        (numbers().any(|v| v < low), numbers().any(|v| v > high))
    }
}

/// Where a panel lies in its place: it fills a place of about its own proportions, else it keeps them.
fn fitted((height, width): (usize, usize), at: Point, place: Point) -> (Point, Point) {
    let (own, given) = (width.max(1) as f64 / height.max(1) as f64, place[0] / place[1]);
    let strip = width.min(height) < SEEN;
    if strip || (own / given - 1.0).abs() < 0.05 {
        return (at, place);
    }
    let size = if own > given { [place[0], place[0] / own] } else { [place[1] * own, place[1]] };
    ([at[0] + (place[0] - size[0]) / 2.0, at[1] + (place[1] - size[1]) / 2.0], size)
}

/// Numbers of rows and columns beside a panel.
#[derive(Default)]
struct Axes {
    rows: Vec<usize>,
    columns: Vec<usize>,
    size: (usize, usize),
}

impl Axes {
    fn of(size: (usize, usize)) -> Self {
        Self { rows: indices(size.0), columns: indices(size.1), size }
    }

    fn room_left(&self) -> f64 {
        let widths = self.rows.iter().map(|i| text::width(&i.to_string(), SMALL) + 8.0);
        widths.fold(0.0, f64::max)
    }

    fn room_above(&self) -> f64 {
        if self.columns.is_empty() { 6.0 } else { SMALL + 8.0 }
    }

    fn draw(&self, d: &mut Drawing, at: Point, size: Point) {
        let (height, width) = self.size;
        let (dx, dy) = (size[0] / width as f64, size[1] / height as f64);
        for r in spaced(&self.rows, dy, |_| SMALL * 1.1) {
            let y = at[1] + (r as f64 + 0.5) * dy;
            let text = Text::new([at[0] - 5.0, y + SMALL * 0.36], r.to_string(), SMALL);
            d.text(text.anchor(Anchor::End).paint(Paint::Muted));
        }
        for c in spaced(&self.columns, dx, |c| text::width(&c.to_string(), SMALL) + 6.0) {
            let x = at[0] + (c as f64 + 0.5) * dx;
            let text = Text::new([x, at[1] - 5.0], c.to_string(), SMALL);
            d.text(text.anchor(Anchor::Middle).paint(Paint::Muted));
        }
    }
}

/// The numbers whose labels have room beside those before them.
fn spaced(indices: &[usize], pitch: f64, room: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    for &i in indices {
        if kept.last().is_none_or(|last| (i - last) as f64 * pitch >= room(i)) {
            kept.push(i);
        }
    }
    kept
}

/// Round numbers among the first `count`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole numbers below count"
)]
fn indices(count: usize) -> Vec<usize> {
    match count {
        0 => Vec::new(),
        1..=6 => (0..count).collect(),
        _ => {
            let range = Range { low: 0.0, high: (count - 1) as f64 };
            range.ticks(5).values.iter().map(|v| *v as usize).collect()
        }
    }
}
