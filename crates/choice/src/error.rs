use std::fmt;

/// A choice that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No entry has the name.
    #[error("no {kind} {name:?}; {}", Known { suggestion, known })]
    Unknown {
        /// What was looked for: a score model, a method.
        kind: &'static str,
        /// What was written.
        name: String,
        /// What was likely meant.
        suggestion: Option<String>,
        /// How the entries of the table are written.
        known: Vec<String>,
    },
    /// An argument has a value that does not fit.
    #[error("{argument} wants {wanted}, got {got:?}: the {kind} is written {usage}")]
    Value {
        /// What was chosen: a score model, a method.
        kind: &'static str,
        /// How it is written.
        usage: &'static str,
        /// The argument.
        argument: String,
        /// What it takes.
        wanted: String,
        /// What was written.
        got: String,
    },
    /// An argument that the entry does not have.
    #[error("{argument:?} means nothing here: the {kind} is written {usage}")]
    Surplus {
        /// What was chosen: a score model, a method.
        kind: &'static str,
        /// How it is written.
        usage: &'static str,
        /// What was written.
        argument: String,
    },
    /// An argument that can't be left out.
    #[error("{argument} is missing: write {usage}")]
    Missing {
        /// What was chosen: a score model, a method.
        kind: &'static str,
        /// How it is written.
        usage: &'static str,
        /// The argument.
        argument: String,
    },
    /// Arguments that do not go together, or do not fit what is there.
    #[error("{0}")]
    Unfit(String),
}

struct Known<'a> {
    suggestion: &'a Option<String>,
    known: &'a [String],
}

impl fmt::Display for Known<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = match self.suggestion {
            Some(name) => format!("did you mean {name}? There are "),
            None => "there are ".to_owned(),
        };
        f.write_str(&there)?;
        match self.known {
            [] => f.write_str("none"),
            [one] => f.write_str(one),
            [first @ .., last] => write!(f, "{} and {last}", first.join(", ")),
        }
    }
}
