//! What the last samples were like, beside the calibration samples: by term of the score, by class, by column.

use std::{collections::VecDeque, ops::RangeInclusive};

use ndarray::{ArrayD, Axis};
use taste_detector::{Detector, Role, Scores};
use taste_monitor::Reason;

/// How many samples the window holds.
pub(crate) const WINDOW: usize = 1000;
/// No more entries of samples are looked at than so many.
const MOST_COLUMNS: usize = 512;
/// Errors of a mean that chance hardly ever makes, also among many columns.
const CHANCE: f64 = 4.0;

/// A value of calibration samples.
#[derive(Clone, Debug)]
struct Usual {
    name: String,
    mean: f64,
    deviation: f64,
}

/// One sample.
#[derive(Clone, Debug)]
struct Row {
    /// Its number in the stream.
    number: u64,
    score: f32,
    class: Option<usize>,
    terms: Vec<f32>,
    columns: Vec<f32>,
}

/// The window.
#[derive(Debug)]
pub(crate) struct Recent {
    /// The score on calibration samples.
    score: Usual,
    /// The terms that add up to the score, each by its part and column.
    terms: Vec<(String, usize, Usual)>,
    /// The columns of a table.
    columns: Vec<Usual>,
    classes: Vec<String>,
    rows: VecDeque<Row>,
}

/// How far something moved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Effect {
    pub(crate) name: String,
    /// In standard deviations of calibration samples.
    pub(crate) deviations: f64,
    /// Samples that it rests on.
    pub(crate) samples: usize,
}

fn usual(name: &str, values: impl Iterator<Item = f32>) -> Usual {
    let finite: Vec<f64> = values.filter(|v| v.is_finite()).map(f64::from).collect();
    let n = finite.len().max(1) as f64;
    let mean = finite.iter().sum::<f64>() / n;
    let deviation = (finite.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
    Usual { name: name.to_owned(), mean, deviation }
}

impl Usual {
    fn effect(&self, values: impl Iterator<Item = f32>) -> Effect {
        let finite: Vec<f64> = values.filter(|v| v.is_finite()).map(f64::from).collect();
        let mean = finite.iter().sum::<f64>() / finite.len().max(1) as f64;
        let moved = if finite.is_empty() { 0.0 } else { mean - self.mean };
        let deviations = if moved == 0.0 { 0.0 } else { moved / self.deviation };
        Effect { name: self.name.clone(), deviations, samples: finite.len() }
    }
}

impl Recent {
    pub(crate) fn new(detector: &Detector) -> Self {
        let manifest = detector.manifest();
        let reference = &detector.reference().rows;
        let mut terms = Vec::new();
        let mut at = 0;
        for part in &manifest.parts {
            for (column, name) in part.columns.iter().enumerate() {
                if part.role == Role::Evidence && at + column < reference.ncols() {
                    let values = reference.column(at + column);
                    terms.push((part.name.clone(), column, usual(name, values.iter().copied())));
                }
            }
            at += part.columns.len();
        }
        let columns = match (detector.margins(), &manifest.data.columns) {
            (Some(margins), Some(names)) if names.len() <= MOST_COLUMNS => margins
                .sorted
                .outer_iter()
                .zip(names)
                .map(|(values, name)| usual(name, values.iter().copied()))
                .collect(),
            _ => Vec::new(),
        };
        let classes = if matches!(manifest.model.answer.as_str(), "classes" | "labels") {
            let named = |k: usize| detector.classes().get(k).cloned();
            (0..manifest.model.outputs.min(MOST_COLUMNS))
                .map(|k| named(k).unwrap_or_else(|| format!("class {k}")))
                .collect()
        } else {
            Vec::new()
        };
        let score = usual("score", detector.calibration().iter().copied());
        Self { score, terms, columns, classes, rows: VecDeque::new() }
    }

    /// Adds samples that were counted from a number on. The window is wider than it should be until it is [shortened].
    ///
    /// [shortened]: Self::shorten
    pub(crate) fn add(&mut self, first: u64, scores: &Scores, samples: &ArrayD<f32>) {
        for i in 0..scores.len() {
            let term = |(part, column, _): &(String, usize, Usual)| {
                scores.part(part).and_then(|p| p.get([i, *column])).copied().unwrap_or(f32::NAN)
            };
            let sample = samples.index_axis(Axis(0), i);
            let columns = if self.columns.is_empty() {
                Vec::new()
            } else {
                sample.iter().copied().take(self.columns.len()).collect()
            };
            let class = scores.prediction.as_ref().filter(|_| !self.classes.is_empty()).map(|p| {
                let best = p.row(i).iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
                best.map_or(0, |b| b.0)
            });
            let terms = self.terms.iter().map(term).collect();
            let (number, score) = (first + i as u64, scores.score[i]);
            self.rows.push_back(Row { number, score, class, terms, columns });
        }
    }

    /// Leaves the last samples alone: once it was told what those behind an alarm differ in, which may be older.
    pub(crate) fn shorten(&mut self) {
        let over = self.rows.len().saturating_sub(WINDOW);
        self.rows.drain(..over);
    }

    /// The scores in the window.
    pub(crate) fn scores(&self) -> Vec<f64> {
        self.rows.iter().map(|row| f64::from(row.score)).collect()
    }

    /// How far each term of the score moved.
    pub(crate) fn terms(&self) -> Vec<Effect> {
        self.terms_among(0..=u64::MAX)
    }

    fn terms_among(&self, numbers: RangeInclusive<u64>) -> Vec<Effect> {
        let rows = || self.rows.iter().filter(|row| numbers.contains(&row.number));
        let one = |(at, term): (usize, &(String, usize, Usual))| {
            term.2.effect(rows().map(|row| row.terms[at]))
        };
        self.terms.iter().enumerate().map(one).collect()
    }

    /// How far the score moved among samples that the model takes for each class.
    pub(crate) fn classes(&self) -> Vec<Effect> {
        let one = |(class, name): (usize, &String)| {
            let own = self.rows.iter().filter(|row| row.class == Some(class));
            Effect { name: name.clone(), ..self.score.effect(own.map(|row| row.score)) }
        };
        self.classes.iter().enumerate().map(one).filter(|effect| effect.samples > 0).collect()
    }

    /// How far the mean of each column moved.
    pub(crate) fn columns(&self) -> Vec<Effect> {
        self.columns_among(0..=u64::MAX)
    }

    fn columns_among(&self, numbers: RangeInclusive<u64>) -> Vec<Effect> {
        let rows = || self.rows.iter().filter(|row| numbers.contains(&row.number));
        let one = |(at, column): (usize, &Usual)| column.effect(rows().map(|row| row.columns[at]));
        self.columns.iter().enumerate().map(one).collect()
    }

    /// What samples in the window differ in most: terms that raise the score, and columns by more than chance explains.
    pub(crate) fn reasons(&self, numbers: RangeInclusive<u64>) -> Vec<Reason> {
        let mut effects = self.terms_among(numbers.clone());
        effects.retain(|e| e.deviations > 0.0);
        let mut columns = self.columns_among(numbers);
        columns.retain(|e| e.deviations.abs() * (e.samples as f64).sqrt() > CHANCE);
        effects.append(&mut columns);
        effects.retain(|e| e.deviations.is_finite() && e.samples > 0);
        effects.sort_by(|a, b| b.deviations.abs().total_cmp(&a.deviations.abs()));
        effects.truncate(5);
        effects.into_iter().map(|e| Reason { name: e.name, effect: e.deviations }).collect()
    }
}
