//! A run from samples to a trained network.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use ndarray::ArrayD;
use taste_data::Samples;
use taste_engine::Backend;
use taste_stein::score::spectrum;

use crate::{
    Augment, Decay, Error, Fitted, Network, Pace, Parameters, Point, Progress, Trained,
    adam::{Update, norm},
    batches::{Batches, weight_seed},
    checkpoint::{Checkpoint, Recipe},
    error::request,
    evaluate::{Effort, evaluate},
    loss::Loss,
    noise::{Diffusion, Noise},
    schedule::Schedule,
    standard::{Standard, Standardized},
    state::State,
    step::{Check, Step},
    table::{Table, Wanted},
};

/// What a network learns.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Goal {
    /// Logits of the samples' labels.
    Classes,
    /// Numbers given for each sample.
    Numbers,
    /// The noise in noisy samples.
    Noise(Noise),
}

/// How a network is trained. Nothing happens before [`Training::run`].
#[derive(Clone)]
pub struct Training<'a> {
    network: &'a Network,
    goal: Goal,
    steps: usize,
    batch: usize,
    rate: f64,
    warm_up: usize,
    decay: Decay,
    weight_decay: f64,
    clip: Option<f64>,
    average: Option<f64>,
    augment: Augment,
    held_out: f64,
    patience: Option<usize>,
    seed: u64,
    backend: Backend,
    threads: usize,
    memory: usize,
    checkpoint: Option<(&'a Path, Duration)>,
    progress: Option<&'a dyn Fn(&Progress)>,
}

/// How many points a loss curve has.
const POINTS: usize = 100;
/// How often progress is told, at least.
const TELL: Duration = Duration::from_millis(500);
/// On the way, held-out samples are judged for a tenth of the time, but at least so many.
const JUDGED: (usize, usize) = (10, 256);
/// How many entries get noise in the last judgement, if need be by drawing several times for each: few would leave more to
/// chance than networks differ by.
const DRAWN: usize = 100_000;
/// A loss that has grown this much does not come back.
const BEYOND: f64 = 1e6;
/// How many entries of held-out samples, and how many samples, stay with the result.
const KEPT: (usize, usize) = (1 << 23, 2000);

impl<'a> Training<'a> {
    fn new(network: &'a Network, goal: Goal) -> Self {
        Self {
            network,
            goal,
            steps: 1000,
            batch: 128,
            rate: 1e-3,
            warm_up: 0,
            decay: Decay::Constant,
            weight_decay: 0.0,
            clip: None,
            average: None,
            augment: Augment::default(),
            held_out: 0.0,
            patience: None,
            seed: 0,
            backend: Backend::default(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory: 4 << 30,
            checkpoint: None,
            progress: None,
        }
    }

    /// A classifier: the network ends in one logit a class, and samples have labels from 0 on. The loss is the
    /// cross-entropy.
    pub fn classifier(network: &'a Network) -> Self {
        Self::new(network, Goal::Classes)
    }

    /// A regressor: [`Training::run_with_targets`] gives the numbers that the network ends in. The loss is the mean
    /// squared error.
    pub fn regressor(network: &'a Network) -> Self {
        Self::new(network, Goal::Numbers)
    }

    /// A score model s(x), by denoising score matching (Vincent 2011): of the samples with normal noise of
    /// deviation `sigma` added. The network ends in the shape of a sample. The loss is the mean of
    /// (σ·s(x + σε) + ε)² over entries.
    pub fn score(network: &'a Network, sigma: f64) -> Self {
        Self::new(network, Goal::Noise(Noise::One(sigma)))
    }

    /// Score models for all deviations of the noise from `low` to `high` in one network, which is told the logarithm of the
    /// deviation ([`Network::with_level`]).
    pub fn score_range(network: &'a Network, low: f64, high: f64) -> Self {
        Self::new(network, Goal::Noise(Noise::Range(low, high)))
    }

    /// A diffusion model ε(x, t) of so many steps (Ho and others 2020). The network is told the step.
    pub fn diffusion(network: &'a Network, diffusion: Diffusion, steps: usize) -> Self {
        Self::new(network, Goal::Noise(Noise::Steps(diffusion, steps)))
    }

    /// How many steps; 1,000 by default.
    #[must_use]
    pub fn steps(mut self, steps: usize) -> Self {
        self.steps = steps;
        self
    }

    /// How many samples a step sees; 128 by default.
    #[must_use]
    pub fn batch(mut self, batch: usize) -> Self {
        self.batch = batch;
        self
    }

    /// The rate of Adam; 0.001 by default.
    #[must_use]
    pub fn rate(mut self, rate: f64) -> Self {
        self.rate = rate;
        self
    }

    /// The rate rises to its full size in this many steps.
    #[must_use]
    pub fn warm_up(mut self, steps: usize) -> Self {
        self.warm_up = steps;
        self
    }

    /// How the rate falls; it stays by default.
    #[must_use]
    pub fn decay(mut self, decay: Decay) -> Self {
        self.decay = decay;
        self
    }

    /// Decoupled weight decay (`AdamW`), of matrices and kernels.
    #[must_use]
    pub fn weight_decay(mut self, decay: f64) -> Self {
        self.weight_decay = decay;
        self
    }

    /// Gradients are scaled down to this norm where theirs is larger.
    #[must_use]
    pub fn clip(mut self, norm: f64) -> Self {
        self.clip = Some(norm);
        self
    }

    /// The result has the exponential moving average of the weights, which keeps this share of itself at each step
    /// (0.999, say; less during the first steps).
    #[must_use]
    pub fn average(mut self, keep: f64) -> Self {
        self.average = Some(keep);
        self
    }

    /// What may happen to images.
    #[must_use]
    pub fn augment(mut self, augment: Augment) -> Self {
        self.augment = augment;
        self
    }

    /// The share of the samples that the network does not learn from; none by default.
    #[must_use]
    pub fn held_out(mut self, share: f64) -> Self {
        self.held_out = share;
        self
    }

    /// Stops when the held-out loss did not fall this many times in a row, and keeps the weights that were best. It
    /// is computed a hundred times in a run, of a part of the held-out samples if they are many.
    #[must_use]
    pub fn patience(mut self, times: usize) -> Self {
        self.patience = Some(times);
        self
    }

    /// What all random numbers depend on.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The engine, and how many threads it uses.
    #[must_use]
    pub fn backend(mut self, backend: Backend, threads: usize) -> Self {
        (self.backend, self.threads) = (backend, threads);
        self
    }

    /// How many bytes of samples may be held in memory; 4 GiB by default.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Keeps the run in a file, so often; where the file is there already, the run goes on from it and ends as it would
    /// have without the interruption.
    #[must_use]
    pub fn checkpoint(mut self, path: &'a Path, every: Duration) -> Self {
        self.checkpoint = Some((path, every));
        self
    }

    /// Called at every point of the curve, of which there are about a hundred, and twice a second.
    #[must_use]
    pub fn progress(mut self, progress: &'a dyn Fn(&Progress)) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Trains on samples: with labels for a classifier.
    pub fn run(&self, samples: &dyn Samples) -> Result<Trained, Error> {
        self.check()?;
        let result = self.network.result_shape()?;
        let wanted = match self.goal {
            Goal::Classes => match result[..] {
                [classes] if classes > 1 => Wanted::Classes(classes),
                _ => {
                    return Err(request(format!(
                        "the network ends in {result:?}, and a classifier in at least two logits"
                    )));
                }
            },
            Goal::Numbers => {
                return Err(request(
                    "a regressor learns from targets: run_with_targets takes them",
                ));
            }
            Goal::Noise(_) if result == self.network.sample_shape() => Wanted::Nothing,
            Goal::Noise(_) => {
                return Err(request(format!(
                    "the network ends in {result:?}, and a score has the shape of a sample, {:?}",
                    self.network.sample_shape()
                )));
            }
        };
        self.train(Table::read(samples, self.network.sample_shape(), &wanted, self.memory)?)
    }

    /// Trains a regressor on samples and their targets: one row for each sample of the data set.
    pub fn run_with_targets(
        &self,
        samples: &dyn Samples,
        targets: &ArrayD<f32>,
    ) -> Result<Trained, Error> {
        self.check()?;
        let result = self.network.result_shape()?;
        if self.goal != Goal::Numbers {
            return Err(request("targets are what a regressor learns from"));
        }
        if targets.shape().get(1..) != Some(&result[..]) || result.len() != 1 {
            return Err(request(format!(
                "targets have shape {:?}, and the network ends in {result:?} for each sample",
                targets.shape()
            )));
        }
        let wanted = Wanted::Numbers(targets);
        self.train(Table::read(samples, self.network.sample_shape(), &wanted, self.memory)?)
    }

    /// Trains on samples brought to mean 0 and deviation 1, which the result takes as they are: every column of a table by
    /// itself, all pixels of pictures alike.
    pub fn run_standardized(&self, samples: &dyn Samples) -> Result<Fitted, Error> {
        let standard = Standard::of(samples)?;
        let seen = Standardized::new(samples, &standard);
        let trained = self.run(&seen)?;
        let spectrum = if self.noise().is_some() { spectrum(&seen)? } else { None };
        Ok(Fitted { standard, trained, spectrum, answers: None })
    }

    /// Trains a regressor on samples and targets that are both brought to mean 0 and deviation 1.
    pub fn run_standardized_with_targets(
        &self,
        samples: &dyn Samples,
        targets: &ArrayD<f32>,
    ) -> Result<Fitted, Error> {
        let (standard, answers) = (Standard::of(samples)?, Standard::of_rows(targets)?);
        let seen = Standardized::new(samples, &standard);
        let trained = self.run_with_targets(&seen, &answers.forth(targets))?;
        Ok(Fitted { standard, trained, spectrum: None, answers: Some(answers) })
    }

    fn check(&self) -> Result<(), Error> {
        let positive = |name: &str, value: f64| {
            if value > 0.0 && value.is_finite() {
                Ok(())
            } else {
                Err(request(format!("{name} must be above 0, but is {value}")))
            }
        };
        positive("the number of steps", self.steps as f64)?;
        positive("the size of a batch", self.batch as f64)?;
        positive("the number of threads", self.threads as f64)?;
        positive("the rate", self.rate)?;
        self.clip.map_or(Ok(()), |clip| positive("the norm to clip at", clip))?;
        let noise = self.noise();
        noise.map_or(Ok(()), Noise::check)?;
        if noise.is_some_and(Noise::has_levels) != self.network.has_level() {
            return Err(request(if self.network.has_level() {
                "the network is told a noise level, and this training has none"
            } else {
                "the network must be told the noise level: with_level"
            }));
        }
        if !(0.0..1.0).contains(&self.held_out) {
            let share = self.held_out;
            return Err(request(format!("the held-out share must be 0 to 1, but is {share}")));
        }
        if self.average.is_some_and(|keep| !(0.0..1.0).contains(&keep)) {
            return Err(request("the average must keep a share of 0 to 1 of itself"));
        }
        if self.patience.is_some() && self.held_out <= 0.0 {
            return Err(request("stopping early needs held-out samples"));
        }
        let images = self.network.sample_shape().len() == 3;
        if !images && !self.augment.is_nothing() {
            return Err(request(
                "samples that are not channels × height × width can't be mirrored or moved",
            ));
        }
        if !(0.0..1.0).contains(&(self.rate * self.weight_decay)) {
            return Err(request("the rate times the weight decay must lie between 0 and 1"));
        }
        Ok(())
    }

    fn noise(&self) -> Option<Noise> {
        match self.goal {
            Goal::Noise(noise) => Some(noise),
            _ => None,
        }
    }

    fn loss(&self) -> Loss {
        match self.goal {
            Goal::Classes => Loss::CrossEntropy,
            Goal::Numbers | Goal::Noise(_) => Loss::Squares,
        }
    }

    /// Whether the held-out loss has not fallen for too long.
    fn is_patient_no_more(&self, state: &State) -> bool {
        self.patience.is_some_and(|times| state.misses >= times)
    }

    /// Everything that the result depends on.
    fn recipe(&self, batches: &Batches) -> Recipe {
        let schedule = (self.rate, self.warm_up, self.decay, self.steps);
        let update = (self.weight_decay, self.clip, self.average);
        let entries = [
            ("network", format!("{:?}", self.network)),
            ("goal", format!("{:?}", self.goal)),
            ("batch", self.batch.to_string()),
            ("rate, warm-up, decay and steps", format!("{schedule:?}")),
            ("weight decay, clipping and average", format!("{update:?}")),
            ("augmentation", format!("{:?}", self.augment)),
            ("held-out share and patience", format!("{:?}", (self.held_out, self.patience))),
            ("seed", self.seed.to_string()),
            ("backend", self.backend.name().to_owned()),
            ("samples", batches.fingerprint()),
        ];
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    fn train(&self, table: Table) -> Result<Trained, Error> {
        let noise = self.noise();
        let classes = self.network.result_shape()?.iter().product();
        let mut batches =
            Batches::new(table, classes, noise, self.augment, self.batch, self.seed, self.held_out);
        let loss = self.loss();
        let mut step = Step::compile(self.network, loss, &self.backend, self.threads)?;
        let mut check = if batches.held_out_len() > 0 {
            Some(Check::compile(self.network, loss, &self.backend, self.threads)?)
        } else {
            None
        };
        let first = self.network.parameters(weight_seed(self.seed))?;
        let mut state = State::new(&first, self.average.is_some());
        let schedule = Schedule {
            rate: self.rate,
            warm_up: self.warm_up,
            decay: self.decay,
            steps: self.steps,
        };
        let mut checkpoint = self
            .checkpoint
            .map(|(path, every)| Checkpoint::new(path, every, self.recipe(&batches)));
        if let Some(kept) = checkpoint.as_ref().map(|c| c.load(&state)).transpose()?.flatten() {
            state = kept;
        }
        let (started, resumed) = (Instant::now(), state.step);
        let mut told = started;
        let mut first_loss = None;
        let every = self.steps.div_ceil(POINTS);
        // A step takes as long as about three judgements of its samples.
        let often =
            Effort { samples: (every * batches.size() * 3 / JUDGED.0).max(JUDGED.1), rounds: 1 };
        let entries: usize = self.network.sample_shape().iter().product();
        let at_last = Effort {
            samples: usize::MAX,
            rounds: DRAWN.div_ceil((batches.held_out_len() * entries).max(1)),
        };
        let tell = |state: &State, point: Point, rate: f64| {
            let elapsed = started.elapsed();
            let done = (state.step - resumed).max(1) as f64;
            let left = elapsed.mul_f64((self.steps - state.step) as f64 / done);
            if let Some(progress) = self.progress {
                progress(&Progress { point, resumed, steps: self.steps, rate, elapsed, left });
            }
        };
        if resumed > 0 && resumed < self.steps && !self.is_patient_no_more(&state) {
            tell(&state, state.now(), schedule.at(resumed));
        }
        while state.step < self.steps && !self.is_patient_no_more(&state) {
            let batch = batches.at(state.step);
            let count = batch.len() as f64;
            let (total, gradients) = step.run(&batch, &state.weights)?;
            let length = norm(&gradients) / count;
            let loss = total / count;
            let first = *first_loss.get_or_insert(loss.max(1e-3));
            if !(length.is_finite() && loss < BEYOND * first) {
                let step = state.step + 1;
                return Err(Error::Diverged { step, loss, rate: self.rate });
            }
            let clipped = self.clip.map_or(1.0, |most| (most / length).min(1.0));
            let rate = schedule.at(state.step);
            let update = Update { rate, decay: self.weight_decay, scale: clipped / count };
            state.update(&gradients, update, self.average.unwrap_or(0.0));
            state.pending = (state.pending.0 + loss, state.pending.1 + 1);
            if state.pending.1 == every || state.step == self.steps {
                let held_out = match &mut check {
                    Some(check) => Some(evaluate(&batches, check, state.result(), noise, often)?),
                    None => None,
                };
                let point = state.note(held_out, self.patience.is_some());
                tell(&state, point, rate);
                told = Instant::now();
            } else if told.elapsed() >= TELL {
                tell(&state, state.now(), rate);
                told = Instant::now();
            }
            if let Some(checkpoint) = checkpoint.as_mut().filter(|c| c.is_due()) {
                checkpoint.save(&state)?;
            }
        }
        if let Some(checkpoint) = &mut checkpoint {
            checkpoint.save(&state)?;
        }
        let (weights, held_out) = match state.best.take() {
            Some((weights, held_out)) => (weights, Some(held_out)),
            None => (state.result().clone(), state.last),
        };
        let held_out = match &mut check {
            Some(check) => Some(evaluate(&batches, check, &weights, noise, at_last)?),
            None => held_out,
        };
        Ok(Trained {
            network: self.network.clone(),
            parameters: Parameters::from_entries(
                weights.into_iter().map(|(name, value)| (name, value.to_f32())).collect(),
            ),
            output: match self.goal {
                Goal::Classes => "logits",
                Goal::Numbers => "output",
                Goal::Noise(Noise::Steps(..)) => "noise",
                Goal::Noise(_) => "score",
            },
            noise,
            curve: state.curve,
            held_out,
            kept: batches.some_held_out(KEPT),
            skipped: batches.skipped(),
            stopped_early: state.step < self.steps,
            pace: Pace {
                resumed,
                steps: state.step,
                batch: batches.size(),
                elapsed: started.elapsed(),
            },
        })
    }
}
