//! What is asked of a run from samples to a trained network.

mod check;
mod steps;

use std::{path::Path, time::Duration};

use ndarray::ArrayD;
use taste_data::Samples;
use taste_engine::Backend;
use taste_stein::fields::spectrum;

use crate::{
    Augment, Decay, Error, Fitted, Network, Parameters, Trained, Watch,
    error::request,
    noise::{Diffusion, Noise},
    standard::Standard,
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
    start: Option<&'a Parameters>,
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
    progress: Option<&'a Watch<'a>>,
}

impl<'a> Training<'a> {
    fn new(network: &'a Network, goal: Goal) -> Self {
        Self {
            network,
            goal,
            start: None,
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
            threads: taste_threads::count(None),
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

    /// Score models for all deviations of the noise from `low` to `high` in one network, conditioned on the logarithm
    /// of the deviation ([`Network::with_level`]).
    pub fn score_range(network: &'a Network, low: f64, high: f64) -> Self {
        Self::new(network, Goal::Noise(Noise::Range(low, high)))
    }

    /// A diffusion model ε(x, t) of so many steps (Ho and others 2020). The network is conditioned on the step.
    pub fn diffusion(network: &'a Network, diffusion: Diffusion, steps: usize) -> Self {
        Self::new(network, Goal::Noise(Noise::Steps(diffusion, steps)))
    }

    /// Starts from these weights, by name; what they do not have is drawn.
    #[must_use]
    pub fn start(mut self, weights: &'a Parameters) -> Self {
        self.start = Some(weights);
        self
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

    /// Called at every point of the curve, of which there are about a hundred, and twice a second. A break stops the
    /// run, which its checkpoint keeps, with [`Error::Cancelled`].
    #[must_use]
    pub fn progress(mut self, progress: &'a Watch<'a>) -> Self {
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
        self.train(Table::read(samples, self.network.sample_shape(), wanted, self.memory)?)
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
        self.train(Table::read(samples, self.network.sample_shape(), wanted, self.memory)?)
    }

    /// Trains on samples as they are, which is how a network that was trained before wants them.
    pub fn run_as_they_are(&self, samples: &dyn Samples) -> Result<Fitted, Error> {
        let trained = self.run(samples)?;
        Ok(Fitted { standard: Standard::none(), trained, spectrum: None, answers: None })
    }

    /// Trains on samples brought to mean 0 and deviation 1, which the result takes as they are: every column of a
    /// table by itself, all pixels of images alike.
    pub fn run_standardized(&self, samples: &dyn Samples) -> Result<Fitted, Error> {
        let standard = Standard::of(samples)?;
        let seen = standard.view(samples);
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
        let seen = standard.view(samples);
        let trained = self.run_with_targets(&seen, &answers.forth(targets))?;
        Ok(Fitted { standard, trained, spectrum: None, answers: Some(answers) })
    }

    fn noise(&self) -> Option<Noise> {
        match self.goal {
            Goal::Noise(noise) => Some(noise),
            _ => None,
        }
    }
}
