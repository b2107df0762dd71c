//! Segments of a table: rows that have the same value in a column.

use std::{fmt, str::FromStr};

use serde::Serialize;

use crate::{Error, error::unfit};

/// The column whose values divide a table, and which part of its dates is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct By {
    /// The column, by its name in the file; it need not be one that the model takes.
    pub column: String,
    /// The part of dates such as `2024-05-17` that is taken; values as they are if there is none.
    pub part: Option<DatePart>,
}

/// A part of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DatePart {
    /// `2024`.
    Year,
    /// `2024-05`.
    Month,
    /// `2024-05-17`.
    Day,
}

/// What stands for a value that is missing.
const MISSING: [&str; 5] = ["na", "nan", "null", "none", "n/a"];

/// Whether text is a whole number.
fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

impl DatePart {
    const ALL: [(&'static str, Self, usize); 3] =
        [("year", Self::Year, 4), ("month", Self::Month, 7), ("day", Self::Day, 10)];
}

impl FromStr for By {
    type Err = std::convert::Infallible;

    /// `COLUMN`, or `COLUMN:year`, `COLUMN:month`, `COLUMN:day`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let part = DatePart::ALL.iter().find_map(|&(name, part, _)| {
            let column = text.strip_suffix(name)?.strip_suffix(':')?;
            Some(Self { column: column.to_owned(), part: Some(part) })
        });
        Ok(part.unwrap_or_else(|| Self { column: text.to_owned(), part: None }))
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.column)?;
        match DatePart::ALL.iter().find(|(_, part, _)| Some(*part) == self.part) {
            Some((name, ..)) => write!(f, ":{name}"),
            None => Ok(()),
        }
    }
}

impl By {
    /// The segment that a value belongs to: what is missing in one way or another is one, and `1.0` is `1`.
    pub(super) fn segment<'v>(&self, value: &'v str) -> Result<&'v str, Error> {
        let value = value.trim();
        let is_missing = MISSING.iter().any(|word| value.eq_ignore_ascii_case(word));
        let value = if is_missing { "" } else { value };
        let value = match value.split_once('.') {
            Some((whole, rest)) if is_whole(whole) && rest.bytes().all(|b| b == b'0') => whole,
            _ => value,
        };
        let value = if value == "-0" { "0" } else { value };
        let Some(part) = self.part else { return Ok(value) };
        let is_date = value.len() >= 10
            && value.bytes().take(10).enumerate().all(|(i, b)| match i {
                4 | 7 => b == b'-',
                _ => b.is_ascii_digit(),
            });
        let length = DatePart::ALL.iter().find(|(_, p, _)| *p == part).map_or(0, |found| found.2);
        if value.is_empty() {
            return Ok(value);
        }
        if !is_date {
            let message =
                format!("column {:?}: {value:?} is not a date like 2024-05-17", self.column);
            return Err(unfit("by", message));
        }
        Ok(&value[..length])
    }
}

/// Orders segments by number where all are numbers.
pub(super) fn in_order(names: &mut [String]) {
    let number = |name: &String| name.parse::<f64>().ok().filter(|v| v.is_finite());
    if names.iter().all(|name| number(name).is_some()) {
        names.sort_by(|a, b| number(a).unwrap_or(0.0).total_cmp(&number(b).unwrap_or(0.0)));
    } else {
        names.sort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_parts_of_dates_are_read_and_written() {
        for (text, column, part) in [
            ("town", "town", None),
            ("when:month", "when", Some(DatePart::Month)),
            ("a:b:day", "a:b", Some(DatePart::Day)),
            ("when:week", "when:week", None),
            ("month", "month", None),
        ] {
            let Ok(by) = text.parse::<By>();
            assert_eq!((by.column.as_str(), by.part), (column, part));
            assert_eq!(by.to_string(), text);
        }
    }

    #[test]
    fn dates_are_cut_and_other_values_are_not() {
        let segment = |by: &str, value: &'static str| {
            let Ok(by) = by.parse::<By>();
            by.segment(value).map_err(|e| e.to_string())
        };
        assert_eq!(segment("d:month", "2024-05-17T10:00:00"), Ok("2024-05"));
        assert_eq!(segment("d:day", " 2024-05-17 10:00"), Ok("2024-05-17"));
        assert_eq!(segment("d:year", "2024-05-17"), Ok("2024"));
        assert_eq!(segment("d:year", ""), Ok(""));
        assert_eq!(segment("d", "17.5.2024"), Ok("17.5.2024"));
        for (value, wanted) in
            [("1.0", "1"), ("-0.0", "0"), ("NaN", ""), ("na", ""), ("1.50", "1.50"), ("007", "007")]
        {
            assert_eq!(segment("d", value), Ok(wanted));
        }
        assert!(segment("d:day", "17.5.2024").is_err_and(|e| e.contains("not a date")));
    }

    #[test]
    fn numbers_are_in_order() {
        let sorted = |names: &[&str]| {
            let mut names: Vec<String> = names.iter().map(|&n| n.to_owned()).collect();
            in_order(&mut names);
            names
        };
        assert_eq!(sorted(&["10", "9", "2"]), ["2", "9", "10"]);
        assert_eq!(sorted(&["b", "10", "9"]), ["10", "9", "b"]);
    }
}
