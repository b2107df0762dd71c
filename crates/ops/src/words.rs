//! Words that a model knows. Engines that run everywhere have no strings: a word goes through the graph as its code.

use std::collections::{HashMap, HashSet};

use taste_graph::Id;

/// The words of a model's categories, each with its place in the list as its code. Words that a model does not know have
/// [`Words::UNKNOWN`].
#[derive(Clone, Debug, Default)]
pub struct Words {
    list: Vec<String>,
    codes: HashMap<String, i64>,
    /// Values that hold codes of words and depend on an input.
    values: HashSet<Id>,
}

/// Operators that move or compare elements, whatever they are, and whether what comes out is words again.
const TAKE_WORDS: &[(&str, bool)] = &[
    ("ArrayFeatureExtractor", true),
    ("CastLike", false),
    ("Concat", true),
    ("Equal", false),
    ("Expand", true),
    ("Flatten", true),
    ("Gather", true),
    ("GatherElements", true),
    ("GatherND", true),
    ("Identity", true),
    ("LabelEncoder", false),
    ("OneHotEncoder", false),
    ("Reshape", true),
    ("Shape", false),
    ("Size", false),
    ("Slice", true),
    ("Split", true),
    ("Squeeze", true),
    ("Tile", true),
    ("Transpose", true),
    ("Unsqueeze", true),
    ("Where", true),
];

impl Words {
    /// The code of a word that is not in the list.
    pub const UNKNOWN: i64 = -1;

    /// The words in the order of their codes.
    pub fn list(&self) -> &[String] {
        &self.list
    }

    /// The code of a word, which is one of the list from now on.
    pub fn code(&mut self, word: &str) -> i64 {
        if let Some(code) = self.codes.get(word) {
            return *code;
        }
        let code = i64::try_from(self.list.len()).unwrap_or(i64::MAX);
        self.list.push(word.to_owned());
        self.codes.insert(word.to_owned(), code);
        code
    }

    /// Notes that a value holds words.
    pub(crate) fn mark(&mut self, id: Id) {
        self.values.insert(id);
    }

    /// Whether a value holds words.
    pub(crate) fn holds(&self, id: Id) -> bool {
        self.values.contains(&id)
    }

    /// Whether an operator can be applied to words, and gives words again.
    pub(crate) fn through(op: &str) -> Option<bool> {
        TAKE_WORDS.iter().find(|(name, _)| *name == op).map(|(_, words)| *words)
    }
}
