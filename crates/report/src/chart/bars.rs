//! Ranked contributions as bars to both sides of zero.

use super::{
    LABEL, MARGIN, SMALL, WIDTH, draw_title,
    frame::{Frame, draw_upright_limit, draw_x},
    legend::{Entry, Key, Legend},
    name, nothing, title_lines,
};
use crate::{
    drawing::{Anchor, Drawing, Figure, Shape, Style, Text},
    number::{Range, number},
    text,
    theme::Paint,
};

const ROW: f64 = 24.0;
const THICKNESS: f64 = 15.0;
const LONGEST_NAME: f64 = 230.0;
/// The axis is made longer for a mark up to this many times the longest bar on its side; marks beyond it are not drawn.
const STRETCH: f64 = 2.0;

/// Names with values, one bar each.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    title: String,
    label: String,
    items: Vec<Bar>,
    left_out: usize,
    /// What the marks are.
    marks: String,
    level: Option<(f64, String)>,
    note: String,
    width: Option<f64>,
}

#[derive(Clone, Debug)]
struct Bar {
    name: String,
    value: f64,
    mark: Option<f64>,
}

impl Bars {
    /// Bars in the order given.
    pub fn new(title: impl Into<String>, bars: impl IntoIterator<Item = (String, f64)>) -> Self {
        let items = bars.into_iter().map(|(name, value)| Bar { name, value, mark: None });
        Self { title: title.into(), items: items.collect(), ..Self::default() }
    }

    /// What the values are.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// A size for each bar in the order given that its value may stay below, and what these sizes are.
    #[must_use]
    pub fn marks(mut self, label: impl Into<String>, sizes: impl IntoIterator<Item = f64>) -> Self {
        self.marks = label.into();
        for (bar, size) in self.items.iter_mut().zip(sizes) {
            bar.mark = Some(size.abs()).filter(|s| s.is_finite());
        }
        self
    }

    /// A line across all bars at a value.
    #[must_use]
    pub fn level(mut self, value: f64, label: impl Into<String>) -> Self {
        self.level = Some((value, label.into())).filter(|l| l.0.is_finite());
        self
    }

    /// With another width than usual.
    #[must_use]
    pub fn sized(mut self, width: f64) -> Self {
        self.width = Some(width);
        self
    }

    /// What the reader must know, in small print.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// The `most` bars with the largest |value|, largest first, and a word about the others.
    #[must_use]
    pub fn ranked(mut self, most: usize) -> Self {
        // What is not a number has no rank and comes last.
        let size = |v: f64| if v.is_nan() { -1.0 } else { v.abs() };
        self.items.sort_by(|a, b| size(b.value).total_cmp(&size(a.value)));
        self.left_out += self.items.len().saturating_sub(most);
        self.items.truncate(most);
        self
    }

    fn others(&self) -> String {
        match self.left_out {
            0 => String::new(),
            1 => "and one smaller".to_owned(),
            n => format!("and {n} smaller"),
        }
    }

    /// What the axis covers: zero, all bars, the level, and marks that are not far beyond the bars.
    fn range(&self) -> Range {
        let finite = || self.items.iter().map(|b| b.value).filter(|v| v.is_finite());
        let (low, high) = finite().fold((0.0f64, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
        let marks = self.items.iter().filter_map(Bar::marked);
        let marks = marks.filter(|m| (STRETCH * low..=STRETCH * high).contains(m));
        let level = self.level.iter().map(|l| l.0);
        Range::covering(finite().chain(marks).chain(level).chain([0.0]))
    }
}

impl Bar {
    /// Where the mark stands: on the side of the bar.
    fn marked(&self) -> Option<f64> {
        self.mark.map(|m| if self.value < 0.0 { -m } else { m })
    }

    /// Where the bar ends.
    fn end(&self, frame: &Frame, range: Range) -> f64 {
        let value = if self.value.is_nan() { 0.0 } else { self.value };
        frame.x(value.clamp(range.low, range.high))
    }

    fn draw(&self, d: &mut Drawing, frame: &Frame, range: Range, middle: f64) {
        let (zero, end) = (frame.x(0.0), self.end(frame, range));
        let paint = if end < zero { Paint::Negative } else { Paint::Positive };
        let at = [zero.min(end), middle - THICKNESS / 2.0];
        let shape = Shape::Rect { at, size: [(end - zero).abs(), THICKNESS] };
        let hint = format!("{}: {}", self.name, number(self.value));
        d.hinted(shape, Style::fill(paint), hint);
    }

    /// The value beside the bar, and the mark upon it.
    fn annotate(&self, d: &mut Drawing, frame: &Frame, range: Range, middle: f64) {
        let end = self.end(frame, range);
        let negative = end < frame.x(0.0);
        let (beside, anchor) = if negative { (-5.0, Anchor::End) } else { (5.0, Anchor::Start) };
        let at = [end + beside, middle + SMALL * 0.36];
        d.text(Text::new(at, number(self.value), SMALL).anchor(anchor).paint(Paint::Muted).halo());
        if let Some(mark) = self.marked().filter(|m| (range.low..=range.high).contains(m)) {
            let at = |up: f64| [frame.x(mark), middle + up * (ROW / 2.0 - 1.0)];
            for (paint, width) in [(Paint::Paper, 5.0), (Paint::Ink, 2.0)] {
                d.line(at(-1.0), at(1.0), Style::stroke(paint, width));
            }
        }
    }
}

impl Figure for Bars {
    fn draw(&self) -> Drawing {
        if self.items.is_empty() {
            return nothing(&self.title);
        }
        let width = self.width.unwrap_or(WIDTH);
        let widest = |size: f64, text: &dyn Fn(&Bar) -> String| {
            self.items.iter().map(|b| text::width(&text(b), size)).fold(0.0, f64::max)
        };
        let names = widest(LABEL, &|b| b.name.clone()).min(LONGEST_NAME.min(width * 0.4));
        let beside = widest(SMALL, &|b| number(b.value)) + 8.0;
        let range = self.range();
        let left = MARGIN + names + 12.0;
        let start = left + if range.low < 0.0 { beside } else { 0.0 };
        let span = (width - MARGIN - beside - start).max(40.0);

        let titles = title_lines(&self.title, width).len() as f64;
        let marks = Entry { name: self.marks.clone(), paint: Paint::Ink, key: Key::Mark };
        let legend = Legend::new(vec![marks], width);
        let head = MARGIN + super::TITLE * 1.35 * titles + legend.height();
        let top = head + if titles > 0.0 { 6.0 } else { 0.0 };
        let first = top + if self.level.is_some() { SMALL + 8.0 } else { 0.0 };
        let bottom = first + ROW * self.items.len() as f64;
        let others = self.others();
        let labels = [&self.label, &others].iter().any(|t| !t.is_empty());
        let foot = SMALL + 12.0 + if labels { LABEL + 8.0 } else { 0.0 };
        let notes = text::wrap(&self.note, SMALL, width - 2.0 * MARGIN, 3);
        let line = SMALL * 1.4;
        let height = bottom + foot + line * notes.len() as f64 + MARGIN;

        let mut d = Drawing::new(width, height, name(&self.title, "bar chart"));
        let below_title = draw_title(&mut d, &self.title);
        legend.draw(&mut d, below_title + 2.0);
        let frame = Frame::of_bars([start, top], [span, bottom - top], range);
        draw_x(&mut d, &frame, range, true);
        let middle = |i: usize| first + ROW * (i as f64 + 0.5);
        for (i, bar) in self.items.iter().enumerate() {
            let middle = middle(i);
            let short = text::shorten(&bar.name, LABEL, names);
            let hint = if short == bar.name { String::new() } else { bar.name.clone() };
            let at = [left - 10.0, middle + LABEL * 0.36];
            d.text(Text::new(at, short, LABEL).anchor(Anchor::End).hint(hint));
            bar.draw(&mut d, &frame, range, middle);
        }
        let zero = frame.x(0.0);
        d.line([zero, top], [zero, bottom], Style::stroke(Paint::Muted, 1.0));
        if let Some((value, label)) = &self.level {
            draw_upright_limit(&mut d, &frame, *value, label, Paint::Ink);
        }
        for (i, bar) in self.items.iter().enumerate() {
            bar.annotate(&mut d, &frame, range, middle(i));
        }
        let baseline = bottom + SMALL + 12.0 + LABEL;
        let label = text::shorten(&self.label, LABEL, width - left - MARGIN);
        d.text(Text::new([start + span / 2.0, baseline], label, LABEL).anchor(Anchor::Middle));
        let at = [left - 10.0, baseline];
        d.text(Text::new(at, others, SMALL).anchor(Anchor::End).paint(Paint::Muted));
        for (i, note) in notes.iter().enumerate() {
            let y = bottom + foot + line * i as f64 + SMALL;
            d.text(Text::new([MARGIN, y], note, SMALL).paint(Paint::Muted));
        }
        d
    }
}
