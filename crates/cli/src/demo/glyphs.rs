//! The glyphs: a classifier of small images, a detector, and shifts of several kinds.

use std::ops::ControlFlow;

use anyhow::{Context, Result};
use ndarray::Axis;
use taste_data::{InMemory, Samples};
use taste_detector::{
    Detector, Engine, Fit, Named, Scores, Settings, Stage,
    shift::{Batch, Session, Shift, TestSettings, Tested},
};
use taste_engine::{Model, Value};
use taste_train::{Decay, Network, Training};
use taste_zoo::evaluation::{Set, Truth, learn_errors};

use super::{
    Seeds, Size, attack,
    canvas::SIDE,
    change::{Change, Glyphs},
    glyph::Shape,
    judge::Novelty,
    watch::Watch,
};

/// What was found.
pub(super) struct Found {
    pub(super) model: Model,
    pub(super) detector: Detector,
    pub(super) train: Glyphs,
    pub(super) calibration: Glyphs,
    /// How batches were tested.
    pub(super) settings: TestSettings,
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
    pub(super) novelty: Novelty,
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

    /// The accuracy that the detector estimates without labels; none where it can only guess.
    pub(super) fn estimated(&self) -> Option<f64> {
        self.shift().estimate.filter(|found| !found.is_guess()).map(|found| found.value)
    }

    /// The share of samples that are flagged one by one.
    pub(super) fn flagged(&self) -> f64 {
        self.shift().flagged as f64 / self.shift().samples as f64
    }
}

pub(super) fn run(size: &Size, seeds: Seeds, watch: &Watch) -> Result<Found> {
    let train = Change::Nothing.batch(seeds.of("glyphs, training"), size.glyphs);
    let samples = train.samples("glyphs-train.npy");
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
    let calibration = Change::Nothing.batch(seeds.of("glyphs, calibration"), size.calibration);
    let seed = seeds.of("glyphs, detector");
    let detector = detector(&model, &samples, &calibration, seed)?;
    watch.say("scoring shifts of glyphs");
    let settings = TestSettings {
        permutations: size.permutations,
        seed: seeds.of("glyphs, permutations"),
        ..TestSettings::of(&detector)
    };
    let new = |change: Change| change.batch(seeds.of("glyphs, new"), size.batch);
    let rows = rows(new, &model, &detector, &settings)?;
    Ok(Found { model, detector, train, calibration, settings, rows })
}

/// The default method, with maps, and with how often the classifier errs by score.
fn detector(model: &Model, train: &InMemory, calibration: &Glyphs, seed: u64) -> Result<Detector> {
    let held_out = calibration.samples("glyphs-calibration.npy");
    let method = taste_catalog::method("taste", &Named::new())?;
    let mut detector = Fit::new(model, method)
        .settings(Settings { map: Some(true), seed, ..Settings::default() })
        .run(train, Some(&held_out))?;
    let set = Set { name: held_out.name().to_owned(), data: &held_out, truth: Truth::Own };
    let chunk = detector.manifest().model.chunk;
    let go_on = |_: Stage<'_>| ControlFlow::Continue(());
    let errors = learn_errors(&detector, &Engine::default(), chunk, &set, &go_on)?;
    detector.set_errors(errors)?;
    Ok(detector)
}

fn rows(
    new: impl Fn(Change) -> Glyphs,
    model: &Model,
    detector: &Detector,
    settings: &TestSettings,
) -> Result<Vec<Row>> {
    let engine = Engine::default();
    let facts = &detector.manifest().model;
    let session = engine.backend.load(model, &[&facts.output], engine.threads)?;
    let scorer = detector.start(&engine, true)?;
    let mut tests = Session::new(detector, settings.clone())?;
    let mut rows = Vec::new();
    for change in Change::ALL {
        let mut glyphs = new(change);
        if change == Change::Attacked {
            glyphs.images = attack::step(model, &glyphs.images)?;
        }
        let feed = Value::from(glyphs.images.clone());
        let logits = session.run(&[(&facts.input, &feed)])?;
        let logits = logits.first().context("the model gave nothing")?.to_f32();
        let predicted: Vec<usize> =
            logits.axis_iter(Axis(0)).map(|row| largest(row.iter())).collect();
        let scores = scorer.score(glyphs.images.view())?;
        let mut batch = Batch::new(detector, settings.seed);
        batch.add(&glyphs.images.view(), &scores)?;
        tests.test(change.name(), 0, &batch)?;
        let accuracy = accuracy(&predicted, &glyphs.labels);
        rows.push((change, glyphs, predicted, scores, accuracy));
    }
    let tested = tests.finish()?.batches;
    let novelty = Novelty::of(&tested.iter().map(|t| &t.shift).collect::<Vec<_>>(), settings);
    let row = |(((change, glyphs, predicted, scores, accuracy), tested), novelty)| Row {
        change,
        glyphs,
        predicted,
        scores,
        tested,
        novelty,
        accuracy,
    };
    Ok(rows.into_iter().zip(tested).zip(novelty).map(row).collect())
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
