//! The paper's digits on 64 × 64 pixels: its classifier and its score network, given or trained here.

use std::{path::PathBuf, time::Duration};

use taste_data::{Dataset, Options, Part, Samples};
use taste_engine::Model;
use taste_train::{Augment, Network, Training, networks};

use crate::{Error, Run, Wanted};

pub(super) const TRAIN: &str = "mnist/train-images-idx3-ubyte.gz";
pub(super) const TEST: &str = "mnist/t10k-images-idx3-ubyte.gz";
pub(super) const DATA: [Wanted; 2] = [
    Wanted::needed(TRAIN, "training digits of MNIST with their labels"),
    Wanted::needed(TEST, "test digits of MNIST with their labels"),
];
pub(super) const CLASSIFIER: &str = "paper-mnist.onnx";
pub(super) const SCORE: &str = "paper-score.onnx";
pub(super) const MODELS: [Wanted; 2] = [
    Wanted::optional(CLASSIFIER, "the paper's classifier of digits of 64 × 64 pixels"),
    Wanted::optional(SCORE, "the paper's score network for digits of 64 × 64 pixels"),
];
/// Pixels on a side.
const SIDE: usize = 64;
/// The noise of the score network, in standard deviations of pixels.
const SIGMA: f64 = 0.2;
/// The share of training digits that networks learn from; the rest gives baselines and thresholds.
const LEARNT: f64 = 0.9;
const EVERY: Duration = Duration::from_mins(1);

/// Digits and the networks that look at them.
pub(super) struct Digits {
    pub(super) train: Dataset,
    pub(super) model: Model,
    /// Where the score network lies.
    pub(super) score: PathBuf,
    /// How the networks came about.
    pub(super) origin: String,
}

/// How digits are read.
pub(super) fn options() -> Options {
    Options {
        sample_shape: Some(vec![1, SIDE, SIDE]),
        pad: Some((SIDE, SIDE)),
        labels: true,
        ..Options::default()
    }
}

/// How many steps the networks are trained for: the classifier, the score network.
fn steps(run: &Run<'_>) -> [usize; 2] {
    run.pick([1000, 1000], [300, 150], [30, 20])
}

impl Digits {
    /// Opens the digits, and trains what no folder has.
    pub(super) fn open(run: &Run<'_>) -> Result<Self, Error> {
        let train = Dataset::open(&run.data_path(TRAIN)?, &options())?;
        let given = [CLASSIFIER, SCORE].map(|name| run.model_if(name));
        let [classifier_steps, score_steps] = steps(run);
        let words = |given: bool, steps: usize| {
            if given { "given".to_owned() } else { format!("trained here, {steps} steps of 32") }
        };
        let origin = format!(
            "classifier {}; score network {}, noise {SIGMA} standard deviations",
            words(given[0].is_some(), classifier_steps),
            words(given[1].is_some(), score_steps)
        );
        let [classifier, score] = given;
        let classifier = match classifier {
            Some(path) => path,
            None => train_classifier(run, &train, classifier_steps)?,
        };
        let score = match score {
            Some(path) => path,
            None => train_score(run, &train, score_steps)?,
        };
        Ok(Self { train, model: Model::open(&classifier)?, score, origin })
    }

    /// Digits that the networks have learnt from.
    pub(super) fn learnt(&self, run: &Run<'_>) -> Part<'_> {
        Part::new(&self.train, split(run), 0.0, LEARNT)
    }

    /// Digits that no network here has learnt from.
    pub(super) fn held_out(&self, run: &Run<'_>) -> Part<'_> {
        Part::new(&self.train, split(run), LEARNT, 1.0)
    }

    /// The score network as the method `stein` takes it.
    pub(super) fn score_model(&self) -> String {
        format!("onnx:{}", self.score.display())
    }
}

/// Up to which number training digits are looked at, so that about `count` of them are held out.
pub(super) fn reach(count: usize) -> usize {
    count * 10
}

/// The seed of the parts that are learnt from and held out. Not that of fits, which divide what they get by the same
/// numbers and would put all of a part on one side.
fn split(run: &Run<'_>) -> u64 {
    run.seed_value() ^ 0x5eed
}

/// The network of the paper, or one that a test has time for.
fn classifier(run: &Run<'_>) -> Network {
    if run.is_least() { networks::small_cnn([1, SIDE, SIDE], 10) } else { networks::paper_digits() }
}

fn train_classifier(run: &Run<'_>, train: &dyn Samples, steps: usize) -> Result<PathBuf, Error> {
    let network = classifier(run);
    let facts = (steps, run.effort_name(), train.len()?);
    run.file("digits-classifier", "training of the classifier", &facts, |path| {
        let (watch, checkpoint) = (run.training("steps"), path.with_extension("checkpoint"));
        let engine = run.engine_used();
        let trained = Training::classifier(&network)
            .steps(steps)
            .batch(32)
            .rate(0.001)
            .held_out(0.002)
            .augment(Augment { flip: false, shift: 2 })
            .seed(run.seed_value())
            .backend(engine.backend.clone(), engine.threads)
            .checkpoint(&checkpoint, EVERY)
            .progress(&watch)
            .run_standardized(&Part::new(train, split(run), 0.0, LEARNT))?;
        Ok(trained.model()?.onnx().save(path)?)
    })
}

fn train_score(run: &Run<'_>, train: &dyn Samples, steps: usize) -> Result<PathBuf, Error> {
    let network = networks::paper_score([1, SIDE, SIDE]);
    let facts = (steps, run.effort_name(), train.len()?, SIGMA.to_bits());
    run.file("digits-score", "training of the score network", &facts, |path| {
        let (watch, checkpoint) = (run.training("steps"), path.with_extension("checkpoint"));
        let engine = run.engine_used();
        let fitted = Training::score(&network, SIGMA)
            .steps(steps)
            .batch(run.pick(32, 32, 8))
            .rate(0.002)
            .held_out(0.01)
            .seed(run.seed_value())
            .backend(engine.backend.clone(), engine.threads)
            .checkpoint(&checkpoint, EVERY)
            .progress(&watch)
            .run_standardized(&Part::new(train, split(run), 0.0, LEARNT))?;
        let mut onnx = fitted.model()?.onnx().clone();
        if let Some(card) = fitted.card(false, &[], &[])? {
            card.put(&mut onnx)?;
        }
        Ok(onnx.save(path)?)
    })
}
