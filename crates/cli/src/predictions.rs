//! What the model itself says of samples, beside their scores.

use taste_data::{Column, Kind, Value};
use taste_detector::{Detector, Scores};

/// How the model's output is shown.
pub(crate) struct Predictions<'a> {
    shown: Shown,
    /// What the classes are called, if that is known.
    names: &'a [String],
    /// Whether these are numbers.
    numbered: bool,
}

/// What becomes of an output.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shown {
    /// The class with the largest entry.
    Largest,
    /// Class 1 if the number is above this, class 0 else.
    Above(f32),
    /// So many numbers.
    Numbers(usize),
}

/// Models with more outputs would fill the table with them.
const MOST_NUMBERS: usize = 64;

impl<'a> Predictions<'a> {
    /// None are shown.
    pub(crate) const NONE: Self = Self { shown: Shown::Numbers(0), names: &[], numbered: false };

    pub(crate) fn of(detector: &'a Detector) -> Self {
        let model = &detector.manifest().model;
        let shown = match (&*model.answer, model.outputs) {
            ("binary logit", 1) => Shown::Above(0.0),
            ("binary", 1) if model.scale == "logits" => Shown::Above(0.0),
            ("binary", 1) => Shown::Above(0.5),
            ("classes", outputs) if outputs > 1 => Shown::Largest,
            (_, outputs) if outputs <= MOST_NUMBERS => Shown::Numbers(outputs),
            _ => Shown::Numbers(0),
        };
        Self { shown, names: detector.classes(), numbered: detector.has_numbered_classes() }
    }

    /// What is said where there would be too many columns.
    pub(crate) fn left_out(detector: &'a Detector) -> Option<String> {
        let outputs = detector.manifest().model.outputs;
        (Self::of(detector).shown == Shown::Numbers(0)).then(|| {
            format!(
                "note: the model answers with {outputs} numbers a sample, and more than {MOST_NUMBERS} are not written \
                 beside the scores; they are an output of the detector file"
            )
        })
    }

    /// The columns of a table: `prediction`, or one for every number.
    pub(crate) fn columns(&self) -> Vec<Column> {
        let class = if self.names.is_empty() || self.numbered { Kind::Int } else { Kind::Text };
        match self.shown {
            Shown::Largest | Shown::Above(_) => vec![Column::new("prediction", class)],
            Shown::Numbers(1) => vec![Column::new("prediction", Kind::Float)],
            Shown::Numbers(count) => {
                (0..count).map(|i| Column::new(format!("prediction_{i}"), Kind::Float)).collect()
            }
        }
    }

    /// What stands in them for a sample.
    pub(crate) fn values(&self, scores: &Scores, sample: usize) -> Vec<Value<'a>> {
        let row = scores.prediction.as_ref().map(|p| p.row(sample));
        let entries: Vec<f32> = row.map_or_else(Vec::new, |row| row.iter().copied().collect());
        match self.shown {
            Shown::Largest => vec![self.class(largest(&entries))],
            Shown::Above(limit) => {
                let known = entries.first().filter(|v| !v.is_nan());
                vec![self.class(known.map(|v| usize::from(*v > limit)))]
            }
            Shown::Numbers(count) => {
                let number = |i| entries.get(i).map_or(Value::Missing, |v| Value::Single(*v));
                (0..count).map(number).collect()
            }
        }
    }

    fn class(&self, class: Option<usize>) -> Value<'a> {
        match class {
            None => Value::Missing,
            Some(class) => match self.names.get(class) {
                Some(name) if self.numbered => name.parse().map_or(Value::Missing, Value::Int),
                Some(name) => Value::Text(name),
                None => Value::Int(i64::try_from(class).unwrap_or(i64::MAX)),
            },
        }
    }
}

/// The place of the largest entry, the first of equal ones; none among NaN.
fn largest(entries: &[f32]) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (i, entry) in entries.iter().enumerate() {
        if entry.is_nan() {
            return None;
        }
        if best.is_none_or(|b| *entry > entries[b]) {
            best = Some(i);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_entry_is_the_class() {
        assert_eq!(largest(&[0.1, 0.7, 0.2]), Some(1));
        assert_eq!(largest(&[0.5, 0.5]), Some(0));
        assert_eq!((largest(&[f32::NAN, 1.0]), largest(&[])), (None, None));
    }
}
