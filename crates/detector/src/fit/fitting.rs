//! A fit step by step, wherever the data are.

use std::collections::HashMap;

use taste_data::Samples;
use taste_engine::{Model, Request};

use super::{Fit, counting::Given, finish::Finish, look, plan::plan};
use crate::{
    Described, Detector, Error, Job, Profile, Settings, Split, Step,
    calibrate::Calibrated,
    divide::{Division, Share},
    passes::{Gathered, Plan, Sketch, Source, State, Watch},
    refused,
};

/// What a fit needs next.
pub enum Next {
    /// A pass over the data.
    Pass(Plan),
    /// The training samples themselves, as far as their place in 0..1 lies in `from..to`.
    Samples {
        /// From this place on.
        from: f64,
        /// Up to this one.
        to: f64,
    },
    /// Nothing: here it is.
    Done(Box<Detector>),
}

/// How many samples served what.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) fitted: usize,
    pub(super) left_out: usize,
    pub(super) tails: usize,
    pub(super) bad_inputs: usize,
    pub(super) bad_values: usize,
    /// The share of calibration samples that are training samples as well.
    pub(super) in_training: f64,
}

/// Samples that are looked at first, on average.
pub(super) const LOOKED: usize = 64;

enum Phase {
    /// The held-out data are counted.
    Count,
    /// Some samples and outputs are looked at.
    Look(Vec<Watch>),
    /// The method learns.
    Learn(Step),
    /// The score is known, and is calibrated.
    Calibrate(Box<Finish>),
    Done(Box<Detector>),
    /// A step is under way.
    Busy,
}

/// A fit under way.
pub struct Fitting<'f> {
    fit: &'f Fit<'f>,
    train: &'f Described,
    calibration: Option<&'f Described>,
    job: Job<'f>,
    division: Option<Division>,
    /// The training samples that are looked at first.
    looked: Share,
    phase: Phase,
    tally: Tally,
    /// The pass that is under way.
    pass: Option<u64>,
    /// Rows and checksums of the data sets, as the first pass saw them.
    totals: HashMap<&'static str, (u64, u64)>,
    /// The splits that were seen, and what their samples looked like.
    seen: Vec<Split>,
    profile: Profile,
    /// What the training and the calibration data hold, as far as they were seen.
    sketches: [Sketch; 2],
}

impl<'f> Fitting<'f> {
    pub(super) fn new(
        fit: &'f Fit<'f>,
        train: &'f Described,
        calibration: Option<&'f Described>,
    ) -> Result<Self, Error> {
        let asked = request(fit.model, &fit.settings, train);
        let draft = fit.model.draft(&asked)?;
        draft.check_single()?;
        let want = draft.sample_shape();
        for data in [Some(train), calibration].into_iter().flatten() {
            if data.sample_shape != want {
                return Err(refused(format!(
                    "{}: its samples have shape {:?}, and the input {:?} of the model wants {want:?}",
                    data.name,
                    data.sample_shape,
                    draft.input_name()
                )));
            }
        }
        let job = Job {
            model: fit.model,
            draft,
            asked,
            data: train,
            settings: &fit.settings,
            engine: &fit.engine,
            progress: fit.progress,
        };
        let mut fitting = Self {
            fit,
            train,
            calibration,
            job,
            division: None,
            looked: Share::ALL,
            phase: Phase::Count,
            tally: Tally::default(),
            pass: None,
            totals: HashMap::new(),
            seen: Vec::new(),
            profile: Profile::default(),
            sketches: Default::default(),
        };
        if let Some(count) = fitting.held_out().count {
            fitting.divide(count)?;
        }
        Ok(fitting)
    }

    /// The data that calibration samples come from.
    fn held_out(&self) -> &'f Described {
        self.calibration.unwrap_or(self.train)
    }

    fn divide(&mut self, available: usize) -> Result<(), Error> {
        let needs = self.fit.method.needs();
        let apart = self.calibration.is_some();
        let name = &self.held_out().name;
        let division = Division::new(name, available, apart, needs, &self.fit.settings)?;
        self.division = Some(division);
        if self.job.draft.wants_a_look() || self.job.draft.wants_fill() {
            let known = self.train.count.or((!apart).then_some(available));
            self.looked = Share::some(self.fit.settings.seed, LOOKED, known);
            self.phase = Phase::Look(look::watches(&mut self.job.draft, self.fit.settings.seed)?);
            return Ok(());
        }
        self.begin()
    }

    /// The method takes over.
    fn begin(&mut self) -> Result<(), Error> {
        let (needs, draft) = (self.fit.method.needs(), &self.job.draft);
        if needs.classes && !draft.answer().has_classes() {
            return Err(Error::NoClasses {
                method: self.fit.method.name().to_owned(),
                taken_for: draft.taken_for(),
            });
        }
        self.job.asked.reading = Some(draft.reading());
        let step = self.fit.method.begin(&mut self.job)?;
        self.turn(step)
    }

    /// Goes on with a step of the method.
    fn turn(&mut self, step: Step) -> Result<(), Error> {
        let needs = self.fit.method.needs();
        if let Step::Pass { split: Split::Tails, .. } = step
            && !needs.tails
        {
            let name = self.fit.method.name();
            return Err(refused(format!("the method {name} needs tails, and does not say so")));
        }
        self.phase = match step {
            Step::Done(statistic) => {
                let finish = Finish::new(&mut self.job, *statistic, &self.profile)?;
                Phase::Calibrate(Box::new(finish))
            }
            other => Phase::Learn(other),
        };
        Ok(())
    }

    fn share(&self, split: Split) -> Share {
        self.division.map_or(Share::ALL, |d| d.share(split))
    }

    fn source(&self, split: Split) -> Source {
        match (split, self.calibration) {
            (Split::Tails | Split::Calibration, Some(_)) => Source::Calibration,
            _ => Source::Train,
        }
    }

    /// What is needed next.
    #[expect(
        clippy::should_implement_trait,
        reason = "a step can fail, and waits for the last one"
    )]
    pub fn next(&mut self) -> Result<Next, Error> {
        let next = self.find_next()?;
        self.pass = match &next {
            Next::Pass(plan) => Some(plan.id()),
            _ => None,
        };
        Ok(next)
    }

    fn find_next(&mut self) -> Result<Next, Error> {
        let split_plan = |purpose: &str, split, watches: &[_], strict| {
            let (source, share) = (self.source(split), self.share(split));
            plan(&self.job.draft, &self.fit.settings, purpose, source, share, watches, strict)
        };
        match &self.phase {
            Phase::Count => {
                let source = self.source(Split::Calibration);
                Ok(Next::Pass(Plan::count(source, &self.held_out().sample_shape)))
            }
            Phase::Look(watches) => {
                let (draft, settings) = (&self.job.draft, &self.fit.settings);
                let (purpose, source) = ("samples to see what the output holds", Source::Train);
                Ok(Next::Pass(plan(draft, settings, purpose, source, self.looked, watches, true)?))
            }
            Phase::Learn(Step::Pass { purpose, split, watches, .. }) => {
                Ok(Next::Pass(split_plan(purpose, *split, watches, true)?))
            }
            Phase::Learn(Step::Samples { split, .. }) => {
                let (from, to) = self.share(*split).bounds();
                Ok(Next::Samples { from, to })
            }
            Phase::Calibrate(finish) => Ok(Next::Pass(split_plan(
                "calibration samples",
                Split::Calibration,
                &finish.watches,
                false,
            )?)),
            Phase::Done(_) => match std::mem::replace(&mut self.phase, Phase::Busy) {
                Phase::Done(detector) => Ok(Next::Done(detector)),
                _ => Err(over()),
            },
            Phase::Learn(Step::Done(_)) | Phase::Busy => Err(over()),
        }
    }

    /// Takes what a pass gathered of all data.
    pub fn take(&mut self, plan: &Plan, state: State) -> Result<(), Error> {
        if self.pass != Some(plan.id()) {
            return Err(Error::Parts("the plan of another pass".to_owned()));
        }
        let seen = state.finish(plan)?;
        self.check(plan.source(), &seen)?;
        match std::mem::replace(&mut self.phase, Phase::Busy) {
            Phase::Count => self.divide(seen.taken()),
            Phase::Look(_) => {
                if self.job.draft.wants_fill() {
                    self.job.asked.fill = Some(look::typical(&seen)?);
                    self.job.draft = self.fit.model.draft(&self.job.asked)?;
                }
                if let Some(glimpse) = look::glimpse(&seen)
                    && self.job.draft.wants_a_look()
                {
                    self.job.draft.look(glimpse)?;
                }
                self.begin()
            }
            Phase::Learn(Step::Pass { split, then, .. }) => {
                self.count(split, &seen);
                self.notice(split, seen.profile(), seen.sketch())?;
                let step = then(&mut self.job, &seen)?;
                self.turn(step)
            }
            Phase::Calibrate(finish) => {
                self.notice(Split::Calibration, seen.profile(), seen.sketch())?;
                let calibrated = Calibrated::of(&finish.statistic, &seen)?;
                let detector = finish.detector(
                    &mut self.job,
                    &*self.fit.method,
                    (self.train, self.calibration),
                    &self.tally,
                    (self.profile.clone(), self.sketches[0].clone()),
                    calibrated,
                )?;
                self.phase = Phase::Done(Box::new(detector));
                Ok(())
            }
            _ => Err(over()),
        }
    }

    /// Takes what the samples of a split looked like and were; later passes see the same again. Calibration data that are
    /// training data calibrate nothing.
    fn notice(&mut self, split: Split, profile: &Profile, sketch: &Sketch) -> Result<(), Error> {
        // All training data were seen; calibration data may be others.
        let in_all = self.seen.contains(&Split::All) && self.source(split) == Source::Train;
        if in_all || self.seen.contains(&split) || profile.samples == 0 {
            return Ok(());
        }
        self.seen.push(split);
        self.profile.merge(profile);
        self.sketches[usize::from(self.source(split) == Source::Calibration)].merge(sketch);
        let [training, calibration] = &self.sketches;
        self.tally.in_training = calibration.apart_from(training, &self.held_out().name)?;
        Ok(())
    }

    /// Gives the training samples themselves to the method.
    pub fn give(&mut self, samples: &dyn Samples) -> Result<(), Error> {
        match std::mem::replace(&mut self.phase, Phase::Busy) {
            Phase::Learn(Step::Samples { then, .. }) => {
                let step = then(&mut self.job, samples)?;
                self.turn(step)
            }
            _ => Err(over()),
        }
    }

    /// What the samples that were given were like.
    pub(super) fn given(&mut self, samples: &Given) -> Result<(), Error> {
        self.notice(Split::Fit, &samples.profile, &samples.sketch)?;
        let taken = usize::try_from(samples.profile.samples).unwrap_or(usize::MAX);
        self.tally.left_out = samples.not_finite;
        self.tally.fitted = taken - samples.not_finite.min(taken);
        Ok(())
    }

    fn count(&mut self, split: Split, seen: &Gathered) {
        match split {
            Split::Fit | Split::All => {
                self.tally.fitted = self.tally.fitted.max(seen.used());
                self.tally.left_out = self.tally.left_out.max(seen.bad_inputs());
            }
            Split::Tails | Split::Calibration => {
                self.tally.tails = seen.taken();
                self.tally.bad_inputs = seen.bad_inputs();
                self.tally.bad_values = seen.bad_values();
            }
        }
    }

    /// Every pass over a data set must see all of its rows, and the same ones.
    fn check(&mut self, source: Source, seen: &Gathered) -> Result<(), Error> {
        let (name, data) = match source {
            Source::Train => ("training data", self.train),
            Source::Calibration => ("calibration data", self.held_out()),
        };
        let found = seen.offered();
        if let Some(count) = data.count.filter(|&count| count as u64 != found.0) {
            return Err(Error::Parts(format!(
                "a pass saw {} rows of the {name}, which have {count}",
                found.0
            )));
        }
        let first = *self.totals.entry(name).or_insert(found);
        if first == found {
            return Ok(());
        }
        Err(Error::Parts(format!(
            "a pass saw {} rows of the {name}, and an earlier one {}{}",
            found.0,
            first.0,
            if first.0 == found.0 { " others" } else { "" }
        )))
    }
}

impl std::fmt::Debug for Fitting<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fitting").field("tally", &self.tally).finish_non_exhaustive()
    }
}

fn over() -> Error {
    refused("this fit has failed or is over")
}

/// How the graph is made of the model. A model that leaves the sizes of a sample open takes them from the data.
fn request(model: &Model, settings: &Settings, data: &Described) -> Request {
    let sample_shapes = match &settings.input {
        Some(name) => {
            let ports = model.inputs();
            let is_open =
                |sizes: &[Result<usize, String>]| sizes.iter().skip(1).any(Result::is_err);
            let open = ports.iter().filter(|p| p.name == *name);
            let open = open.filter(|p| p.shape.as_deref().is_none_or(is_open));
            open.map(|p| (p.name.clone(), data.sample_shape.clone())).collect()
        }
        None => model.sample_shapes(&data.sample_shape),
    };
    Request {
        output: settings.output.clone(),
        answer: settings.task,
        wrt: settings.input.clone(),
        seed: settings.seed,
        memory: settings.memory,
        sample_shapes,
        ..Request::default()
    }
}
