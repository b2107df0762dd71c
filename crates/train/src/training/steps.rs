//! The steps of a run, what is told and kept on the way, and what is made of it in the end.

use std::time::{Duration, Instant};

use super::{Goal, Training};
use crate::{
    Error, Pace, Parameters, Point, Progress, Trained,
    adam::{Update, norm},
    batches::{Batches, weight_seed},
    checkpoint::{Checkpoint, Recipe},
    evaluate::{Effort, evaluate},
    loss::Loss,
    noise::Noise,
    schedule::Schedule,
    state::State,
    step::{Check, Step},
    table::Table,
};

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

    pub(super) fn train(&self, table: Table) -> Result<Trained, Error> {
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
            None => (state.result().clone(), state.last.take()),
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
