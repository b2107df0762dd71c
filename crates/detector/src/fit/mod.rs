//! From a model, a method and data to a detector.

mod counting;
mod finish;
mod fitting;
mod look;
mod plan;

use std::{ops::ControlFlow, sync::Arc};

use taste_data::{Options, Part, Samples};
use taste_engine::Model;

use crate::{
    Described, Detector, Engine, Error, Method, Progress, Settings,
    error::unfit,
    passes::{self, Source},
};
use counting::counted;
pub(crate) use finish::Decided;
pub use fitting::{Fitting, Next};
pub(crate) use plan::plan;

/// A detector to be.
///
/// ```no_run
/// use std::sync::Arc;
/// use taste_data::{Dataset, Options};
/// use taste_detector::{Fit, Method, Settings};
/// use taste_engine::Model;
///
/// # fn fit(method: Arc<dyn Method>) -> Result<(), taste_detector::Error> {
/// let model = Model::open("classifier.onnx".as_ref())?;
/// let train = Dataset::open("train.npy".as_ref(), &Options::default())?;
/// let settings = Settings { alpha: 0.01, ..Settings::default() };
/// let detector = Fit::new(&model, method).settings(settings).run(&train, None)?;
/// detector.save("detector.onnx".as_ref())?;
/// # Ok(())
/// # }
/// ```
pub struct Fit<'a> {
    model: &'a Model,
    method: Arc<dyn Method>,
    settings: Settings,
    engine: Engine,
    reading: Options,
    bytes: bool,
    progress: &'a Progress<'a>,
}

impl<'a> Fit<'a> {
    /// With the default settings.
    pub fn new(model: &'a Model, method: Arc<dyn Method>) -> Self {
        Self {
            model,
            method,
            settings: Settings::default(),
            engine: Engine::default(),
            reading: Options::default(),
            bytes: false,
            progress: &|_| ControlFlow::Continue(()),
        }
    }

    /// The choices that every method has in common.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// What runs graphs.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// How files became samples, to be kept in the manifest and repeated when samples are scored, and whether they hold
    /// bytes.
    #[must_use]
    pub fn reading(mut self, options: Options, bytes: bool) -> Self {
        self.reading = options;
        self.bytes = bytes;
        self
    }

    /// Who hears how far the work is, and may stop it.
    #[must_use]
    pub fn progress(mut self, progress: &'a Progress<'a>) -> Self {
        self.progress = progress;
        self
    }

    /// Fits the detector on this machine. Without calibration data, a part of the training data is held out.
    pub fn run(
        &self,
        train: &dyn Samples,
        calibration: Option<&dyn Samples>,
    ) -> Result<Detector, Error> {
        let described = self.describe(train);
        let apart = calibration.map(|c| self.describe(c));
        let mut fitting = self.start(&described, apart.as_ref())?;
        loop {
            match fitting.next()? {
                Next::Pass(plan) => {
                    let data = match (plan.source(), calibration) {
                        (Source::Calibration, Some(calibration)) => calibration,
                        _ => train,
                    };
                    let state = passes::run(&plan, data, &self.engine, self.progress)?;
                    fitting.take(&plan, state)?;
                }
                Next::Samples { from, to } => {
                    let part = Part::new(train, self.settings.seed, from, to);
                    let (done, given) = counted(&part, |samples| fitting.give(samples));
                    done?;
                    fitting.given(&given)?;
                }
                Next::Done(detector) => return Ok(*detector),
            }
        }
    }

    /// Begins to fit on data that are elsewhere: plans come from [`Fitting::next`], and what workers made of them goes to
    /// [`Fitting::take`].
    pub fn start<'f>(
        &'f self,
        train: &'f Described,
        calibration: Option<&'f Described>,
    ) -> Result<Fitting<'f>, Error> {
        let alpha = self.settings.alpha;
        if !(alpha > 0.0 && alpha < 1.0) {
            let message = format!("alpha is a false-positive rate between 0 and 1, not {alpha}");
            return Err(unfit("alpha", message));
        }
        let tails = self.settings.tails;
        if !(tails > 0.0 && tails < 1.0) {
            let message = format!("the share for the tails lies between 0 and 1, not {tails}");
            return Err(unfit("tails", message));
        }
        let needs = self.method.needs();
        if let Some(rows) = needs.keeps.filter(|_| !self.settings.may_keep_rows) {
            return Err(Error::KeepsRows { method: self.method.written(), rows: rows.to_owned() });
        }
        Fitting::new(self, train, calibration)
    }

    fn describe(&self, samples: &dyn Samples) -> Described {
        let reading = self.reading.clone();
        Described { reading, bytes: self.bytes, ..Described::of(samples) }
    }
}

impl std::fmt::Debug for Fit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fit")
            .field("method", &self.method)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
