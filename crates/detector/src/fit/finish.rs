//! The end of a fit: the score is known, what is left is its decision and the file.

use taste_engine::{Answer, Batch, Draft, Reading, Scale};
use taste_graph::Id;
use taste_onnx::proto::ModelProto;

use super::fitting::Tally;
use crate::{
    DataFacts, Decision, Described, Detector, Error, FORMAT, Job, Manifest, Method, MethodFacts,
    ModelFacts, PartFacts, Profile, Statistic,
    calibrate::{self, Calibrated},
    decision::{self, Lookup},
    file::Contents,
    health,
    passes::{Sketch, Watch},
};

/// The outputs that every detector has.
const OWN: [&str; 6] = ["score", "p_value", "flag", "novelty", "novelty_p_value", "map"];

/// Samples that lack everything are rare up to this share of alpha: then thresholds can be had without their scores.
const RARE: f64 = 0.2;

/// A score that waits for its calibration.
pub(super) struct Finish {
    pub(super) statistic: Statistic,
    pub(super) watches: Vec<Watch>,
}

impl Finish {
    /// Samples with entries that are no numbers have no score, whatever the method makes of them. Where entries may be
    /// missing, those that lack all of them have none, unless that is common in the data seen so far; and none have those
    /// that lack what no sample lacked so far, where the model takes that as missing rather than fill it in.
    pub(super) fn new(
        job: &mut Job<'_>,
        mut statistic: Statistic,
        seen: &Profile,
    ) -> Result<Self, Error> {
        let parts = statistic.parts.iter().map(|p| p.name.as_str());
        let outputs: Vec<&str> = OWN.into_iter().chain(parts).collect();
        job.draft.reserve(&outputs);
        let (x, shape) = (job.draft.input(), job.draft.sample_shape());
        let filled = job.draft.filled();
        let is_rare = seen.empty as f64 <= RARE * job.settings.alpha * seen.samples as f64;
        let taken = job.draft.taken_as_missing();
        let never: Vec<bool> = if seen.groups.len() == taken.len() {
            taken.iter().zip(&seen.groups).map(|(t, group)| *t && group.missing == 0).collect()
        } else {
            Vec::new()
        };
        let mut b = job.draft.build();
        let mut guard = decision::guard(&mut b, x)?;
        if let Some(fed) = filled.filter(|_| is_rare) {
            let empty = decision::guard_of_empty(&mut b, fed)?;
            guard = b.add(guard, empty)?;
        }
        if let Some(fed) = filled.filter(|_| never.contains(&true)) {
            let lacking = decision::guard_of_missing(&mut b, fed, &never)?;
            guard = b.add(guard, lacking)?;
        }
        statistic.score = decision::guarded(&mut b, statistic.score, guard)?;
        if let Some(novelty) = &mut statistic.novelty {
            *novelty = decision::guarded(&mut b, *novelty, guard)?;
        }
        for part in &mut statistic.parts {
            part.id = decision::guarded(&mut b, part.id, guard)?;
        }
        let watches = calibrate::watches(&mut b, &statistic, &shape, job.settings)?;
        Ok(Self { statistic, watches })
    }

    /// The detector.
    pub(super) fn detector(
        self,
        job: &mut Job<'_>,
        method: &dyn Method,
        (train, calibration): (&Described, Option<&Described>),
        tally: &Tally,
        (profile, training): (Profile, Sketch),
        calibrated: Calibrated,
    ) -> Result<Detector, Error> {
        let statistic = self.statistic;
        let prediction = prediction_name(&job.draft, &statistic);
        let own = (prediction.clone(), own_answer(&mut job.draft)?);
        let Decided { outputs, graph, lookup, novelty } =
            Decided::new(&mut job.draft, &statistic, &calibrated, own)?;
        let mut findings = statistic.findings;
        findings.extend(health::findings(&health::Evidence {
            fitted: tally.fitted,
            left_out: tally.left_out,
            tails: tally.tails,
            bad_inputs: tally.bad_inputs,
            bad_values: tally.bad_values,
            calibrated: &calibrated,
            calibration_given: calibration.is_some(),
            in_training: tally.in_training,
        }));
        let settings = job.settings;
        let shape = job.draft.sample_shape();
        let (threshold, novelty_threshold) =
            calibrated.thresholds(settings).map_err(|e| because(e, train, &shape, &profile))?;
        let manifest = Manifest {
            format: FORMAT,
            taste: env!("CARGO_PKG_VERSION").to_owned(),
            model: model_facts(job, prediction, &outputs),
            method: MethodFacts {
                name: method.name().to_owned(),
                written: method.written(),
                options: method.options(),
                facts: statistic.facts,
            },
            settings: settings.clone(),
            data: data_facts((train, calibration), tally, profile, &calibrated),
            parts: statistic.parts.into_iter().map(PartFacts::from).collect(),
            decision: Decision {
                goal: settings.goal,
                alpha: Some(settings.alpha),
                rule: settings.rule.to_string(),
                threshold,
                novelty_threshold,
                tolerance: f64::from(calibrated.tolerance),
            },
            map: calibrated.map_facts(settings)?,
            errors: None,
            has_novelty: statistic.novelty.is_some(),
            rows: statistic.rows,
            findings,
        };
        Detector::assemble(
            graph,
            Contents {
                manifest,
                calibration: lookup.scores(),
                novelty: novelty.map(|l| l.scores()),
                reference: calibrated.reference,
                margins: calibrated.margins,
                training: settings.may_keep_rows.then_some(training),
                maps: calibrated.maps.map(|m| m.0),
            },
        )
    }
}

/// What was read, and how it was divided.
fn data_facts(
    (train, calibration): (&Described, Option<&Described>),
    tally: &Tally,
    profile: Profile,
    calibrated: &Calibrated,
) -> DataFacts {
    DataFacts {
        train: train.name.clone(),
        calibration: calibration.map(|c| c.name.clone()),
        reading: taste_data::Options { sample_shape: None, ..train.reading.clone() },
        columns: train.columns.clone(),
        fitted: tally.fitted,
        left_out: tally.left_out,
        tails: tally.tails,
        calibrated: calibrated.scores.len(),
        not_finite: tally.bad_inputs + tally.bad_values + calibrated.not_finite,
        profile: Some(profile),
    }
}

/// A threshold that can't be had as entries are missing.
fn because(error: Error, train: &Described, shape: &[usize], profile: &Profile) -> Error {
    let entries = profile.missing(shape, train.columns.as_deref());
    match error {
        Error::Stats(problem) if !entries.is_empty() => {
            let (data, samples) = (train.name.clone(), profile.samples);
            Error::Missing { problem, data, entries, samples }
        }
        other => other,
    }
}

/// A graph with its decision.
pub(crate) struct Decided {
    pub(crate) outputs: Vec<(String, Id)>,
    pub(crate) graph: ModelProto,
    pub(crate) lookup: Lookup,
    pub(crate) novelty: Option<Lookup>,
}

impl Decided {
    /// Adds p-values and flag, and writes the graph with all outputs.
    pub(crate) fn new(
        draft: &mut Draft,
        statistic: &Statistic,
        calibrated: &Calibrated,
        prediction: (String, Id),
    ) -> Result<Self, Error> {
        let lookup = Lookup::new(&calibrated.scores);
        let novelty = calibrated.novelty.as_deref().map(Lookup::new);
        let mut b = draft.build();
        let p_value = lookup.p_value(&mut b, decision::SCORE, statistic.score)?;
        let flag = decision::flag(&mut b, statistic.score, statistic.novelty)?;
        let novelty_p_value = match (&novelty, statistic.novelty) {
            (Some(lookup), Some(id)) => Some(lookup.p_value(&mut b, decision::NOVELTY, id)?),
            _ => None,
        };
        let mut outputs = vec![
            ("score".to_owned(), statistic.score),
            ("p_value".to_owned(), p_value),
            ("flag".to_owned(), flag),
        ];
        outputs.extend(statistic.novelty.map(|id| ("novelty".to_owned(), id)));
        outputs.extend(novelty_p_value.map(|id| ("novelty_p_value".to_owned(), id)));
        outputs.extend(statistic.parts.iter().map(|p| (p.name.clone(), p.id)));
        outputs.extend(statistic.map.as_ref().map(|m| ("map".to_owned(), m.id)));
        outputs.push(prediction);
        let graph = draft.graph().to_onnx(&outputs)?;
        Ok(Self { outputs, graph, lookup, novelty })
    }
}

/// What the model answers; nothing where it does not know an id.
fn own_answer(draft: &mut Draft) -> Result<Id, Error> {
    let output = draft.output();
    let Some((fed, entries)) = draft.ids() else { return Ok(output) };
    let entries = entries.to_vec();
    let mut b = draft.build();
    let guard = decision::guard_of_missing(&mut b, fed, &entries)?;
    Ok(decision::guarded(&mut b, output, guard)?)
}

/// The model's own output, under its name unless that is one of ours.
fn prediction_name(draft: &Draft, statistic: &Statistic) -> String {
    let name = draft.output_name();
    let taken = |name: &str| {
        OWN.contains(&name)
            || statistic.parts.iter().any(|p| p.name == name)
            || draft.inputs().iter().any(|input| input == name)
    };
    if taken(name) { format!("model_{name}") } else { name.to_owned() }
}

/// The entries of a sample that are whole numbers to the model.
fn whole_columns(draft: &Draft) -> Vec<usize> {
    let each = draft.parts().iter().flat_map(|p| std::iter::repeat_n(p.is_whole, p.width));
    each.enumerate().filter(|(_, whole)| *whole).map(|(place, _)| place).collect()
}

fn model_facts(job: &Job<'_>, prediction: String, outputs: &[(String, Id)]) -> ModelFacts {
    let draft = &job.draft;
    let Reading { answer, scale } = draft.reading();
    let (answer, scale) = match (answer, scale) {
        (Answer::Binary, Scale::Logits) => ("binary logit", "logits"),
        (Answer::Numbers, _) => (answer.name(), "numbers"),
        (_, Scale::Logits) => (answer.name(), "logits"),
        (_, Scale::Probabilities) => (answer.name(), "probabilities"),
    };
    ModelFacts {
        file: job.model.name().to_owned(),
        sha256: job.model.onnx().sha256().unwrap_or_default(),
        input: draft.input_name().to_owned(),
        inputs: if draft.parts().is_empty() { Vec::new() } else { draft.inputs() },
        whole: whole_columns(draft),
        output: draft.output_name().to_owned(),
        prediction,
        sample_shape: draft.sample_shape(),
        batch: match draft.batch() {
            Batch::Open => None,
            Batch::Fixed(rows) => Some(rows),
        },
        outputs: draft.entries(),
        answer: answer.to_owned(),
        scale: scale.to_owned(),
        taken_for: draft.taken_for(),
        chunk: job.settings.batch.unwrap_or_else(|| draft.chunk(outputs)),
    }
}
