//! The steps of a run, what is reported and kept on the way, and what is made of it in the end.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use super::{Goal, Training};
use crate::{
    Error, HeldOut, Pace, Parameters, Point, Progress, Trained,
    adam::{Update, norm},
    batches::{Batches, weight_seed},
    checkpoint::{Checkpoint, Recipe},
    evaluate::{Effort, evaluate},
    loss::Loss,
    noise::Noise,
    schedule::Schedule,
    state::{State, Weights},
    step::{Check, Step},
    table::Table,
};

/// How many points a loss curve has.
const POINTS: usize = 100;
/// How often progress is reported, at least.
const REPORT: Duration = Duration::from_millis(500);
/// On the way, held-out samples are evaluated for a tenth of the time, but at least so many.
const EVALUATED: (usize, usize) = (10, 256);
/// How many entries get noise in the last evaluation, if need be by drawing several times for each: few would leave
/// more to chance than networks differ by.
const DRAWN: usize = 100_000;
/// A loss that has grown this much does not come back.
const BEYOND: f64 = 1e6;
/// How many entries of held-out samples, and how many samples, stay with the result.
const KEPT: (usize, usize) = (1 << 23, 2000);

impl Training<'_> {
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
            ("first weights", self.start.map_or_else(String::new, Parameters::fingerprint)),
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

    fn schedule(&self) -> Schedule {
        let Self { rate, warm_up, decay, steps, .. } = *self;
        Schedule { rate, warm_up, decay, steps }
    }

    pub(super) fn train(&self, table: Table) -> Result<Trained, Error> {
        let mut run = Run::start(self, table)?;
        if run.resumed > 0 && run.goes_on() {
            run.report(run.state.now(), self.schedule().at(run.resumed))?;
        }
        while run.goes_on() {
            run.step()?;
        }
        run.keep();
        run.finish()
    }
}

/// A run under way.
struct Run<'r> {
    training: &'r Training<'r>,
    batches: Batches,
    step: Step,
    /// For held-out samples, if there are some.
    check: Option<Check>,
    state: State,
    checkpoint: Option<Checkpoint>,
    /// The loss of the first step of this run.
    first_loss: Option<f64>,
    /// Steps that an earlier run had made.
    resumed: usize,
    started: Instant,
    reported: Instant,
}

impl<'r> Run<'r> {
    /// From the first weights, or from where the checkpoint is.
    fn start(training: &'r Training<'r>, table: Table) -> Result<Self, Error> {
        let Training { network, backend, threads, .. } = training;
        let (noise, loss) = (training.noise(), training.loss());
        let classes = network.result_shape()?.iter().product();
        let Training { augment, batch, seed, held_out, .. } = *training;
        let batches = Batches::new(table, classes, noise, augment, batch, seed, held_out);
        let step = Step::compile(network, loss, backend, *threads)?;
        let check = if batches.held_out_len() > 0 {
            Some(Check::compile(network, loss, backend, *threads)?)
        } else {
            None
        };
        let mut first = network.parameters(weight_seed(seed))?;
        if let Some(start) = training.start {
            first = first.with(start);
        }
        let mut state = State::new(&first, training.average.is_some());
        let checkpoint = training
            .checkpoint
            .map(|(path, every)| Checkpoint::new(path, every, training.recipe(&batches)));
        if let Some(checkpoint) = &checkpoint {
            checkpoint.check_writable()?;
            state = checkpoint.load(&state)?.unwrap_or(state);
        }
        let (started, resumed) = (Instant::now(), state.step);
        Ok(Self {
            training,
            batches,
            step,
            check,
            state,
            checkpoint,
            first_loss: None,
            resumed,
            started,
            reported: started,
        })
    }

    fn goes_on(&self) -> bool {
        self.state.step < self.training.steps && !self.training.is_patient_no_more(&self.state)
    }

    /// Makes a step, and reports and keeps what is due.
    fn step(&mut self) -> Result<(), Error> {
        let training = self.training;
        let batch = self.batches.at(self.state.step);
        let count = batch.len() as f64;
        let (total, gradients) = self.step.run(&batch, &self.state.weights)?;
        let length = norm(&gradients) / count;
        let loss = total / count;
        let first = *self.first_loss.get_or_insert(loss.max(1e-3));
        if !(length.is_finite() && loss < BEYOND * first) {
            let step = self.state.step + 1;
            return Err(Error::Diverged { step, loss, rate: training.rate });
        }
        let clipped = training.clip.map_or(1.0, |most| (most / length).min(1.0));
        let rate = training.schedule().at(self.state.step);
        let update = Update { rate, decay: training.weight_decay, scale: clipped / count };
        let state = &mut self.state;
        state.update(&gradients, update, training.average.unwrap_or(0.0));
        state.pending = (state.pending.0 + loss, state.pending.1 + 1);
        if state.pending.1 == self.every() || self.state.step == training.steps {
            let held_out = self.evaluate_some()?;
            let point = self.state.note(held_out, training.patience.is_some());
            self.report(point, rate)?;
        } else if self.reported.elapsed() >= REPORT {
            self.report(self.state.now(), rate)?;
        }
        if self.checkpoint.as_ref().is_some_and(Checkpoint::is_due) {
            self.keep();
        }
        Ok(())
    }

    /// Steps between two points of the curve.
    fn every(&self) -> usize {
        self.training.steps.div_ceil(POINTS)
    }

    /// How the weights of now do, on a part of the held-out samples.
    fn evaluate_some(&mut self) -> Result<Option<HeldOut>, Error> {
        // A step takes as long as about three evaluations of its samples.
        let samples = (self.every() * self.batches.size() * 3 / EVALUATED.0).max(EVALUATED.1);
        let effort = Effort { samples, rounds: 1 };
        let Some(check) = &mut self.check else { return Ok(None) };
        let weights = self.state.result();
        evaluate(&self.batches, check, weights, self.training.noise(), effort).map(Some)
    }

    /// How the weights at the end do, on all held-out samples.
    fn evaluate_all(&mut self, weights: &Weights) -> Result<Option<HeldOut>, Error> {
        let entries: usize = self.training.network.sample_shape().iter().product();
        let rounds = DRAWN.div_ceil((self.batches.held_out_len() * entries).max(1));
        let effort = Effort { samples: usize::MAX, rounds };
        let Some(check) = &mut self.check else { return Ok(None) };
        evaluate(&self.batches, check, weights, self.training.noise(), effort).map(Some)
    }

    /// Reports where the run stands; if it is to stop, the checkpoint keeps it.
    fn report(&mut self, point: Point, rate: f64) -> Result<(), Error> {
        self.reported = Instant::now();
        let Some(progress) = self.training.progress else { return Ok(()) };
        let (steps, elapsed) = (self.training.steps, self.started.elapsed());
        let done = (self.state.step - self.resumed).max(1) as f64;
        let left = elapsed.mul_f64((steps - self.state.step) as f64 / done);
        let (resumed, unsaved) = (self.resumed, self.unsaved());
        match progress(&Progress { point, resumed, steps, rate, elapsed, left, unsaved }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => {
                self.checkpoint.as_mut().map_or(Ok(()), |kept| kept.save(&self.state))?;
                Err(Error::Cancelled)
            }
        }
    }

    /// Writes the checkpoint, if there is one and it can be written.
    fn keep(&mut self) {
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.try_save(&self.state);
        }
    }

    fn unsaved(&self) -> Option<&str> {
        self.checkpoint.as_ref().and_then(Checkpoint::unsaved)
    }

    fn finish(mut self) -> Result<Trained, Error> {
        let (weights, held_out) = match self.state.best.take() {
            Some((weights, held_out)) => (weights, Some(held_out)),
            None => (self.state.result().clone(), self.state.last.take()),
        };
        let held_out = self.evaluate_all(&weights)?.or(held_out);
        let unsaved = self.unsaved().map(ToOwned::to_owned);
        Ok(Trained {
            unsaved,
            network: self.training.network.clone(),
            parameters: Parameters::from_entries(
                weights.into_iter().map(|(name, value)| (name, value.to_f32())).collect(),
            ),
            output: match self.training.goal {
                Goal::Classes => "logits",
                Goal::Numbers => "output",
                Goal::Noise(Noise::Steps(..)) => "noise",
                Goal::Noise(_) => "score",
            },
            noise: self.training.noise(),
            curve: self.state.curve,
            held_out,
            kept: self.batches.some_held_out(KEPT),
            skipped: self.batches.skipped(),
            stopped_early: self.state.step < self.training.steps,
            pace: Pace {
                resumed: self.resumed,
                steps: self.state.step,
                batch: self.batches.size(),
                elapsed: self.started.elapsed(),
            },
        })
    }
}
