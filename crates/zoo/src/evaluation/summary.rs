//! From gathered scores to what an evaluation says.

use std::collections::BTreeMap;

use taste_detector::{Detector, ErrorModel};
use taste_stats::{quantile::Quantile, rank::Ranked};

use super::{
    Evaluated, GroupReport, ScoreReport, SetReport, Task,
    gather::{Column, Gathered},
    group_of,
};
use crate::{
    METRICS,
    metrics::{Measure, Measured, correlation, share},
};

/// The share of errors on clean samples that are no mistakes of a regressor.
const USUAL: f64 = 0.9;
/// Sets that a correlation needs at least.
const FEWEST_SETS: usize = 3;

pub(crate) fn summarise(detector: &Detector, clean: &Gathered, shifted: &[Gathered]) -> Evaluated {
    let manifest = detector.manifest();
    let model = Task::of(detector);
    let limit = match model {
        Task::Classifier { .. } | Task::Binary { .. } => Some(0.5),
        Task::Regressor => usual_error(clean),
        Task::Several { .. } => None,
    };
    let judge = Judge { model, errors: manifest.errors.as_ref(), limit };
    let count = clean.scores.len();
    Evaluated {
        method: manifest.method.written.clone(),
        alpha: manifest.decision.alpha,
        model,
        mistake_above: limit.filter(|_| model == Task::Regressor),
        scores: (0..count).map(|which| judge.report(which, clean, shifted)).collect(),
    }
}

/// Finite scores at equal steps of their rank.
fn quantiles(scores: &[f64]) -> Vec<f64> {
    let mut finite: Vec<f64> = scores.iter().copied().filter(|s| s.is_finite()).collect();
    finite.sort_unstable_by(f64::total_cmp);
    let (count, most) = (finite.len(), SetReport::QUANTILES);
    if count <= most {
        return finite;
    }
    (0..most).map(|i| finite[i * (count - 1) / (most - 1)]).collect()
}

/// What errors on clean samples stay below in all but a tenth of cases.
fn usual_error(clean: &Gathered) -> Option<f64> {
    let known: Vec<f64> = clean.errors.iter().flatten().copied().filter(|e| !e.is_nan()).collect();
    Quantile::Linear.of(&known, USUAL)
}

struct Judge<'a> {
    model: Task,
    errors: Option<&'a ErrorModel>,
    /// Errors above this are mistakes.
    limit: Option<f64>,
}

impl Judge<'_> {
    fn report(&self, which: usize, clean: &Gathered, shifted: &[Gathered]) -> ScoreReport {
        let sets: Vec<SetReport> =
            shifted.iter().map(|set| self.set(which, set, Some(clean))).collect();
        let mut names: Vec<&str> = sets.iter().filter_map(|s| s.group.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        let group = |name: &str| {
            let own = |s: &SetReport| s.group.as_deref() == Some(name);
            self.group(name, which, &sets, shifted, own)
        };
        ScoreReport {
            score: clean.scores[which].name.to_owned(),
            id: self.set(which, clean, None),
            groups: names.into_iter().map(group).collect(),
            all: self.group("all", which, &sets, shifted, |_| true),
            sets,
        }
    }

    fn set(&self, which: usize, set: &Gathered, clean: Option<&Gathered>) -> SetReport {
        let Column { values, flags, .. } = &set.scores[which];
        let mut metrics = BTreeMap::new();
        if let Some(clean) = clean {
            let ranked = Ranked::new(&clean.scores[which].values, values);
            measure_all(&mut metrics, &ranked, |m| matches!(m, Measure::Separation(..)));
        }
        if let Some(flags) = flags {
            let flagged = flags.iter().filter(|flag| **flag).count();
            put(&mut metrics, "flagged", share(flagged, flags.len()));
        }
        let known = known(set);
        if self.model.classes().is_some() {
            let right = known.iter().filter(|&&i| !self.is_mistake(set, i)).count();
            put(&mut metrics, "accuracy", share(right, known.len()));
        }
        if let Some(ranked) = self.failures(which, &[set]) {
            measure_all(&mut metrics, &ranked, |m| matches!(m, Measure::Failure(..)));
        }
        SetReport {
            name: set.name.clone(),
            group: group_of(&set.name).filter(|_| clean.is_some()).map(str::to_owned),
            samples: set.len(),
            not_finite: values.iter().filter(|v| !v.is_finite()).count(),
            labelled: known.len(),
            mean_absolute_error: self.mean_error(set),
            // Errors were learnt by the score.
            estimate: self
                .errors
                .filter(|_| which == 0)
                .and_then(|errors| errors.estimate(values.iter().copied())),
            metrics,
            quantiles: quantiles(values),
        }
    }

    fn group(
        &self,
        name: &str,
        which: usize,
        sets: &[SetReport],
        gathered: &[Gathered],
        own: impl Fn(&SetReport) -> bool,
    ) -> GroupReport {
        let (sets, gathered): (Vec<&SetReport>, Vec<&Gathered>) =
            sets.iter().zip(gathered).filter(|(set, _)| own(set)).unzip();
        let mut means = BTreeMap::new();
        for metric in METRICS {
            let values = sets.iter().filter_map(|set| set.value(metric.choice.name));
            if let Some(mean) = mean(values) {
                means.insert(metric.choice.name, mean);
            }
        }
        let mut pooled = BTreeMap::new();
        if let Some(ranked) = self.failures(which, &gathered) {
            measure_all(&mut pooled, &ranked, |m| matches!(m, Measure::Failure(..)));
        }
        put(&mut pooled, "task-awareness", self.awareness(&sets));
        GroupReport {
            name: name.to_owned(),
            sets: sets.len(),
            means,
            mean_absolute_error: mean(sets.iter().filter_map(|set| set.mean_absolute_error)),
            labelled: sets.iter().map(|set| set.labelled).sum(),
            pooled,
        }
    }

    /// The rank correlation of AUROC with what the shift costs: accuracy lost or error gained.
    fn awareness(&self, sets: &[&SetReport]) -> Option<Measured> {
        let pair = |set: &&SetReport| {
            let cost = match self.model {
                Task::Classifier { .. } | Task::Binary { .. } => -set.value("accuracy")?,
                Task::Regressor => set.mean_absolute_error?,
                Task::Several { .. } => return None,
            };
            Some((set.value("auroc")?, cost))
        };
        let (areas, costs): (Vec<f64>, Vec<f64>) = sets.iter().filter_map(pair).unzip();
        if areas.len() < FEWEST_SETS { None } else { correlation(&areas, &costs) }
    }

    /// Scores of the samples with a label, the model's mistakes positive.
    fn failures(&self, which: usize, sets: &[&Gathered]) -> Option<Ranked> {
        self.limit?;
        let (mut scores, mut wrong) = (Vec::new(), Vec::new());
        for set in sets {
            for i in known(set) {
                scores.push(set.scores[which].values[i]);
                wrong.push(self.is_mistake(set, i));
            }
        }
        (!scores.is_empty()).then(|| Ranked::of(&scores, &wrong))
    }

    fn is_mistake(&self, set: &Gathered, sample: usize) -> bool {
        let error = set.errors.as_ref().map(|errors| errors[sample]);
        error.zip(self.limit).is_some_and(|(error, limit)| error > limit)
    }

    fn mean_error(&self, set: &Gathered) -> Option<f64> {
        let errors = set.errors.as_ref().filter(|_| self.model == Task::Regressor)?;
        mean(errors.iter().copied().filter(|e| !e.is_nan()))
    }
}

/// The samples that have a label.
fn known(set: &Gathered) -> Vec<usize> {
    let labelled = |(i, error): (usize, &f64)| (!error.is_nan()).then_some(i);
    set.errors.iter().flatten().enumerate().filter_map(labelled).collect()
}

fn measure_all(
    into: &mut BTreeMap<&'static str, Measured>,
    ranked: &Ranked,
    wanted: impl Fn(&Measure) -> bool,
) {
    for metric in METRICS.iter().filter(|metric| wanted(&metric.measure)) {
        put(into, metric.choice.name, metric.measure(ranked));
    }
}

fn put(into: &mut BTreeMap<&'static str, Measured>, name: &'static str, found: Option<Measured>) {
    if let Some(found) = found {
        into.insert(name, found);
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    (count > 0.0).then(|| sum / count)
}
