//! Title, legend, axes and the area between them.

use super::{
    LABEL, MARGIN, SMALL, draw_title,
    legend::{Entry, Legend},
    title_lines,
};
use crate::{
    drawing::{Anchor, Drawing, Point, Style, Text},
    number::{Range, Ticks},
    text,
    theme::Paint,
};

/// Titles and legends need some room.
const NARROWEST: f64 = 300.0;

/// What surrounds a plot.
pub(super) struct Setup<'a> {
    pub(super) name: String,
    pub(super) title: &'a str,
    pub(super) x_label: &'a str,
    pub(super) y_label: &'a str,
    pub(super) x: Range,
    pub(super) y: Range,
    /// A second vertical axis.
    pub(super) right: Option<(&'a str, Range)>,
    pub(super) legend: Vec<Entry>,
    /// What the reader must know about the data, in small print.
    pub(super) note: String,
    /// Room that is kept free at the right.
    pub(super) side: f64,
    pub(super) extent: Extent,
}

/// What is given: the size of the figure or that of the plot.
pub(super) enum Extent {
    Figure(Point),
    Plot(Point),
}

/// The area of the data.
pub(super) struct Frame {
    pub(super) at: Point,
    pub(super) size: Point,
    x: Range,
    y: Range,
    right: Range,
}

impl Frame {
    /// An area with an axis along its bottom alone.
    pub(super) fn of_bars(at: Point, size: Point, x: Range) -> Self {
        Self { at, size, x, y: x, right: x }
    }

    pub(super) fn x(&self, value: f64) -> f64 {
        self.at[0] + self.x.position(value) * self.size[0]
    }

    pub(super) fn y(&self, value: f64) -> f64 {
        self.at[1] + (1.0 - self.y.position(value)) * self.size[1]
    }

    /// A height on the second axis.
    pub(super) fn y_right(&self, value: f64) -> f64 {
        self.at[1] + (1.0 - self.right.position(value)) * self.size[1]
    }

    pub(super) fn right(&self) -> f64 {
        self.at[0] + self.size[0]
    }

    pub(super) fn bottom(&self) -> f64 {
        self.at[1] + self.size[1]
    }
}

/// How many ticks suit a height.
fn tick_count(height: f64) -> usize {
    [8, 6, 5, 4, 3].into_iter().find(|n| *n as f64 * 46.0 <= height).unwrap_or(2)
}

fn widest(ticks: &Ticks) -> f64 {
    ticks.labels().iter().map(|l| text::width(l, SMALL)).fold(0.0, f64::max)
}

fn label_room(label: &str) -> f64 {
    if label.is_empty() { 0.0 } else { LABEL + 8.0 }
}

impl Setup<'_> {
    /// Draws everything around the plot.
    pub(super) fn draw(self) -> (Drawing, Frame) {
        let [wanted, tall] = match self.extent {
            Extent::Figure(size) | Extent::Plot(size) => size,
        };
        let plot_only = matches!(self.extent, Extent::Plot(_));
        let y_ticks = self.y.ticks(if plot_only { tick_count(tall) } else { 5 });
        let right_ticks = self.right.map(|(_, range)| range.ticks(5));
        let left = MARGIN + label_room(self.y_label) + widest(&y_ticks) + 8.0;
        let right_label = self.right.map_or("", |r| r.0);
        let right_room = right_ticks.as_ref().map_or(0.0, |t| widest(t) + 8.0);
        let right = MARGIN + label_room(right_label) + right_room + self.side;
        // Half of the last label below the plot may stand beyond its end.
        let right = right.max(widest(&self.x.ticks(8)) / 2.0 + 5.0);
        let width = if plot_only { (left + wanted + right).max(NARROWEST) } else { wanted };
        let plot_width = if plot_only { wanted } else { (width - left - right).max(40.0) };

        let notes = text::wrap(&self.note, SMALL, width - 2.0 * MARGIN, 3);
        let notes_height = notes.len() as f64 * SMALL * 1.4;
        let legend = Legend::new(self.legend, width);
        let titles = title_lines(self.title, width).len() as f64;
        let head = MARGIN + super::TITLE * 1.35 * titles + legend.height() + 8.0;
        let foot = SMALL + 10.0 + label_room(self.x_label) + notes_height + MARGIN;
        let plot_height = if plot_only { tall } else { (tall - head - foot).max(120.0) };
        let height = head + plot_height + foot;

        let mut d = Drawing::new(width, height, self.name);
        let below_title = draw_title(&mut d, self.title);
        legend.draw(&mut d, below_title + 2.0);
        let frame = Frame {
            at: [left, head],
            size: [plot_width, plot_height],
            x: self.x,
            y: self.y,
            right: self.right.map_or(self.y, |r| r.1),
        };
        draw_y(&mut d, &frame, &y_ticks);
        draw_x(&mut d, &frame, self.x, plot_only);
        if let Some(ticks) = &right_ticks {
            draw_right(&mut d, &frame, ticks);
        }

        let middle = [frame.at[0] + plot_width / 2.0, frame.at[1] + plot_height / 2.0];
        let mut label = |text: &str, at: Point, upright: bool| {
            let room = if upright { plot_height } else { plot_width };
            let line = Text::new(at, text::shorten(text, LABEL, room), LABEL);
            let line = line.anchor(Anchor::Middle);
            d.text(if upright { line.upright() } else { line });
        };
        label(self.x_label, [middle[0], frame.bottom() + SMALL + 10.0 + LABEL + 3.0], false);
        label(self.y_label, [MARGIN + LABEL * 0.8, middle[1]], true);
        label(right_label, [width - self.side - MARGIN - 2.0, middle[1]], true);
        for (i, line) in notes.iter().enumerate() {
            let y = height - MARGIN - notes_height + SMALL * (1.1 + 1.4 * i as f64);
            d.text(Text::new([MARGIN, y], line, SMALL).paint(Paint::Muted));
        }
        (d, frame)
    }
}

fn draw_y(d: &mut Drawing, frame: &Frame, ticks: &Ticks) {
    for (value, label) in ticks.values.iter().zip(ticks.labels()) {
        let y = frame.y(*value);
        d.line([frame.at[0], y], [frame.right(), y], Style::stroke(Paint::Grid, 1.0));
        let text = Text::new([frame.at[0] - 6.0, y + SMALL * 0.36], label, SMALL);
        d.text(text.anchor(Anchor::End).paint(Paint::Muted));
    }
}

pub(super) fn draw_x(d: &mut Drawing, frame: &Frame, range: Range, grid: bool) {
    // Fewer ticks until the labels have room beside each other.
    let fits = |ticks: &Ticks| {
        let pitch = frame.size[0] / (ticks.values.len().max(2) - 1) as f64;
        widest(ticks) + 14.0 <= pitch
    };
    let ticks = [8, 6, 4, 3, 2, 1].map(|n| range.ticks(n)).into_iter().find(fits);
    let ticks = ticks.unwrap_or_else(|| range.ticks(1));
    let bottom = frame.bottom();
    d.line([frame.at[0], bottom], [frame.right(), bottom], Style::stroke(Paint::Muted, 1.0));
    for (value, label) in ticks.values.iter().zip(ticks.labels()) {
        let x = frame.x(*value);
        if grid {
            d.line([x, frame.at[1]], [x, bottom], Style::stroke(Paint::Grid, 1.0));
        }
        d.line([x, bottom], [x, bottom + 4.0], Style::stroke(Paint::Muted, 1.0));
        let text = Text::new([x, bottom + SMALL + 7.0], label, SMALL);
        d.text(text.anchor(Anchor::Middle).paint(Paint::Muted));
    }
}

fn draw_right(d: &mut Drawing, frame: &Frame, ticks: &Ticks) {
    let x = frame.right();
    d.line([x, frame.at[1]], [x, frame.bottom()], Style::stroke(Paint::Grid, 1.0));
    for (value, label) in ticks.values.iter().zip(ticks.labels()) {
        let y = frame.y_right(*value);
        d.line([x, y], [x + 4.0, y], Style::stroke(Paint::Muted, 1.0));
        d.text(Text::new([x + 7.0, y + SMALL * 0.36], label, SMALL).paint(Paint::Muted));
    }
}

/// An upright dashed line at a value with a label that stays inside the plot.
pub(super) fn draw_upright_limit(
    d: &mut Drawing,
    frame: &Frame,
    value: f64,
    label: &str,
    paint: Paint,
) {
    draw_named_upright(d, frame, value, (label, paint), [frame.at[0], frame.right()], 1);
}

/// The same with a label between two places, or some lines lower where it has no room there. Returns whether it is lower, and
/// from where on there is room behind it.
pub(super) fn draw_named_upright(
    d: &mut Drawing,
    frame: &Frame,
    value: f64,
    (label, paint): (&str, Paint),
    [least, most]: [f64; 2],
    lines: u8,
) -> (bool, f64) {
    let x = frame.x(value);
    let style = Style::stroke(paint, 1.5).dashed(true);
    d.line([x, frame.at[1]], [x, frame.bottom()], style);
    let (mut before, mut after) = (x - least - 6.0, most - x - 6.0);
    let mut y = frame.at[1] + SMALL;
    let has_neighbours = least > frame.at[0] || most < frame.right();
    let is_lower = has_neighbours && text::width(label, SMALL) > before.max(after);
    if is_lower {
        (before, after) = (x - frame.at[0] - 6.0, frame.right() - x - 6.0);
        y += f64::from(lines) * (SMALL + 3.0);
    }
    let room = before.max(after);
    let label = text::shorten(label, SMALL, room);
    let fits_after = text::width(&label, SMALL) <= after;
    let width = text::width(&label, SMALL);
    let end = if fits_after && !is_lower { x + 6.0 + width } else { x };
    let (x, anchor) = if fits_after { (x + 6.0, Anchor::Start) } else { (x - 6.0, Anchor::End) };
    d.text(Text::new([x, y], label, SMALL).anchor(anchor).paint(paint).halo());
    (is_lower, end)
}

/// A level dashed line at a height with a label above or below it.
pub(super) fn draw_level_limit(d: &mut Drawing, frame: &Frame, value: f64, label: &str) {
    let y = frame.y(value);
    let style = Style::stroke(Paint::Limit, 1.5).dashed(true);
    d.line([frame.at[0], y], [frame.right(), y], style);
    let above = y - frame.at[1] > SMALL + 6.0;
    let baseline = if above { y - 5.0 } else { y + SMALL + 3.0 };
    let label = text::shorten(label, SMALL, frame.size[0] - 12.0);
    let text = Text::new([frame.at[0] + 6.0, baseline], label, SMALL);
    d.text(text.paint(Paint::Limit).halo());
}
