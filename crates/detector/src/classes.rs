//! The classes of a model: what its file calls them, and what a detector calls them.

use taste_data::Options;
use taste_engine::{Classes, Model};

use crate::Detector;

/// With the classes that a model itself names, where they are not named otherwise: labels are read as these, and predictions
/// are called so.
pub fn with_classes(options: Options, model: &Model) -> Options {
    let (numbers, names) = match model.named_classes() {
        None => return options,
        Some(Classes::Words(words)) => {
            let numbers = words.iter().map(|word| word.parse().ok()).collect::<Option<Vec<i64>>>();
            (numbers.unwrap_or_default(), words)
        }
        Some(Classes::Numbers(numbers)) => {
            let names = numbers.iter().map(ToString::to_string).collect();
            (numbers, names)
        }
    };
    // Numbers that count the classes from 0 on say nothing.
    if (0..).zip(&numbers).all(|(place, number)| place == *number) && !numbers.is_empty() {
        return options;
    }
    let classes = if options.classes.is_empty() { names } else { options.classes };
    Options { classes, numbers, ..options }
}

impl Detector {
    /// What the classes of the model are called, as far as that is known; else there are none.
    pub fn classes(&self) -> &[String] {
        let names = &self.manifest().data.reading.classes;
        if Some(names.len()) == self.class_count() { names } else { &[] }
    }

    /// How labels of samples are read: by the names and the numbers that the classes have.
    pub fn reading_of_labels(&self, skip_bad: bool) -> Options {
        let numbers = &self.manifest().data.reading.numbers;
        let numbers = numbers.iter().filter(|_| Some(numbers.len()) == self.class_count());
        Options {
            classes: self.classes().to_vec(),
            numbers: numbers.copied().collect(),
            skip_bad,
            ..Options::default()
        }
    }

    /// Whether the names of classes are the numbers that labels have.
    pub fn has_numbered_classes(&self) -> bool {
        let Options { classes, numbers, .. } = self.reading_of_labels(false);
        let names = classes.iter().map(|name| name.parse().ok());
        !numbers.is_empty() && names.eq(numbers.iter().map(|number| Some(*number)))
    }

    /// How many classes the model tells apart, or how many numbers it gives.
    fn class_count(&self) -> Option<usize> {
        let model = &self.manifest().model;
        match (&*model.answer, model.outputs) {
            ("binary" | "binary logit", 1) => Some(2),
            ("numbers", 1) => None,
            (_, outputs) => Some(outputs),
        }
    }
}
