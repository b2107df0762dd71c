//! Tables of things that users choose by name, as `gmm:8,diagonal` or `knn:k=10`.
//!
//! A table is a slice of entries, and an entry says what it is called, how it is written and what it is. Parsing, help,
//! error messages with suggestions, `taste list` and the generated page of choices all come from that one slice, so that
//! adding a thing is one file and one line.
//!
//! ```
//! use taste_choice::{Arguments, Choice, Entry, Error, pick};
//!
//! struct Shape { choice: Choice, read: fn(&mut Arguments<'_>) -> Result<f64, Error> }
//! impl Entry for Shape {
//!     fn choice(&self) -> &Choice { &self.choice }
//! }
//! let table = [Shape {
//!     choice: Choice { name: "circle", usage: "circle:R", about: "all points at a distance R" },
//!     read: |a| a.word_as("R", "a number above 0", |r: &f64| *r > 0.0).map(|r| r.unwrap_or(1.0)),
//! }];
//! let (shape, mut arguments) = pick("shape", &table, "circle:2")?;
//! assert_eq!((shape.read)(&mut arguments)?, 2.0);
//! arguments.finish()?;
//! let error = pick("shape", &table, "cirle").err().expect("mistyped");
//! assert!(error.to_string().contains("did you mean circle?"));
//! # Ok::<(), Error>(())
//! ```

mod arguments;
mod error;

pub use arguments::Arguments;
pub use error::Error;

/// What a user reads of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What it is chosen by.
    pub name: &'static str,
    /// How it is written, arguments included.
    pub usage: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
}

/// An entry of a table.
pub trait Entry {
    /// What a user reads of it.
    fn choice(&self) -> &Choice;
}

impl<T: Entry + ?Sized> Entry for &T {
    fn choice(&self) -> &Choice {
        (**self).choice()
    }
}

impl Entry for Choice {
    fn choice(&self) -> &Choice {
        self
    }
}

/// The entry that a text names, and what stands behind the name. `kind` is what the entries are, for messages.
pub fn pick<'t, 'a, T: Entry>(
    kind: &'static str,
    table: &'t [T],
    text: &'a str,
) -> Result<(&'t T, Arguments<'a>), Error> {
    let (name, arguments) = match text.split_once([':', ',']) {
        Some((name, arguments)) => (name.trim(), Some(arguments)),
        None => (text.trim(), None),
    };
    match table.iter().find(|entry| entry.choice().name == name) {
        Some(entry) => Ok((entry, Arguments::new(kind, entry.choice().usage, arguments))),
        None => Err(unknown(kind, table, name)),
    }
}

/// The error for a name that no entry has.
pub fn unknown<T: Entry>(kind: &'static str, table: &[T], name: &str) -> Error {
    Error::Unknown {
        kind,
        name: name.to_owned(),
        suggestion: suggestion(table.iter().map(|e| e.choice().name), name),
        known: table.iter().map(|e| e.choice().usage.to_owned()).collect(),
    }
}

/// The name that is likely meant, if one is near enough.
pub fn suggestion<'n>(names: impl IntoIterator<Item = &'n str>, name: &str) -> Option<String> {
    const NEAR: f64 = 0.7;
    names
        .into_iter()
        .map(|known| (nearness(known, name), known))
        .filter(|(near, _)| *near >= NEAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known.to_owned())
}

/// Names, those that are likely meant first.
pub fn nearest_first<'n, N: AsRef<str>>(names: &'n [N], name: &str) -> Vec<&'n str> {
    let mut names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    names.sort_by(|a, b| nearness(b, name).total_cmp(&nearness(a, name)));
    names
}

/// How alike a name and what was written are, from 0 to 1. One slip of the finger leaves words alike, however short.
fn nearness(name: &str, written: &str) -> f64 {
    const SLIP: f64 = 0.8;
    let (name, written) = (name.to_lowercase(), written.to_lowercase());
    let near = strsim::jaro_winkler(&written, &name);
    let is_word = name.chars().count() > 2;
    if is_word && strsim::osa_distance(&written, &name) <= 1 { near.max(SLIP) } else { near }
}

/// Declares the modules of a table and the table itself, so that an entry is one line.
///
/// ```text
/// taste_choice::table! {
///     /// Every aggregate.
///     pub AGGREGATES: [AggregateKind] = {
///         l2::KIND,
///         max::KIND,
///         profile::KIND | KIND_WITH_SCORE,
///     }
/// }
/// ```
#[macro_export]
macro_rules! table {
    (
        $(#[$about:meta])*
        $vis:vis $name:ident: [$entry:ty] = { $($module:ident :: $($item:ident)|+),+ $(,)? }
    ) => {
        $(mod $module;)+
        $(#[$about])*
        $vis const $name: &[$entry] = &[$($($module::$item,)+)+];
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Choice] = &[
        Choice { name: "gaussian", usage: "gaussian[:diagonal]", about: "one Gaussian" },
        Choice { name: "gmm", usage: "gmm[:K]", about: "a mixture" },
    ];

    #[test]
    fn a_name_is_found_with_and_without_arguments() {
        for text in ["gmm", "gmm:8", "gmm,noise=1", " gmm "] {
            assert_eq!(pick("score model", TABLE, text).expect(text).0.name, "gmm");
        }
    }

    #[test]
    fn letters_that_changed_places_are_a_slip() {
        assert_eq!(suggestion(["fit", "test", "edit"], "fti").as_deref(), Some("fit"));
        assert_eq!(suggestion(["fit", "test", "edit"], "xyz"), None);
        assert_eq!(nearest_first(&["a", "b", "target", "c"], "targt"), ["target", "a", "b", "c"]);
    }

    #[test]
    fn a_name_that_is_not_there_gets_a_suggestion_and_the_list() {
        let message = |text| pick("score model", TABLE, text).expect_err(text).to_string();
        assert_eq!(
            message("gausian"),
            "no score model \"gausian\"; did you mean gaussian? There are gaussian[:diagonal] and gmm[:K]"
        );
        assert_eq!(
            message("tree"),
            "no score model \"tree\"; there are gaussian[:diagonal] and gmm[:K]"
        );
    }
}
