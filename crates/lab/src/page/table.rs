use std::fmt::Write as _;

/// A table of a page: rounded there, with all digits in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    name: String,
    caption: String,
    head: Vec<String>,
    rows: Vec<Vec<Cell>>,
    /// Whether the page shows it, or only names the file.
    shown: bool,
}

/// What a table holds in one place.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number, and how many decimals the page shows of it.
    Number(f64, usize),
    /// Nothing.
    Empty,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::Number(count as f64, 0)
    }
}

impl From<(f64, usize)> for Cell {
    fn from((value, decimals): (f64, usize)) -> Self {
        Self::Number(value, decimals)
    }
}

impl From<Option<(f64, usize)>> for Cell {
    fn from(value: Option<(f64, usize)>) -> Self {
        value.map_or(Self::Empty, Self::from)
    }
}

impl Cell {
    fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.replace('|', "\\|"),
            Self::Number(value, decimals) if value.is_finite() => format!("{value:.decimals$}"),
            Self::Number(..) | Self::Empty => "–".to_owned(),
        }
    }

    fn exact(&self) -> String {
        match self {
            Self::Text(text) if text.contains([',', '"', '\n']) => {
                format!("\"{}\"", text.replace('"', "\"\""))
            }
            Self::Text(text) => text.clone(),
            Self::Number(value, _) => format!("{value}"),
            Self::Empty => String::new(),
        }
    }
}

impl Table {
    /// With these columns; `name` becomes the name of its file.
    pub fn new<S: Into<String>>(
        name: impl Into<String>,
        caption: impl Into<String>,
        head: impl IntoIterator<Item = S>,
    ) -> Self {
        let head = head.into_iter().map(Into::into).collect();
        Self { name: name.into(), caption: caption.into(), head, rows: Vec::new(), shown: true }
    }

    /// A table that the page names and does not show: long ones.
    #[must_use]
    pub fn in_file(mut self) -> Self {
        self.shown = false;
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number in a row, by its first cell, and a column, by its heading.
    pub fn number(&self, row: &str, column: &str) -> Option<f64> {
        let column = self.head.iter().position(|h| h == column)?;
        let is_row = |cells: &&Vec<Cell>| {
            cells.first().is_some_and(|c| c.exact() == Cell::from(row).exact())
        };
        match self.rows.iter().find(is_row)?.get(column)? {
            Cell::Number(value, _) => Some(*value),
            _ => None,
        }
    }

    /// As CSV, with all digits.
    pub fn csv(&self) -> String {
        let line = |cells: Vec<String>| cells.join(",") + "\n";
        let head = self.head.iter().map(|h| Cell::from(h.as_str()).exact()).collect();
        let rows = self.rows.iter().map(|row| line(row.iter().map(Cell::exact).collect()));
        std::iter::once(line(head)).chain(rows).collect()
    }

    /// As Markdown; `folder` is where its file lies.
    pub(crate) fn markdown(&self, folder: &str) -> String {
        let mut text = format!("{} ([CSV]({folder}/{}.csv))\n", self.caption, self.name);
        if !self.shown {
            return text;
        }
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let numeric = |column: usize| {
            let cells = || self.rows.iter().filter_map(|row| row.get(column));
            cells().any(|c| matches!(c, Cell::Number(..)))
                && cells().all(|c| !matches!(c, Cell::Text(_)))
        };
        let rule = (0..self.head.len()).map(|c| if numeric(c) { "---:" } else { "---" }.to_owned());
        let head = self.head.iter().map(|h| h.replace('|', "\\|")).collect();
        let _ = write!(text, "\n{}", line(head));
        let _ = writeln!(text, "|{}|", rule.collect::<Vec<_>>().join("|"));
        for row in &self.rows {
            text += &line(row.iter().map(Cell::shown).collect());
        }
        text
    }
}
