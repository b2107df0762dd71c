//! What an experiment is given, and how it says how far it is.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Mutex,
    time::{Duration, Instant},
};

use taste_detector::{Engine, Progress, Stage};

use crate::{Error, Experiment, Wanted, experiments, steps::Steps};

/// How much of an experiment is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// As little as shows that everything works, on data of a few samples.
    Least,
    /// Minutes.
    Quick,
    /// All of it.
    Full,
}

impl Effort {
    /// What it is called on a page.
    pub fn name(self) -> &'static str {
        match self {
            Self::Least => "least",
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }
}

/// How far an experiment is.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A step begins, or is there already.
    Step {
        /// Its number from 1 on, and how many there are.
        number: (usize, usize),
        /// What it does.
        name: &'a str,
        /// Whether an earlier run left its result.
        is_kept: bool,
        /// The time since the start.
        elapsed: Duration,
        /// The time that is left, by the steps that were computed.
        left: Option<Duration>,
    },
    /// A part of a step.
    Stage(Stage<'a>),
}

/// Hears how far the work is, and may stop it.
pub type Watch<'a> = dyn Fn(Event<'_>) -> ControlFlow<()> + Send + Sync + 'a;

/// What an experiment is given.
pub struct Run<'a> {
    data: Option<PathBuf>,
    models: Option<PathBuf>,
    out: PathBuf,
    effort: Effort,
    seed: u64,
    engine: Engine,
    watch: &'a Watch<'a>,
    experiment: &'static Experiment,
    pub(crate) steps: Steps,
    pace: Mutex<Pace>,
}

/// How fast steps were.
struct Pace {
    started: Instant,
    planned: usize,
    begun: usize,
    computed: usize,
    spent: Duration,
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("out", &self.out)
            .field("effort", &self.effort)
            .finish_non_exhaustive()
    }
}

impl<'a> Run<'a> {
    /// All of an experiment, with everything written to `out`.
    pub fn new(out: &Path) -> Self {
        Self {
            data: None,
            models: None,
            out: out.to_owned(),
            effort: Effort::Full,
            seed: 0,
            engine: Engine::default(),
            watch: &|_| ControlFlow::Continue(()),
            experiment: &experiments::EXPERIMENTS[0],
            steps: Steps::none(),
            pace: Mutex::new(Pace::new()),
        }
    }

    /// With a folder of data.
    #[must_use]
    pub fn data(mut self, folder: &Path) -> Self {
        self.data = Some(folder.to_owned());
        self
    }

    /// With a folder of models.
    #[must_use]
    pub fn models(mut self, folder: &Path) -> Self {
        self.models = Some(folder.to_owned());
        self
    }

    /// Of minutes.
    #[must_use]
    pub fn quick(self) -> Self {
        self.effort(Effort::Quick)
    }

    /// So much of it.
    #[must_use]
    pub fn effort(mut self, effort: Effort) -> Self {
        self.effort = effort;
        self
    }

    /// With another seed for every draw.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// With another engine.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Who hears how far the work is.
    #[must_use]
    pub fn watch(mut self, watch: &'a Watch<'a>) -> Self {
        self.watch = watch;
        self
    }

    /// The run of one experiment.
    pub(crate) fn of(&self, experiment: &'static Experiment) -> Result<Self, Error> {
        let mut run = Self {
            data: self.data.clone(),
            models: self.models.clone(),
            out: self.out.clone(),
            engine: self.engine.clone(),
            steps: Steps::none(),
            pace: Mutex::new(Pace::new()),
            experiment,
            ..*self
        };
        for wanted in experiment.data.iter().filter(|w| !w.optional) {
            run.data_path(wanted.path)?;
        }
        for wanted in experiment.models.iter().filter(|w| !w.optional) {
            run.model_path(wanted.path)?;
        }
        // Nothing is made before it is known that all is there.
        run.steps = Steps::open(&self.out, experiment.choice.name, self.effort, self.seed)?;
        Ok(run)
    }

    /// The experiment that is run.
    pub fn experiment(&self) -> &'static Experiment {
        self.experiment
    }

    /// The folder that everything is written to.
    pub fn out(&self) -> &Path {
        &self.out
    }

    /// A folder for what is kept between runs: networks, sets, detectors.
    pub fn kept(&self) -> &Path {
        self.steps.folder()
    }

    /// How much is run.
    pub fn is_quick(&self) -> bool {
        self.effort < Effort::Full
    }

    /// Whether it is as little as shows that everything works.
    pub(crate) fn is_least(&self) -> bool {
        self.effort == Effort::Least
    }

    /// How much is run, as a word.
    pub fn effort_name(&self) -> &'static str {
        self.effort.name()
    }

    /// A number by how much is run.
    pub fn pick<T>(&self, full: T, quick: T, least: T) -> T {
        match self.effort {
            Effort::Full => full,
            Effort::Quick => quick,
            Effort::Least => least,
        }
    }

    /// The seed of every draw.
    pub fn seed_value(&self) -> u64 {
        self.seed
    }

    /// What runs graphs.
    pub fn engine_used(&self) -> &Engine {
        &self.engine
    }

    /// Whether a folder of models was given.
    pub fn has_models(&self) -> bool {
        self.models.is_some()
    }

    /// A file or folder of the data, which must be there.
    pub fn data_path(&self, path: &str) -> Result<PathBuf, Error> {
        self.find(self.data.as_deref(), self.experiment.data, path)
    }

    /// A file or folder of the data, if it is there.
    pub fn data_if(&self, path: &str) -> Option<PathBuf> {
        self.data.as_ref().map(|folder| folder.join(path)).filter(|path| path.exists())
    }

    /// A model, which must be there.
    pub fn model_path(&self, path: &str) -> Result<PathBuf, Error> {
        self.find(self.models.as_deref(), self.experiment.models, path)
    }

    /// A model, if it is there.
    pub fn model_if(&self, path: &str) -> Option<PathBuf> {
        self.models.as_ref().map(|folder| folder.join(path)).filter(|path| path.exists())
    }

    fn find(&self, folder: Option<&Path>, list: &[Wanted], path: &str) -> Result<PathBuf, Error> {
        let found = folder.map(|folder| folder.join(path));
        let unpacked = found.as_ref().map(|found| match found.extension() {
            Some(ending) if ending == "gz" => found.with_extension(""),
            _ => found.clone(),
        });
        if let Some(found) = [&found, &unpacked].into_iter().flatten().find(|path| path.exists()) {
            return Ok(found.clone());
        }
        let named = list.iter().find(|w| w.path == path).map_or(path, |w| w.what);
        let what = if named == path { path.to_owned() } else { format!("{named} ({path})") };
        Err(Error::Missing { experiment: self.experiment.choice.name, what, path: found })
    }

    /// Says how many steps there will be, so that the time left can be told.
    pub fn plan(&self, steps: usize) {
        if let Ok(mut pace) = self.pace.lock() {
            pace.planned = steps;
        }
    }

    /// Says that a step begins. Whoever watches may stop the run here.
    pub(crate) fn begin(&self, name: &str, is_kept: bool) -> Result<Instant, Error> {
        let event = match self.pace.lock() {
            Ok(mut pace) => pace.begin(name, is_kept),
            Err(_) => return Err(Error::Cancelled),
        };
        match (self.watch)(event) {
            ControlFlow::Continue(()) => Ok(Instant::now()),
            ControlFlow::Break(()) => Err(Error::Cancelled),
        }
    }

    pub(crate) fn end(&self, started: Instant) {
        if let Ok(mut pace) = self.pace.lock() {
            pace.computed += 1;
            pace.spent += started.elapsed();
        }
    }

    /// Hears of parts of a step: what fits, attacks and corruptions tell of themselves.
    pub fn progress(&self) -> impl Fn(Stage<'_>) -> ControlFlow<()> + Send + Sync + '_ {
        |stage| (self.watch)(Event::Stage(stage))
    }

    /// Tells of a part of a step, and stops where it is to stop.
    pub fn tell(&self, purpose: &str, done: usize, total: usize) -> Result<(), Error> {
        let progress: &Progress<'_> = &self.progress();
        match progress(Stage { purpose, done, total: Some(total) }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Cancelled),
        }
    }

    /// Hears of the training of a network.
    pub fn training<'n>(
        &'n self,
        name: &'n str,
    ) -> impl Fn(&taste_train::Progress<'_>) -> ControlFlow<()> + 'n {
        move |step| {
            let total = Some(step.steps);
            (self.watch)(Event::Stage(Stage { purpose: name, done: step.point.step, total }))
        }
    }

    /// How this run is started again.
    pub fn command(&self) -> String {
        let mut words = vec![format!("taste reproduce {}", self.experiment.choice.name)];
        let folders =
            [(self.experiment.data, "--data DATA"), (self.experiment.models, "--models MODELS")];
        words.extend(folders.iter().filter(|(list, _)| !list.is_empty()).map(|f| f.1.to_owned()));
        words.push("--out OUT".to_owned());
        words.extend((self.effort == Effort::Quick).then(|| "--quick".to_owned()));
        words.extend((self.seed != 0).then(|| format!("--seed {}", self.seed)));
        words.join(" ")
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        self.pace.lock().map_or(Duration::ZERO, |pace| pace.started.elapsed())
    }
}

impl Pace {
    fn new() -> Self {
        Self { started: Instant::now(), planned: 0, begun: 0, computed: 0, spent: Duration::ZERO }
    }

    fn begin<'n>(&mut self, name: &'n str, is_kept: bool) -> Event<'n> {
        self.begun += 1;
        let of = self.planned.max(self.begun);
        let to_come = of + 1 - self.begun;
        let each = self.spent.checked_div(u32::try_from(self.computed).unwrap_or(u32::MAX));
        let left = each.map(|each| each * u32::try_from(to_come).unwrap_or(u32::MAX));
        let elapsed = self.started.elapsed();
        Event::Step { number: (self.begun, of), name, is_kept, elapsed, left }
    }
}
