//! Tables of text and numbers.

use super::markup::{around, element};
use crate::text::escape;

/// Rows of cells below a head. Columns of numbers are aligned to the right.
#[derive(Clone, Debug, Default)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    right: Vec<usize>,
    caption: String,
}

impl Table {
    /// With the names of the columns; without any, the table has no head.
    pub fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Self {
        Self { head: head.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Aligns columns, counted from 0, to the right.
    #[must_use]
    pub fn right(mut self, columns: &[usize]) -> Self {
        self.right.extend_from_slice(columns);
        self
    }

    /// A line above.
    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub(super) fn to_html(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).chain([self.head.len()]).max().unwrap_or(0);
        let mut html = String::new();
        if !self.caption.is_empty() {
            html += &element("caption", &self.caption);
        }
        if !self.head.is_empty() {
            html += &around("thead", "", &self.line("th", &self.head, columns));
        }
        let rows: String = self.rows.iter().map(|row| self.line("td", row, columns)).collect();
        html += &around("tbody", "", &rows);
        around("div", "scroll", &around("table", "", &html))
    }

    /// A row, filled up with empty cells.
    fn line(&self, tag: &str, cells: &[String], columns: usize) -> String {
        let cell = |c: usize| {
            let class = if self.right.contains(&c) { "number" } else { "" };
            let text = cells.get(c).map(|t| escape(t)).unwrap_or_default();
            around(tag, class, &text)
        };
        around("tr", "", &(0..columns).map(cell).collect::<String>())
    }
}
