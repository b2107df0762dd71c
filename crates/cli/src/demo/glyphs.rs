//! The glyphs: a classifier of small pictures, a detector, and shifts of several kinds.

use anyhow::{Context, Result};
use ndarray::{ArrayD, Axis};
use taste_data::InMemory;
use taste_engine::{Backend, Model, Value};
use taste_stein::{
    Detector, Fit, Scores, score,
    shift::{Batch, Shift},
    stats::multiple::holm,
};
use taste_train::{Decay, Network, Training};

use super::{
    Seeds, Size,
    canvas::SIDE,
    change::{Change, Glyphs},
    glyph::Shape,
    watch::Watch,
};

/// The score model, as for `taste fit`.
pub(super) const SCORE: &str = "gmm:6";

/// What was found.
pub(super) struct Found {
    pub(super) model: Model,
    pub(super) detector: Detector,
    pub(super) train: ArrayD<f32>,
    pub(super) calibration: ArrayD<f32>,
    /// One for every change, in their order.
    pub(super) rows: Vec<Row>,
}

/// A batch that was changed, and what the detector says of it.
pub(super) struct Row {
    pub(super) change: Change,
    pub(super) glyphs: Glyphs,
    pub(super) predicted: Vec<usize>,
    pub(super) scores: Scores,
    pub(super) shift: Shift,
    /// The share of right answers, where there is a right answer.
    pub(super) accuracy: Option<f64>,
}

impl Found {
    /// The accuracy on fresh samples.
    pub(super) fn usual(&self) -> f64 {
        self.row(Change::Nothing).and_then(|row| row.accuracy).unwrap_or(0.0)
    }

    pub(super) fn row(&self, change: Change) -> Option<&Row> {
        self.rows.iter().find(|row| row.change == change)
    }

    /// The share of false alarms that was asked for.
    pub(super) fn alpha(&self) -> f64 {
        self.detector.manifest().decision.alpha.unwrap_or(0.05)
    }

    /// The number of the glyph that is shown under every change: the first square.
    pub(super) fn shown(&self) -> usize {
        let labels = self.row(Change::Nothing).map(|row| &row.glyphs.labels);
        let square = |labels: &Vec<Option<usize>>| {
            labels.iter().position(|&label| label == Shape::Square.label())
        };
        labels.and_then(square).unwrap_or(0)
    }
}

impl Row {
    /// The share of samples that are flagged one by one.
    pub(super) fn flagged(&self) -> f64 {
        self.shift.flagged as f64 / self.shift.samples as f64
    }
}

pub(super) fn run(size: &Size, seeds: Seeds, watch: &Watch) -> Result<Found> {
    let train = Change::Nothing.batch(seeds.of("glyphs, training"), size.glyphs);
    let labels = train.labels.iter().flatten().map(|&label| label as i64).collect();
    let samples = InMemory::new("glyphs-train.npy", train.pictures.clone()).with_labels(labels);
    let network = Network::new(&[1, SIDE, SIDE])
        .conv(8, 3)
        .relu()
        .average_pool(2)
        .conv(16, 3)
        .relu()
        .average_pool(2)
        .flatten()
        .dense(32)
        .relu()
        .dense(Shape::KNOWN.len());
    let trained = watch.training("steps for the glyphs", |progress| {
        Training::classifier(&network)
            .steps(size.glyph_steps)
            .batch(64)
            .rate(3e-3)
            .decay(Decay::Cosine)
            .weight_decay(1e-2)
            .seed(seeds.of("glyphs, network"))
            .progress(progress)
            .run(&samples)
    })?;
    let model = Model::from_onnx("glyphs.onnx", trained.model()?.onnx().clone());
    watch.say("fitting the detector of glyphs");
    let held_out = Change::Nothing.batch(seeds.of("glyphs, calibration"), size.calibration);
    let calibration = InMemory::new("glyphs-calibration.npy", held_out.pictures.clone());
    let detector = Fit::new(&model, score::parse(SCORE)?)
        .map(true)
        .seed(seeds.of("glyphs, detector"))
        .run(&samples, Some(&calibration))?;
    watch.say("scoring shifts of glyphs");
    let rows = rows(size, seeds, &model, &detector)?;
    Ok(Found { model, detector, train: train.pictures, calibration: held_out.pictures, rows })
}

fn rows(size: &Size, seeds: Seeds, model: &Model, detector: &Detector) -> Result<Vec<Row>> {
    let threads = taste_threads::count(None);
    let facts = &detector.manifest().model;
    let session = Backend::default().load(model, &[&facts.output], threads)?;
    let mut scorer = detector.start(&Backend::default(), threads, true)?;
    let mut rows = Vec::new();
    for change in Change::ALL {
        let glyphs = change.batch(seeds.of("glyphs, new"), size.batch);
        let feed = Value::from(glyphs.pictures.clone());
        let logits = session.run(&[(&facts.input, &feed)])?;
        let logits = logits.first().context("the model gave nothing")?.to_f32();
        let predicted: Vec<usize> =
            logits.axis_iter(Axis(0)).map(|row| largest(row.iter())).collect();
        let scores = scorer.score(&glyphs.pictures)?;
        let mut batch = Batch::new(detector, seeds.of("glyphs, permutations"));
        batch.add(&scores)?;
        let shift = batch.test(size.permutations)?;
        let accuracy = accuracy(&predicted, &glyphs.labels);
        rows.push(Row { change, glyphs, predicted, scores, shift, accuracy });
    }
    let raw: Vec<f64> = rows.iter().map(|row| row.shift.p_value).collect();
    for (row, adjusted) in rows.iter_mut().zip(holm(&raw)) {
        row.shift.adjusted_p_value = adjusted;
    }
    Ok(rows)
}

fn largest<'a>(values: impl Iterator<Item = &'a f32>) -> usize {
    values.enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(place, _)| place)
}

fn accuracy(predicted: &[usize], labels: &[Option<usize>]) -> Option<f64> {
    let pairs = predicted.iter().zip(labels).filter_map(|(p, label)| Some((*p, (*label)?)));
    let (right, all) = pairs.fold((0usize, 0usize), |(right, all), (p, label)| {
        (right + usize::from(p == label), all + 1)
    });
    (all > 0).then(|| right as f64 / all as f64)
}
