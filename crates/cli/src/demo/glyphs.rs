//! The glyphs: a classifier of small images, a detector, and shifts of several kinds.

use anyhow::{Context, Result};
use ndarray::{ArrayD, Axis};
use taste_data::InMemory;
use taste_detector::{
    Detector, Engine, Fit, Named, Scores, Settings,
    shift::{Batch, Session, Shift, TestSettings, Tested},
};
use taste_engine::{Model, Value};
use taste_train::{Decay, Network, Training};

use super::{
    Seeds, Size,
    canvas::SIDE,
    change::{Change, Glyphs},
    glyph::Shape,
    judge::LEAST_EFFECT,
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
    pub(super) tested: Tested,
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

    /// The false-positive rate that was asked for.
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
    /// What the test of the batch says.
    pub(super) fn shift(&self) -> &Shift {
        &self.tested.shift
    }

    /// The share of samples that are flagged one by one.
    pub(super) fn flagged(&self) -> f64 {
        self.shift().flagged as f64 / self.shift().samples as f64
    }
}

pub(super) fn run(size: &Size, seeds: Seeds, watch: &Watch) -> Result<Found> {
    let train = Change::Nothing.batch(seeds.of("glyphs, training"), size.glyphs);
    let labels = train.labels.iter().flatten().map(|&label| label as i64).collect();
    let samples = InMemory::new("glyphs-train.npy", train.images.clone()).with_labels(labels);
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
    let calibration = InMemory::new("glyphs-calibration.npy", held_out.images.clone());
    let method = taste_catalog::method("stein", &Named::new().with("score-model", SCORE))?;
    let seed = seeds.of("glyphs, detector");
    let detector = Fit::new(&model, method)
        .settings(Settings { map: Some(true), seed, ..Settings::default() })
        .run(&samples, Some(&calibration))?;
    watch.say("scoring shifts of glyphs");
    let rows = rows(size, seeds, &model, &detector)?;
    Ok(Found { model, detector, train: train.images, calibration: held_out.images, rows })
}

fn rows(size: &Size, seeds: Seeds, model: &Model, detector: &Detector) -> Result<Vec<Row>> {
    let engine = Engine::default();
    let facts = &detector.manifest().model;
    let session = engine.backend.load(model, &[&facts.output], engine.threads)?;
    let scorer = detector.start(&engine, true)?;
    let seed = seeds.of("glyphs, permutations");
    let mut tests = Session::new(
        detector,
        TestSettings {
            permutations: size.permutations,
            least_effect: LEAST_EFFECT,
            seed,
            ..TestSettings::of(detector)
        },
    )?;
    let mut rows = Vec::new();
    for change in Change::ALL {
        let glyphs = change.batch(seeds.of("glyphs, new"), size.batch);
        let feed = Value::from(glyphs.images.clone());
        let logits = session.run(&[(&facts.input, &feed)])?;
        let logits = logits.first().context("the model gave nothing")?.to_f32();
        let predicted: Vec<usize> =
            logits.axis_iter(Axis(0)).map(|row| largest(row.iter())).collect();
        let scores = scorer.score(glyphs.images.view())?;
        let mut batch = Batch::new(detector, seed);
        batch.add(&glyphs.images.view(), &scores)?;
        tests.test(change.name(), 0, &batch)?;
        let accuracy = accuracy(&predicted, &glyphs.labels);
        rows.push((change, glyphs, predicted, scores, accuracy));
    }
    let row = |((change, glyphs, predicted, scores, accuracy), tested)| Row {
        change,
        glyphs,
        predicted,
        scores,
        tested,
        accuracy,
    };
    Ok(rows.into_iter().zip(tests.finish().batches).map(row).collect())
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
