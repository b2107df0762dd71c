//! Names of series, in rows between title and plot, where they hide nothing.

use super::{MARGIN, SMALL};
use crate::{
    drawing::{Drawing, Shape, Style, Text},
    text,
    theme::Paint,
};

/// How a series looks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Key {
    Line {
        dashed: bool,
        marked: bool,
    },
    Area,
    Dot,
    /// A short upright line.
    Mark,
}

/// A series in the legend.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) paint: Paint,
    pub(super) key: Key,
}

const SWATCH: f64 = 22.0;
const GAP: f64 = 18.0;
const ROW: f64 = SMALL * 1.6;
const LONGEST: f64 = 260.0;

/// Entries with their places.
pub(super) struct Legend {
    entries: Vec<(Entry, String, f64, f64)>,
    rows: usize,
}

impl Legend {
    /// Places entries in rows of a width.
    pub(super) fn new(entries: Vec<Entry>, width: f64) -> Self {
        let whole = width - 2.0 * MARGIN - SWATCH - 6.0;
        // One alone has a row to itself.
        let longest = if entries.len() == 1 { whole } else { LONGEST.min(whole) };
        let (mut x, mut row) = (0.0, 0usize);
        let mut placed = Vec::with_capacity(entries.len());
        for entry in entries.into_iter().filter(|e| !e.name.is_empty()) {
            let label = text::shorten(&entry.name, SMALL, longest);
            let need = SWATCH + 6.0 + text::width(&label, SMALL);
            if x > 0.0 && x + need > width - 2.0 * MARGIN {
                (x, row) = (0.0, row + 1);
            }
            placed.push((entry, label, x, row as f64 * ROW));
            x += need + GAP;
        }
        let rows = if placed.is_empty() { 0 } else { row + 1 };
        Self { entries: placed, rows }
    }

    pub(super) fn height(&self) -> f64 {
        self.rows as f64 * ROW
    }

    pub(super) fn draw(&self, d: &mut Drawing, top: f64) {
        for (entry, label, x, y) in &self.entries {
            let (x, middle) = (MARGIN + x, top + y + ROW / 2.0);
            match entry.key {
                Key::Line { dashed, marked } => {
                    let style = Style::stroke(entry.paint, 2.0).dashed(dashed);
                    d.line([x, middle], [x + SWATCH, middle], style);
                    if marked {
                        let at = [x + SWATCH / 2.0, middle];
                        d.shape(Shape::Circle { at, radius: 3.0 }, Style::fill(entry.paint));
                    }
                }
                Key::Area => {
                    let style = Style::fill(entry.paint).opacity(0.35).outlined(entry.paint, 1.25);
                    d.rect([x + 4.0, middle - 5.0], [SWATCH - 8.0, 10.0], style);
                }
                Key::Mark => {
                    let x = x + SWATCH / 2.0;
                    let style = Style::stroke(entry.paint, 2.0);
                    d.line([x, middle - 7.0], [x, middle + 7.0], style);
                }
                Key::Dot => {
                    let at = [x + SWATCH / 2.0, middle];
                    d.shape(Shape::Circle { at, radius: 4.0 }, Style::fill(entry.paint));
                }
            }
            let text = Text::new([x + SWATCH + 6.0, middle + SMALL * 0.36], label, SMALL);
            let hint = if *label == entry.name { "" } else { &entry.name };
            d.text(text.hint(hint));
        }
    }
}
