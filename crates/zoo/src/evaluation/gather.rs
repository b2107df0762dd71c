//! Scores of all samples of a set, and whether the model is right about them.

use ndarray::ArrayView1;
use taste_data::{Chunk, Labels};
use taste_detector::{Detector, Engine, Error, Progress, Scorer, Scores, refused};

use super::{Set, Task, Threshold, Truth};

/// What is kept of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Gathered {
    /// Its name.
    pub name: String,
    /// Every score that the detector has, the task-aware one first.
    pub scores: Vec<Column>,
    /// How wrong the model is, where labels are known: 0 or 1 for a classifier, the absolute error for a regressor; NaN
    /// for samples without a label.
    pub errors: Option<Vec<f64>>,
}

/// A score of every sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name: `score` or `novelty`.
    pub name: &'static str,
    /// By sample.
    pub values: Vec<f64>,
    /// Whether each is flagged, where this score decides.
    pub flags: Option<Vec<bool>>,
}

impl Gathered {
    /// How many samples.
    pub(crate) fn len(&self) -> usize {
        self.scores[0].values.len()
    }
}

/// The names of scores.
const SCORE: &str = "score";
const NOVELTY: &str = "novelty";

/// A detector in an engine.
pub(crate) struct Reader<'a> {
    detector: &'a Detector,
    scorer: Scorer,
    task: Task,
    chunk: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        detector: &'a Detector,
        engine: &Engine,
        chunk: usize,
    ) -> Result<Self, Error> {
        let scorer = detector.start_predicting(engine)?;
        Ok(Self { detector, scorer, task: Task::of(detector), chunk })
    }

    pub(crate) fn gather(&self, set: &Set<'_>, progress: &Progress<'_>) -> Result<Gathered, Error> {
        let mut found = Gathered {
            name: set.name.clone(),
            scores: self.columns(),
            errors: (!matches!(set.truth, Truth::Unknown)).then(Vec::new),
        };
        if found.errors.is_some() {
            self.task.check_judged(&set.name)?;
        }
        if let Truth::Given(labels) = set.truth
            && labels.names() != self.detector.classes()
            && !labels.names().is_empty()
        {
            return Err(Error::NoNames {
                labels: labels.name().to_owned(),
                words: labels.names().iter().take(3).cloned().collect(),
            });
        }
        if let (Truth::Given(labels), Some(classes)) = (set.truth, self.task.classes()) {
            check_classes(labels, classes)?;
        }
        let alpha = self.detector.manifest().decision.alpha;
        let take = |chunk: &Chunk, scores: &Scores| -> Result<(), Error> {
            for column in &mut found.scores {
                column.add(scores, alpha);
            }
            if let Some(errors) = &mut found.errors {
                let truth = truth(set, chunk, self.task)?;
                let answers = scores.prediction.iter().flat_map(|p| p.outer_iter());
                errors.extend(answers.zip(truth).map(|(answer, truth)| self.error(&answer, truth)));
            }
            Ok(())
        };
        let rows = self.scorer.each(set.data, self.chunk, progress, take)?;
        if let Truth::Given(labels) = set.truth
            && set.data.place(rows - 1) + 1 == rows
        {
            labels.check_count(rows, set.data.name())?;
        }
        Ok(found)
    }

    /// The scores that the detector has, without values.
    fn columns(&self) -> Vec<Column> {
        let novelty = self.detector.manifest().has_novelty.then_some(NOVELTY);
        let column = |name| Column { name, values: Vec::new(), flags: Some(Vec::new()) };
        std::iter::once(SCORE).chain(novelty).map(column).collect()
    }

    /// How wrong an answer is.
    fn error(&self, answer: &ArrayView1<'_, f32>, truth: f64) -> f64 {
        let finite = answer.iter().all(|v| v.is_finite());
        match self.task {
            _ if truth.is_nan() => f64::NAN,
            Task::Classifier { .. } => {
                let first_largest = answer
                    .iter()
                    .enumerate()
                    .reduce(|best, next| if next.1 > best.1 { next } else { best });
                let right = first_largest.is_some_and(|(k, _)| (k as f64 - truth).abs() < 0.5);
                f64::from(!(right && finite))
            }
            Task::Binary { above } => {
                let limit = match above {
                    Threshold::Half => 0.5,
                    Threshold::Zero => 0.0,
                };
                let answered = f64::from(u8::from(f64::from(answer[0]) > limit));
                f64::from(!((answered - truth).abs() < 0.5 && finite))
            }
            Task::Regressor if finite => (f64::from(answer[0]) - truth).abs(),
            Task::Regressor => f64::INFINITY,
            Task::Several { .. } => f64::NAN,
        }
    }
}

impl Column {
    /// The name that a column can have.
    pub(crate) fn known(name: &str) -> Option<&'static str> {
        [SCORE, NOVELTY].into_iter().find(|known| *known == name)
    }

    fn add(&mut self, scores: &Scores, alpha: Option<f64>) {
        let none = (Vec::new(), Vec::new());
        let (values, p_values) = match (self.name, &scores.novelty) {
            (NOVELTY, Some(novelty)) => (&novelty.score, &novelty.p_value),
            (NOVELTY, None) => (&none.0, &none.1),
            _ => (&scores.score, &scores.p_value),
        };
        self.values.extend(values.iter().map(|&s| f64::from(s)));
        if let (Some(flags), Some(alpha)) = (&mut self.flags, alpha) {
            // What has no p-value is as far out as any. Rounding to single precision is no reason to pass.
            let limit = alpha * (1.0 + 1e-6);
            flags.extend(p_values.iter().map(|&p| p.is_nan() || f64::from(p) <= limit));
        } else if let Some(flags) = &mut self.flags {
            flags.extend(&scores.flag);
        }
    }
}

/// The right answers to the samples of a chunk.
fn truth(set: &Set<'_>, chunk: &Chunk, task: Task) -> Result<Vec<f64>, Error> {
    let Truth::Given(labels) = set.truth else { return own_labels(set, chunk, task) };
    let of = |&index: &usize| labels.values().get(set.data.place(index)).copied();
    let found: Option<Vec<f64>> = chunk.index.iter().map(of).collect();
    found.ok_or_else(|| {
        let (held, name) = (labels.values().len(), set.data.name());
        refused(format!("{}: {held} labels, and {name} has more samples", labels.name()))
    })
}

fn own_labels(set: &Set<'_>, chunk: &Chunk, task: Task) -> Result<Vec<f64>, Error> {
    let name = set.data.name();
    let own = chunk.labels.as_ref();
    let own =
        own.ok_or_else(|| refused(format!("{name}: its samples have no labels of their own")))?;
    if let Some(classes) = task.classes() {
        let fits = |label: i64| usize::try_from(label).is_ok_and(|class| class < classes);
        if let Some(i) = own.iter().position(|&label| !fits(label)) {
            return Err(refused(format!(
                "{name}: sample {} has the label {}, and classes are numbered 0 to {}",
                chunk.index[i],
                own[i],
                classes - 1
            )));
        }
    }
    Ok(own.iter().map(|&label| label as f64).collect())
}

/// Rows may lack a label; those that have one have a class.
fn check_classes(labels: &Labels, classes: usize) -> Result<(), Error> {
    if labels.values().iter().any(|v| v.is_nan()) {
        let known = labels.values().iter().map(|v| if v.is_nan() { 0.0 } else { *v }).collect();
        Labels::new(labels.name(), known).classes(Some(classes))?;
    } else {
        labels.classes(Some(classes))?;
    }
    Ok(())
}
