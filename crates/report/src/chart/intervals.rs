//! Values with their intervals, one below the other.

use super::{
    LABEL, MARGIN, SMALL, TITLE, WIDTH, draw_title,
    frame::{Frame, draw_upright_limit, draw_x},
    legend::{Entry, Key, Legend},
    name, nothing, title_lines,
};
use crate::{
    colour::quantiles,
    drawing::{Anchor, Drawing, Figure, Shape, Style, Text},
    number::{Range, number},
    page::Tone,
    text,
    theme::Paint,
};

const ROW: f64 = 22.0;
const LONGEST_NAME: f64 = 230.0;
/// Ends of intervals are cut off further out than this many times the usual distance to the value.
const FAR: f64 = 3.0;

/// Names with a value and an interval each, coloured by how serious they are.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    title: String,
    label: String,
    rows: Vec<Row>,
    tones: Vec<(Tone, String)>,
    levels: Vec<(f64, String)>,
}

#[derive(Clone, Debug)]
struct Row {
    name: String,
    value: f64,
    interval: Option<(f64, f64)>,
    tone: Tone,
}

impl Row {
    fn ends(&self) -> [f64; 2] {
        let (low, high) = self.interval.unwrap_or((self.value, self.value));
        [low, high]
    }

    fn words(&self) -> String {
        match self.interval {
            Some((low, high)) => {
                format!(
                    "{}: {} ({} to {})",
                    self.name,
                    number(self.value),
                    number(low),
                    number(high)
                )
            }
            None => format!("{}: {}", self.name, number(self.value)),
        }
    }

    fn draw(&self, d: &mut Drawing, frame: &Frame, range: Range, middle: f64) {
        if self.value.is_nan() {
            return;
        }
        let paint = paint(self.tone);
        let at = |v: f64| [frame.x(v.clamp(range.low, range.high)), middle];
        let [low, high] = self.ends().map(at);
        if low[0].is_finite() && high[0].is_finite() {
            d.line(low, high, Style::stroke(paint, 2.5));
        }
        let shape = Shape::Circle { at: at(self.value), radius: 4.5 };
        d.hinted(shape, Style::fill(paint).outlined(Paint::Paper, 1.0), self.words());
    }
}

fn paint(tone: Tone) -> Paint {
    match tone {
        Tone::Ok => Paint::Series(2),
        Tone::Warning => Paint::Series(5),
        Tone::Alarm => Paint::Limit,
    }
}

impl Intervals {
    /// Without any row yet.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// What the values are.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// What a tone means, for the legend.
    #[must_use]
    pub fn tone(mut self, tone: Tone, meaning: impl Into<String>) -> Self {
        self.tones.push((tone, meaning.into()));
        self
    }

    /// Adds an upright line across all rows.
    #[must_use]
    pub fn level(mut self, value: f64, label: impl Into<String>) -> Self {
        self.levels.extend(Some((value, label.into())).filter(|l| l.0.is_finite()));
        self
    }

    /// Adds a row.
    #[must_use]
    pub fn row(
        mut self,
        name: impl Into<String>,
        value: f64,
        interval: Option<(f64, f64)>,
        tone: Tone,
    ) -> Self {
        self.rows.push(Row { name: name.into(), value, interval, tone });
        self
    }

    /// What the axis covers: all values and levels, and intervals as far as they do not dwarf them.
    fn range(&self) -> Range {
        let values = self.rows.iter().map(|r| r.value).chain(self.levels.iter().map(|l| l.0));
        let core = Range::covering(values);
        let arms = self.rows.iter().flat_map(|r| r.ends().map(|end| (end - r.value).abs()));
        let [usual] = quantiles(arms, [0.5]);
        let reach = core.length().max(FAR * if usual.is_nan() { 0.0 } else { usual });
        let ends = self.rows.iter().flat_map(Row::ends).filter(|v| v.is_finite());
        let ends = ends.map(|v| v.clamp(core.low - reach, core.high + reach));
        Range::covering(ends.chain([core.low, core.high])).padded(0.03)
    }

    fn legend(&self) -> Legend {
        let entry = |(tone, meaning): &(Tone, String)| Entry {
            name: meaning.clone(),
            paint: paint(*tone),
            key: Key::Dot,
        };
        let used = self.tones.iter().filter(|t| self.rows.iter().any(|row| row.tone == t.0));
        Legend::new(used.map(entry).collect(), WIDTH)
    }
}

impl Figure for Intervals {
    fn draw(&self) -> Drawing {
        if self.rows.is_empty() {
            return nothing(&self.title);
        }
        let longest = self.rows.iter().map(|r| text::width(&r.name, LABEL)).fold(0.0, f64::max);
        let names = longest.min(LONGEST_NAME);
        let left = MARGIN + names + 16.0;
        let range = self.range();
        // As exact as the axis is long.
        let unit = 10f64.powf(range.length().log10().floor() - 2.0);
        let shown = |value: f64| match (value / unit).round() * unit {
            rounded if rounded.is_finite() => number(rounded),
            _ => number(value),
        };
        let beside = self.rows.iter().map(|r| text::width(&shown(r.value), SMALL));
        let right = WIDTH - MARGIN - beside.fold(0.0, f64::max) - 10.0;
        let titles = title_lines(&self.title, WIDTH).len() as f64;
        let legend = self.legend();
        let top = MARGIN + TITLE * 1.35 * titles + legend.height() + 8.0;
        let first = top + if self.levels.is_empty() { 4.0 } else { SMALL + 10.0 };
        let bottom = first + ROW * self.rows.len() as f64;
        let foot = SMALL + 12.0 + if self.label.is_empty() { 0.0 } else { LABEL + 8.0 };
        let mut d = Drawing::new(WIDTH, bottom + foot + MARGIN, name(&self.title, "intervals"));
        let below_title = draw_title(&mut d, &self.title);
        legend.draw(&mut d, below_title + 2.0);
        let frame = Frame::of_bars([left, top], [(right - left).max(40.0), bottom - top], range);
        draw_x(&mut d, &frame, range, true);
        for (value, label) in &self.levels {
            draw_upright_limit(&mut d, &frame, *value, label, Paint::Ink);
        }
        for (i, row) in self.rows.iter().enumerate() {
            let middle = first + ROW * (i as f64 + 0.5);
            let short = text::shorten(&row.name, LABEL, names);
            let hint = if short == row.name { "" } else { &row.name };
            let at = [left - 12.0, middle + LABEL * 0.36];
            d.text(Text::new(at, short, LABEL).anchor(Anchor::End).hint(hint));
            row.draw(&mut d, &frame, range, middle);
            let at = [WIDTH - MARGIN, middle + SMALL * 0.36];
            let value = Text::new(at, shown(row.value), SMALL);
            d.text(value.anchor(Anchor::End).paint(Paint::Muted));
        }
        let at = [left + frame.size[0] / 2.0, bottom + SMALL + 12.0 + LABEL];
        let label = text::shorten(&self.label, LABEL, WIDTH - left - MARGIN);
        d.text(Text::new(at, label, LABEL).anchor(Anchor::Middle));
        d
    }
}
