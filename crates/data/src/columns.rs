//! Which columns of a table are samples, and which is the label.

use std::collections::HashMap;

use crate::{Dictionary, Input, Options, Problem};

/// Columns by their place in the file.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// The columns of a sample, in the order in which they are wanted.
    pub(crate) taken: Vec<usize>,
    /// The codes of those that hold words.
    pub(crate) codes: Vec<Option<Codes>>,
    /// The column of the labels, if they are wanted.
    pub(crate) label: Option<usize>,
    /// The classes by name, where labels are words.
    pub(crate) classes: ClassNames,
    /// The columns that come along as text.
    pub(crate) kept: Vec<usize>,
}

/// The places of words in a list. A cell is looked up as it stands, spaces and all: a model that learned from ` Private`
/// knows no `Private`. What is not there is looked up without the spaces around it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    exact: HashMap<String, usize>,
    trimmed: HashMap<String, usize>,
}

impl Places {
    pub(crate) fn new(words: &[String]) -> Self {
        let mut places = Self::default();
        for (place, word) in words.iter().enumerate() {
            places.exact.insert(word.clone(), place);
            places.trimmed.entry(word.trim().to_owned()).or_insert(place);
        }
        places
    }

    pub(crate) fn find(&self, word: &str) -> Option<usize> {
        let trimmed = word.trim();
        let found = self.exact.get(word).or_else(|| self.exact.get(trimmed));
        found.or_else(|| self.trimmed.get(trimmed)).copied()
    }
}

/// The classes that labels name by words.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassNames {
    places: Places,
    /// The number of each in labels.
    numbers: Vec<i64>,
    names: Vec<String>,
}

impl ClassNames {
    fn new(options: &Options) -> Self {
        let names = options.classes.clone();
        let numbers = (0..names.len()).filter_map(|place| options.number_of(place)).collect();
        Self { places: Places::new(&names), numbers, names }
    }

    /// The number of a class in labels.
    pub(crate) fn find(&self, word: &str) -> Option<i64> {
        self.places.find(word).and_then(|place| self.numbers.get(place)).copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }
}

/// The numbers that stand for the words of a column.
#[derive(Clone, Debug)]
pub(crate) struct Codes {
    places: Places,
    unseen: usize,
}

impl Codes {
    fn new(dictionary: &Dictionary) -> Self {
        Self { places: Places::new(&dictionary.words), unseen: dictionary.unseen() }
    }

    /// The number of a word; words that are not known share one of their own, and what is missing is NaN.
    pub(crate) fn number(&self, word: &str) -> f32 {
        match self.places.find(word) {
            Some(place) => place as f32,
            None if is_missing(word) => f32::NAN,
            None => self.unseen as f32,
        }
    }
}

/// Whether a cell says that it holds nothing, whatever its column holds.
pub(crate) fn is_missing(text: &str) -> bool {
    const WORDS: [&str; 11] =
        ["", "na", "n/a", "#n/a", "#na", "null", "none", "nan", "?", "<na>", "nat"];
    let text = text.trim();
    text.len() <= 4 && WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Whether a cell is what people write among numbers where there is none; among words it may be a word.
pub(crate) fn is_no_number(text: &str) -> bool {
    const MARKS: [&str; 5] = ["-", "--", "n.a.", "\u{2013}", "\u{2014}"];
    let text = text.trim();
    MARKS.iter().any(|mark| text.eq_ignore_ascii_case(mark))
}

/// The number in a cell of text; NaN if it is empty or says so.
pub(crate) fn number(text: &str) -> Option<f32> {
    let text = text.trim();
    match text.parse() {
        Ok(number) => Some(number),
        Err(_) if is_missing(text) || is_no_number(text) => Some(f32::NAN),
        Err(_) if text.eq_ignore_ascii_case("true") => Some(1.0),
        Err(_) if text.eq_ignore_ascii_case("false") => Some(0.0),
        Err(_) => None,
    }
}

/// Columns in the order in which inputs take them: an input of one number has the column of its name, and the others have
/// what is left, in the order of the file.
fn by_inputs(taken: Vec<usize>, all: &[String], options: &Options) -> Vec<usize> {
    let widths: Option<Vec<usize>> = options.inputs.iter().map(|input| input.width).collect();
    let Some(widths) = widths.filter(|w| w.iter().sum::<usize>() == taken.len()) else {
        return taken;
    };
    let named = |(input, width): (&Input, &usize)| {
        taken.iter().copied().find(|&column| *width == 1 && all[column] == input.name)
    };
    let named: Vec<Option<usize>> = options.inputs.iter().zip(&widths).map(named).collect();
    let mut rest = taken.iter().copied().filter(|column| !named.contains(&Some(*column)));
    let mut ordered = Vec::with_capacity(taken.len());
    for (column, width) in named.iter().zip(widths) {
        match column {
            Some(column) => ordered.push(*column),
            None => ordered.extend(rest.by_ref().take(width)),
        }
    }
    ordered
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
            classes: ClassNames::default(),
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
        let rest = if fits(&without) { without } else { rest };
        by_inputs(rest, all, options)
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
            let classes = ClassNames::new(options);
            Ok(Selection { taken, codes, label: label.filter(|_| options.labels), classes, kept })
        }
    }
}
