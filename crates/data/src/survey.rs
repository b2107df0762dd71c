//! A look at tables before they are read: which columns hold words, which of them are samples, and what the words are.

use std::{
    collections::{BTreeSet, HashSet},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};
use taste_files::message::shortened;

use crate::{
    Dataset, Dictionary, Error, Options, Problem, Samples,
    columns::{is_missing, is_no_number, number},
    error::MOST_NAME,
};

/// What a column of a table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Holds {
    /// Numbers, some of them perhaps missing.
    Numbers,
    /// Words.
    Words,
    /// Words of which nearly every row has another.
    Names,
    /// Dates or times.
    Dates,
}

impl Holds {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Numbers => "numbers",
            Self::Words => "words",
            Self::Names => "names of rows",
            Self::Dates => "dates",
        }
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Surveyed {
    /// Options that name the words of columns, the names of classes, and what is left out.
    pub options: Options,
    /// Columns that hold no numbers and are not taken, as the model takes as many as there are without them.
    pub left_out: Vec<(String, Holds)>,
}

/// Rows that are looked at to tell words from numbers.
const LOOKED_AT: usize = 1000;

/// A column with more different words names its rows, and is no input of a model.
const MOST_WORDS: usize = 100_000;

/// Rows gone through at once.
const ROWS: usize = 4096;

/// Looks at tables before they are read as samples for a model. Files that are no tables are left as they are.
///
/// Of columns that are not chosen by name, those that hold dates, names of rows or words are left out if the model takes as
/// many columns as there are without them. Words of the others get numbers in the order of the alphabet, as scikit-learn and pandas
/// number them; so do the classes where labels are words. A column that is not there by its name may be called as exporters
/// write it, `net_price` for `net price`.
pub fn survey(paths: &[PathBuf], options: &Options) -> Result<Surveyed, Error> {
    let texts = match Texts::open(paths, &[]) {
        Ok(texts) => texts.names,
        // What is wrong with the files is said when they are read.
        Err(_) => return Ok(Surveyed { options: options.clone(), left_out: Vec::new() }),
    };
    let options = &as_in_file(options, &texts);
    for name in options.exclude.iter().chain(&options.label).filter(|name| !texts.contains(name)) {
        // A column of lists has no text, and can be left out all the same.
        let found = Texts::open(paths, std::slice::from_ref(name));
        if let Err(error) = found
            && matches!(error.problem(), Problem::NoColumn { .. })
        {
            return Err(error);
        }
    }
    let mut found = Surveyed { options: options.clone(), left_out: Vec::new() };
    let label = options.label.as_ref().filter(|l| texts.contains(l));
    let candidates: Vec<String> = if options.columns.is_empty() {
        let left_out = |name: &String| {
            options.exclude.contains(name) || options.keep.contains(name) || label == Some(name)
        };
        texts.iter().filter(|n| !left_out(n) && !n.is_empty()).cloned().collect()
    } else {
        options.columns.iter().filter(|n| texts.contains(n) && label != Some(n)).cloned().collect()
    };
    let mut looked_at: Vec<String> = candidates.iter().chain(label).cloned().collect();
    let distinct: HashSet<&String> = looked_at.iter().collect();
    if distinct.len() != looked_at.len() {
        return Ok(found);
    }
    // Columns with a dictionary are known.
    looked_at.retain(|name| !options.words.iter().any(|d| d.column == *name));
    let holds = Texts::open(paths, &looked_at)?.holds()?;
    let is = |name: &String, what: Holds| {
        looked_at.iter().zip(&holds).any(|(n, h)| n == name && *h == what)
    };
    let words_of = |columns: &[String]| -> Vec<String> {
        let has = |name: &&String| is(name, Holds::Words) || is(name, Holds::Names);
        columns.iter().filter(has).cloned().collect()
    };
    let mut taken = candidates;
    if options.columns.is_empty() {
        let kinds: Vec<(String, Holds)> = looked_at.iter().cloned().zip(holds.clone()).collect();
        let left_out = superfluous(&taken, &kinds, options);
        taken.retain(|name| !left_out.iter().any(|(n, _)| n == name));
        found.options.exclude.extend(left_out.iter().map(|(name, _)| name.clone()));
        found.left_out = left_out;
    }
    if let Some(date) = taken.iter().find(|name| is(name, Holds::Dates)) {
        let (column, holds) = (shortened(date, MOST_NAME), Holds::Dates.name().to_owned());
        return Err(Error::new(shown(paths), Problem::NotNumbers { column, holds }));
    }
    let mut named = words_of(&taken);
    let label_of_words = label.filter(|l| options.classes.is_empty() && is(l, Holds::Words));
    named.extend(label_of_words.cloned());
    if named.is_empty() {
        return Ok(found);
    }
    for (column, words) in named.iter().zip(Texts::open(paths, &named)?.words(&named)?) {
        if Some(column) == label_of_words {
            found.options.classes = words;
        } else {
            found.options.words.push(Dictionary { column: column.clone(), words });
        }
    }
    Ok(found)
}

/// With the names that the columns have in the file.
fn as_in_file(options: &Options, names: &[String]) -> Options {
    let plain = |name: &str| -> String {
        name.chars().map(|c| if c.is_alphanumeric() || c == '+' { c } else { '_' }).collect()
    };
    let wanted = &options.columns;
    let mut options = options.clone();
    for column in &mut options.columns {
        if names.contains(column) {
            continue;
        }
        // A column that is wanted by its own name is no other.
        let free = names.iter().filter(|name| !wanted.contains(name));
        let mut alike = free.filter(|name| plain(name) == plain(column));
        let (Some(name), None) = (alike.next(), alike.next()) else { continue };
        for words in options.words.iter_mut().filter(|d| d.column == *column) {
            words.column.clone_from(name);
        }
        column.clone_from(name);
    }
    options
}

/// The columns of dates, or of dates and words, without which there are as many as the model takes.
fn superfluous(
    taken: &[String],
    kinds: &[(String, Holds)],
    options: &Options,
) -> Vec<(String, Holds)> {
    /// What is left out first.
    const IDLE: [Holds; 3] = [Holds::Dates, Holds::Names, Holds::Words];
    let Some(wanted) = options.sample_shape.as_deref() else { return Vec::new() };
    let wanted: usize = wanted.iter().product();
    if taken.len() <= wanted {
        return Vec::new();
    }
    for kinds_left_out in 1..=IDLE.len() {
        let left_out = &IDLE[..kinds_left_out];
        let idle: Vec<(String, Holds)> = kinds
            .iter()
            .filter(|(n, h)| taken.contains(n) && left_out.contains(h))
            .cloned()
            .collect();
        if taken.len() - idle.len() == wanted {
            return idle;
        }
    }
    Vec::new()
}

fn shown(paths: &[PathBuf]) -> String {
    paths.first().map_or_else(String::new, |path| crate::standard::shown(path))
}

/// Columns of tables as text.
pub(crate) struct Texts {
    sets: Vec<Dataset>,
    /// The columns that can be read as text.
    names: Vec<String>,
}

impl Texts {
    /// Opens tables for some of their columns.
    pub(crate) fn open(paths: &[PathBuf], columns: &[String]) -> Result<Self, Error> {
        let options = Options {
            keep: columns.to_vec(),
            only_kept: true,
            skip_bad: true,
            ..Options::default()
        };
        let sets =
            paths.iter().map(|p| Dataset::open(p, &options)).collect::<Result<Vec<_>, _>>()?;
        let names = sets.first().map(Dataset::texts).unwrap_or_default();
        Ok(Self { sets, names })
    }

    /// The columns that can be read as text.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The tables.
    pub(crate) fn sets(&self) -> &[Dataset] {
        &self.sets
    }

    /// Goes through the texts of all columns, until `take` has enough.
    pub(crate) fn each(
        &self,
        mut take: impl FnMut(&[Vec<String>]) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        // Images have no columns, and are not to be decoded for nothing.
        if self.names.is_empty() {
            return Ok(());
        }
        for set in &self.sets {
            for chunk in set.chunks(ROWS)? {
                if !take(&chunk?.kept)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// What each column holds, as far as its first rows tell. One with numbers and words holds numbers, and words that
    /// are mistakes.
    pub(crate) fn holds(&self) -> Result<Vec<Holds>, Error> {
        let mut seen: Vec<[usize; 3]> = Vec::new();
        let mut distinct: Vec<HashSet<String>> = Vec::new();
        let mut rows = 0;
        self.each(|columns| {
            seen.resize(columns.len(), [0; 3]);
            distinct.resize(columns.len(), HashSet::new());
            for ((counts, words), cells) in seen.iter_mut().zip(&mut distinct).zip(columns) {
                for cell in cells.iter().filter(|cell| !is_missing(cell) && !is_no_number(cell)) {
                    let kind = if number(cell).is_some() {
                        0
                    } else if is_date(cell) {
                        2
                    } else {
                        1
                    };
                    counts[kind] += 1;
                    if kind == 1 && !words.contains(cell) {
                        words.insert(cell.clone());
                    }
                }
            }
            rows += columns.first().map_or(0, Vec::len);
            Ok(rows < LOOKED_AT)
        })?;
        let what = |(&[numbers, words, dates], distinct): (&[usize; 3], &HashSet<String>)| match (
            numbers, words, dates,
        ) {
            (0, 0, 1..) => Holds::Dates,
            (0, 1.., _) if names_rows(distinct.len(), words) => Holds::Names,
            (0, 1.., _) => Holds::Words,
            _ => Holds::Numbers,
        };
        Ok(seen.iter().zip(&distinct).map(what).collect())
    }

    /// The different words of each column, in the order of the alphabet.
    pub(crate) fn words(&self, names: &[String]) -> Result<Vec<Vec<String>>, Error> {
        let mut words: Vec<BTreeSet<String>> = vec![BTreeSet::new(); names.len()];
        let mut rows = 0;
        self.each(|columns| {
            rows += columns.first().map_or(0, Vec::len);
            for (words, cells) in words.iter_mut().zip(columns) {
                for cell in cells.iter().filter(|cell| !is_missing(cell)) {
                    if !words.contains(cell) {
                        words.insert(cell.clone());
                    }
                }
            }
            Ok(words.iter().all(|words| words.len() <= MOST_WORDS))
        })?;
        for (name, words) in names.iter().zip(&words) {
            if words.len() > MOST_WORDS || names_rows(words.len(), rows) {
                let place = self.sets.first().map_or("", |set| set.name());
                return Err(Error::new(
                    place,
                    Problem::NamesRows {
                        column: shortened(name, MOST_NAME),
                        words: words.len(),
                        rows,
                    },
                ));
            }
        }
        Ok(words.into_iter().map(|words| words.into_iter().collect()).collect())
    }
}

/// Whether so many different words in so many rows name the rows.
fn names_rows(words: usize, rows: usize) -> bool {
    words > 50 && 2 * words > rows
}

/// Whether a text is a date such as `2024-05-17`, with or without a time, or one in the order of Germans or Americans.
fn is_date(text: &str) -> bool {
    let day = text.trim().split(['T', ' ']).next().unwrap_or_default();
    let parts: Vec<&str> = day.split(['-', '/', '.']).collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    parts.iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
        && matches!(lengths[..], [4, 1..=2, 1..=2] | [1..=2, 1..=2, 2 | 4])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_told_from_words() {
        for date in
            ["2024-05-17", "2024-05-17T09:30:01Z", "17.5.2024", "05/17/24", "2024/5/17 9:30"]
        {
            assert!(is_date(date), "{date}");
        }
        for word in ["", "2024", "1.5", "a-b-c", "17-", "10-4", "192.168.0.1", "1-2-3"] {
            assert!(!is_date(word), "{word}");
        }
    }
}
