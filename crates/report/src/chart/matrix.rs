//! Numbers in rows and columns with names, on cells of their colour.

use super::{LABEL, MARGIN, SMALL, TITLE, draw_title, name, nothing, title_lines};
use crate::{
    Scale,
    colour::Colour,
    drawing::{Anchor, Drawing, Figure, Shape, Style, Text},
    text,
    theme::Paint,
};

const CELL: [f64; 2] = [42.0, 19.0];
const LONGEST_NAME: f64 = 190.0;

/// A table of numbers whose cells are coloured by a scale.
#[derive(Clone, Debug)]
pub struct Matrix {
    title: String,
    columns: Vec<String>,
    rows: Vec<(String, Vec<f64>)>,
    scale: Scale,
    decimals: usize,
}

impl Matrix {
    /// With the names of its columns, without rows yet.
    pub fn new<S: Into<String>>(
        title: impl Into<String>,
        columns: impl IntoIterator<Item = S>,
        scale: Scale,
    ) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { title: title.into(), columns, rows: Vec::new(), scale, decimals: 2 }
    }

    /// How many decimals are shown; two without it.
    #[must_use]
    pub fn decimals(mut self, decimals: usize) -> Self {
        self.decimals = decimals;
        self
    }

    /// Adds a row; what is not a number, and what is missing at its end, has an empty cell.
    #[must_use]
    pub fn row(mut self, name: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        self.rows.push((name.into(), values.into_iter().collect()));
        self
    }

    fn draw_row(&self, d: &mut Drawing, left: f64, top: f64, row: &(String, Vec<f64>)) {
        for (column, &value) in row.1.iter().enumerate().take(self.columns.len()) {
            if value.is_nan() {
                continue;
            }
            let colour = self.scale.colour(value);
            let at = [left + CELL[0] * column as f64, top];
            let shown = format!("{value:.*}", self.decimals);
            let hint = format!("{}, {}: {shown}", row.0, self.columns[column]);
            let shape = Shape::Rect { at, size: [CELL[0] - 1.0, CELL[1] - 1.0] };
            d.hinted(shape, Style::fill(Paint::Fixed(colour)), hint);
            let middle = [at[0] + CELL[0] / 2.0 - 0.5, top + CELL[1] / 2.0 + SMALL * 0.33];
            let ink = Paint::Fixed(ink_upon(colour));
            d.text(Text::new(middle, shown, SMALL).anchor(Anchor::Middle).paint(ink));
        }
    }
}

/// Black upon light colours, white upon dark ones.
fn ink_upon(colour: Colour) -> Colour {
    let light =
        0.299 * f64::from(colour.r) + 0.587 * f64::from(colour.g) + 0.114 * f64::from(colour.b);
    if light > 140.0 { Colour::new(20, 20, 20) } else { Colour::new(255, 255, 255) }
}

impl Figure for Matrix {
    fn draw(&self) -> Drawing {
        if self.rows.is_empty() || self.columns.is_empty() {
            return nothing(&self.title);
        }
        let longest = |names: &mut dyn Iterator<Item = &String>| {
            names.map(|n| text::width(n, LABEL)).fold(0.0, f64::max).min(LONGEST_NAME)
        };
        let names = longest(&mut self.rows.iter().map(|r| &r.0));
        let heads = longest(&mut self.columns.iter());
        let left = MARGIN + names + 10.0;
        let width = (left + CELL[0] * self.columns.len() as f64 + MARGIN).max(320.0);
        let titles = title_lines(&self.title, width).len() as f64;
        let top = MARGIN + TITLE * 1.35 * titles + heads + 18.0;
        let bottom = top + CELL[1] * self.rows.len() as f64;
        let mut d = Drawing::new(width, bottom + MARGIN, name(&self.title, "table of colours"));
        draw_title(&mut d, &self.title);
        for (column, head) in self.columns.iter().enumerate() {
            let at = [left + CELL[0] * (column as f64 + 0.5) + LABEL * 0.36, top - 8.0];
            let short = text::shorten(head, LABEL, LONGEST_NAME);
            d.text(Text::new(at, short, LABEL).upright().hint(head));
        }
        for (i, row) in self.rows.iter().enumerate() {
            let y = top + CELL[1] * i as f64;
            let short = text::shorten(&row.0, LABEL, names);
            let at = [left - 8.0, y + CELL[1] / 2.0 + LABEL * 0.33];
            d.text(Text::new(at, short, LABEL).anchor(Anchor::End).hint(&row.0));
            self.draw_row(&mut d, left, y, row);
        }
        d
    }
}
