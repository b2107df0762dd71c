//! Aligned columns of plain text.

use taste_files::message::in_line;

/// Lines of cells; the cells of a column share a width.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    right: Vec<usize>,
}

impl Table {
    /// Aligns a column to the right.
    pub(crate) fn right(mut self, columns: &[usize]) -> Self {
        self.right = columns.to_vec();
        self
    }

    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(|cell| in_line(&cell.into())).collect());
    }

    /// The cells.
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The lines, each after `indent` spaces.
    pub(crate) fn render(&self, indent: usize) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |c: usize| {
            let lengths = self.rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count());
            lengths.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells: Vec<String> = row
                .iter()
                .enumerate()
                .map(|(c, cell)| {
                    let w = widths[c];
                    if self.right.contains(&c) {
                        format!("{cell:>w$}")
                    } else {
                        format!("{cell:<w$}")
                    }
                })
                .collect();
            text += format!("{:indent$}{}", "", cells.join("  ")).trim_end();
            text.push('\n');
        }
        text
    }
}

/// Five significant digits, in plain notation where that is short.
pub(crate) fn number(v: f64) -> String {
    let size = v.abs();
    if v == 0.0 {
        "0".to_owned()
    } else if !v.is_finite() {
        v.to_string()
    } else if (1e-3..1e6).contains(&size) {
        #[expect(clippy::cast_possible_truncation, reason = "between −3 and 6")]
        let digits = size.log10().floor() as i32;
        let places = usize::try_from(4 - digits).unwrap_or(0);
        format!("{v:.places$}")
    } else {
        format!("{v:.4e}")
    }
}

/// A share in percent, without idle zeros.
pub(crate) fn percent(share: f64) -> String {
    let text = format!("{:.4}", 100.0 * share);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// An integer with a space between groups of three digits.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A shape as `NumPy` prints it.
pub(crate) fn shape<T: ToString>(sizes: &[T]) -> String {
    let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    format!("({}{})", sizes.join(", "), if sizes.len() == 1 { "," } else { "" })
}

/// `1 sample`, `2 samples`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if n == 1 => format!("1 {noun}"),
        Some(stem) => format!("{n} {stem}ies"),
        None if noun.ends_with("ch") => format!("{n} {noun}es"),
        None => format!("{n} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_in_the_plural_but_for_one() {
        let counts = [count(1, "entry"), count(2, "entry"), count(3, "batch"), count(0, "sample")];
        assert_eq!(counts, ["1 entry", "2 entries", "3 batches", "0 samples"]);
    }

    #[test]
    fn numbers_are_short() {
        for (v, text) in [
            (0.0, "0"),
            (0.25, "0.25000"),
            (-12.345_678, "-12.346"),
            (99_999.9, "100000"),
            (0.001, "0.0010000"),
            (1.5e-7, "1.5000e-7"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(number(v), text);
        }
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(grouped(123), "123");
        assert_eq!(shape(&[3]), "(3,)");
    }

    #[test]
    fn columns_align() {
        let mut table = Table::default().right(&[1]);
        table.row(["a", "10", "x"]);
        table.row(["long", "5"]);
        assert_eq!(table.render(2), "  a     10  x\n  long   5\n");
    }
}
