//! Which columns of a table are samples, and which is the label.

use std::collections::HashMap;

use crate::{Dictionary, Options, Problem};

/// Columns by their place in the file.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// The columns of a sample, in the order in which they are wanted.
    pub(crate) taken: Vec<usize>,
    /// The codes of those that hold words.
    pub(crate) codes: Vec<Option<Codes>>,
    /// The column of the labels, if they are wanted.
    pub(crate) label: Option<usize>,
    /// The numbers of the classes by name, where labels are words.
    pub(crate) classes: HashMap<String, i64>,
    /// The columns that come along as text.
    pub(crate) kept: Vec<usize>,
}

/// The numbers that stand for the words of a column.
#[derive(Clone, Debug)]
pub(crate) struct Codes {
    numbers: HashMap<String, f32>,
}

impl Codes {
    fn new(dictionary: &Dictionary) -> Self {
        let numbered = dictionary.words.iter().enumerate();
        Self { numbers: numbered.map(|(i, word)| (word.clone(), i as f32)).collect() }
    }

    /// The number of a word; words that are not known share one of their own, and what is missing is NaN.
    pub(crate) fn number(&self, word: &str) -> f32 {
        match self.numbers.get(word) {
            Some(number) => *number,
            None if is_missing(word) => f32::NAN,
            None => self.numbers.len() as f32,
        }
    }
}

/// Whether a cell says that it holds nothing.
pub(crate) fn is_missing(text: &str) -> bool {
    const WORDS: [&str; 9] = ["", "na", "n/a", "null", "none", "nan", "?", "<na>", "nat"];
    text.len() <= 4 && WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// The number in a cell of text; NaN if it is empty or says so.
pub(crate) fn number(text: &str) -> Option<f32> {
    match text.parse() {
        Ok(number) => Some(number),
        Err(_) if is_missing(text) => Some(f32::NAN),
        Err(_) if text.eq_ignore_ascii_case("true") => Some(1.0),
        Err(_) if text.eq_ignore_ascii_case("false") => Some(0.0),
        Err(_) => None,
    }
}

/// Chooses among the columns of a file; `numbers_of_rows` is one that only counts them. Without names of its own, a
/// file's columns are called `1`, `2` and so on.
pub(crate) fn select(
    all: &[String],
    has_names: bool,
    numbers_of_rows: Option<usize>,
    options: &Options,
) -> Result<Selection, Problem> {
    let find = |name: &str| -> Result<Option<usize>, Problem> {
        let mut places = all.iter().enumerate().filter(|(_, n)| *n == name).map(|(i, _)| i);
        match (places.next(), places.next()) {
            (Some(_), Some(_)) => Err(Problem::RepeatedColumn(name.to_owned())),
            (place, _) => Ok(place),
        }
    };
    let missing = |name: &str| {
        let (column, known) = (name.to_owned(), all.to_vec());
        Problem::NoColumn { column, known, has_names }
    };
    // What is left out may be missing if the rest is what the model takes: data to be scored have no labels.
    let fits = |taken: &[usize]| {
        let wanted = options.sample_shape.as_deref();
        wanted.is_some_and(|shape| shape.iter().product::<usize>() == taken.len())
    };
    let kept = options.keep.iter().map(|name| find(name)?.ok_or_else(|| missing(name)));
    let kept: Vec<usize> = kept.collect::<Result<_, _>>()?;
    if options.only_kept {
        return Ok(Selection {
            taken: Vec::new(),
            codes: Vec::new(),
            label: None,
            classes: HashMap::new(),
            kept,
        });
    }
    let label = options.label.as_deref().map(find).transpose()?.flatten();
    let mut left_out: Vec<usize> = label.into_iter().collect();
    let mut absent = options.label.iter().filter(|_| label.is_none()).collect::<Vec<_>>();
    for name in &options.exclude {
        match find(name)? {
            Some(place) => left_out.push(place),
            None => absent.push(name),
        }
    }
    let taken: Vec<usize> = if options.columns.is_empty() {
        left_out.extend(numbers_of_rows);
        let rest: Vec<usize> = (0..all.len()).filter(|i| !left_out.contains(i)).collect();
        // A column that only comes along is no part of a sample, if the model takes as many as there are without it.
        let without: Vec<usize> = rest.iter().copied().filter(|i| !kept.contains(i)).collect();
        if fits(&without) { without } else { rest }
    } else {
        let chosen = options.columns.iter().map(|name| find(name)?.ok_or_else(|| missing(name)));
        let chosen: Vec<usize> = chosen.collect::<Result<_, _>>()?;
        chosen.into_iter().filter(|i| !left_out.contains(i)).collect()
    };
    match absent.first() {
        Some(name) if !fits(&taken) => Err(missing(name)),
        _ if taken.is_empty() => Err(Problem::NoColumnsLeft(all.to_vec())),
        _ => {
            let dictionary = |i: &usize| options.words.iter().find(|d| d.column == all[*i]);
            let codes = taken.iter().map(|i| dictionary(i).map(Codes::new)).collect();
            let classes = (0..).zip(&options.classes).map(|(i, name)| (name.clone(), i)).collect();
            Ok(Selection { taken, codes, label: label.filter(|_| options.labels), classes, kept })
        }
    }
}
