//! What columns hold that come along as text, so that a table of others can hold the same.

use std::path::PathBuf;

use crate::{Error, Kind, Value, columns::is_missing, survey::Texts};

impl Kind {
    /// What a text is taken for in a column of the kind: nothing where it says that there is nothing.
    pub fn value(self, text: &str) -> Value<'_> {
        let cell = text.trim();
        let found = match self {
            Self::Text => return Value::Text(text),
            Self::Int => cell.parse().ok().map(Value::Int),
            Self::Float => cell.parse().ok().map(Value::Double),
            Self::Bool => truth(cell).map(Value::Bool),
        };
        found.unwrap_or(Value::Missing)
    }
}

/// The kind of every one of some columns of tables: whole numbers, numbers, or true and false, if that is what every cell holds
/// that holds something; else words. A number that would be written otherwise, as `007`, is a word.
pub fn kinds(paths: &[PathBuf], columns: &[String]) -> Result<Vec<Kind>, Error> {
    const KINDS: [Kind; 3] = [Kind::Bool, Kind::Int, Kind::Float];
    let mut open = vec![KINDS.to_vec(); columns.len()];
    let mut seen = vec![false; columns.len()];
    Texts::open(paths, columns)?.each(|all| {
        for ((open, seen), cells) in open.iter_mut().zip(&mut seen).zip(all) {
            for cell in cells.iter().map(|cell| cell.trim()).filter(|cell| !is_missing(cell)) {
                *seen = true;
                open.retain(|kind| holds(*kind, cell));
            }
        }
        Ok(open.iter().any(|open| !open.is_empty()))
    })?;
    let kind = |(open, seen): (Vec<Kind>, bool)| {
        open.first().copied().filter(|_| seen).unwrap_or(Kind::Text)
    };
    Ok(open.into_iter().zip(seen).map(kind).collect())
}

fn holds(kind: Kind, cell: &str) -> bool {
    match kind {
        Kind::Text => true,
        Kind::Bool => truth(cell).is_some(),
        Kind::Int => cell.parse().is_ok_and(|v: i64| v.to_string() == cell),
        Kind::Float => is_decimal(cell) && cell.parse().is_ok_and(f64::is_finite),
    }
}

fn truth(cell: &str) -> Option<bool> {
    match cell {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Whether a text is digits as numbers have them, and not as names have them: without a sign `+` and zeros in front. Numbers of
/// more digits than double precision holds are names as well.
fn is_decimal(cell: &str) -> bool {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let whole = digits.split(['.', 'e', 'E']).next().unwrap_or_default();
    let is_whole = !whole.is_empty() && whole.bytes().all(|b| b.is_ascii_digit());
    is_whole && whole.len() <= 15 && (whole == "0" || !whole.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_digits_are_no_numbers() {
        for (cell, kind) in [
            ("17", Some(Kind::Int)),
            ("-3", Some(Kind::Int)),
            ("1.50", Some(Kind::Float)),
            ("1e5", Some(Kind::Float)),
            ("True", Some(Kind::Bool)),
            ("007", None),
            ("+49", None),
            ("00.5", None),
            ("12345678901234567890", None),
            ("inf", None),
            ("2024-05-17", None),
        ] {
            let found = [Kind::Bool, Kind::Int, Kind::Float].into_iter().find(|k| holds(*k, cell));
            assert_eq!(found, kind, "{cell}");
        }
    }
}
