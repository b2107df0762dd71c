//! Many methods on many sets, under one rule: every method is fitted once, on training data, calibrated on held-out
//! samples, and has one score with one tail; only then are sets opened, and all of them are scored by that one detector. So
//! nothing can be chosen for a set.
//!
//! Detectors and scores are kept in a folder, by what they depend on: the model, the method, the settings, the data. A run
//! that was stopped goes on where it was.

mod folder;
mod keys;
mod made;
mod plan;
mod report;

use std::{ops::ControlFlow, sync::Arc, time::Instant};

use taste_data::{Options, Samples};
use taste_detector::{Detector, Engine, Error, Fit, Method, Progress, Settings, Stage, refused};
use taste_engine::Model;

pub use folder::Folder;
pub use keys::{Key, fingerprint};
pub use made::{Made, attacked, corrupted};
pub use plan::Plan;
pub use report::{Benchmarked, Failed, Judged};

use crate::evaluation::{Gathered, Reader, Set, Truth, summarise};

/// What every method is tried on.
pub struct Benchmark<'a> {
    /// The model.
    pub model: &'a Model,
    /// What every detector has in common.
    pub settings: Settings,
    /// What runs graphs.
    pub engine: Engine,
    /// How files became samples, and whether they hold bytes.
    pub reading: (Options, bool),
    /// What methods learn from.
    pub train: &'a dyn Samples,
    /// What calibrates them; without it, a part of the training data is held out.
    pub calibration: Option<&'a dyn Samples>,
    /// Clean samples, which nothing has seen.
    pub id: Set<'a>,
    /// Shifted samples.
    pub sets: Vec<Set<'a>>,
}

impl std::fmt::Debug for Benchmark<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Benchmark")
            .field("id", &self.id)
            .field("sets", &self.sets)
            .finish_non_exhaustive()
    }
}

impl Benchmark<'_> {
    /// Tries every method. One that can't be fitted, or that fails on a set, is listed with the reason, and the others go
    /// on. With a folder, detectors and scores are kept there, and what is there already is not computed again.
    pub fn run(
        &self,
        methods: &[Arc<dyn Method>],
        folder: Option<&Folder>,
        progress: &Progress<'_>,
    ) -> Result<Benchmarked, Error> {
        self.check(methods)?;
        let data = self.fingerprints()?;
        let mut all = Benchmarked::default();
        for method in methods {
            let run = Run { of: self, method, data: &data, folder, progress };
            match run.judge() {
                Ok(judged) => all.methods.push(judged),
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(e) => {
                    all.failed.push(Failed { method: method.written(), reason: e.to_string() });
                }
            }
        }
        Ok(all)
    }

    fn check(&self, methods: &[Arc<dyn Method>]) -> Result<(), Error> {
        if self.sets.is_empty() {
            return Err(refused("there are no shifted sets to compare methods on"));
        }
        for (i, method) in methods.iter().enumerate() {
            let written = method.written();
            if methods[..i].iter().any(|other| other.written() == written) {
                return Err(refused(format!("the method {written} is named twice")));
            }
        }
        for (i, set) in self.sets.iter().enumerate() {
            if self.sets[..i].iter().any(|other| other.name == set.name) {
                return Err(refused(format!("two sets are called {}", set.name)));
            }
        }
        Ok(())
    }

    /// What the data are; samples that a method learns from can't judge it.
    fn fingerprints(&self) -> Result<Fingerprints, Error> {
        let train = fingerprint(self.train, Truth::Own)?;
        let calibration = self.calibration.map(|c| fingerprint(c, Truth::Unknown)).transpose()?;
        let of = |set: &Set<'_>| fingerprint(set.data, set.truth);
        let plain = |set: &dyn Samples| fingerprint(set, Truth::Unknown);
        let id = plain(self.id.data)?;
        let seen = [Some(plain(self.train)?), calibration.clone()];
        if seen.iter().flatten().any(|key| *key == id) {
            return Err(refused(format!(
                "{}: these samples are what the methods learn from or are calibrated on; clean samples must be others",
                self.id.data.name()
            )));
        }
        let sets = std::iter::once(&self.id).chain(&self.sets).map(of).collect::<Result<_, _>>()?;
        Ok(Fingerprints { train, calibration, sets })
    }
}

struct Fingerprints {
    train: Key,
    calibration: Option<Key>,
    /// Clean samples first.
    sets: Vec<Key>,
}

/// One method.
struct Run<'a> {
    of: &'a Benchmark<'a>,
    method: &'a Arc<dyn Method>,
    data: &'a Fingerprints,
    folder: Option<&'a Folder>,
    progress: &'a Progress<'a>,
}

impl Run<'_> {
    fn judge(&self) -> Result<Judged, Error> {
        let key = self.key()?;
        let (detector, fit_seconds) = self.detector(&key)?;
        let mut reader = None;
        let mut gathered = Vec::new();
        let mut per_sample = 0.0;
        let sets = std::iter::once(&self.of.id).chain(&self.of.sets);
        for (i, (set, data)) in sets.zip(&self.data.sets).enumerate() {
            let key = key.with(data);
            let kept = self.folder.and_then(|folder| folder.scores(&key, &set.name));
            let (found, seconds) = if let Some(kept) = kept {
                kept
            } else {
                let reader = match &mut reader {
                    Some(reader) => reader,
                    none => none.insert(self.reader(&detector)?),
                };
                self.score(reader, set, &key)?
            };
            if i == 0 {
                per_sample = seconds / (found.len().max(1) as f64);
            }
            gathered.push(found);
        }
        let found = summarise(&detector, &gathered[0], &gathered[1..]);
        Ok(Judged {
            method: self.method.written(),
            found,
            fit_seconds,
            seconds_per_sample: per_sample,
            detector: self.folder.map(|folder| folder.detector_path(&self.method.written(), &key)),
            gathered,
        })
    }

    /// What a fit depends on.
    fn key(&self) -> Result<Key, Error> {
        let of = self.of;
        let model = of.model.onnx().sha256();
        if self.folder.is_some() && model.is_none() {
            let reason = "nothing can be kept of a model that was not read from a file";
            return Err(refused(reason));
        }
        Key::of(&(
            env!("CARGO_PKG_VERSION"),
            model,
            (self.method.written(), self.method.options()),
            &of.settings,
            &of.reading.0,
            of.engine.backend.name(),
            &self.data.train,
            &self.data.calibration,
        ))
    }

    fn detector(&self, key: &Key) -> Result<(Detector, f64), Error> {
        let written = self.method.written();
        if let Some(kept) = self.folder.and_then(|folder| folder.detector(&written, key)) {
            return Ok(kept);
        }
        let of = self.of;
        let started = Instant::now();
        let progress = self.saying(format!("{written}: "));
        let detector = Fit::new(of.model, Arc::clone(self.method))
            .settings(of.settings.clone())
            .engine(of.engine.clone())
            .reading(of.reading.0.clone(), of.reading.1)
            .progress(&progress)
            .run(of.train, of.calibration)?;
        let seconds = started.elapsed().as_secs_f64();
        if let Some(folder) = self.folder {
            folder.keep_detector(&written, key, &detector, seconds)?;
        }
        Ok((detector, seconds))
    }

    fn reader<'d>(&self, detector: &'d Detector) -> Result<Reader<'d>, Error> {
        Reader::new(detector, &self.of.engine, detector.manifest().model.chunk)
    }

    fn score(
        &self,
        reader: &Reader<'_>,
        set: &Set<'_>,
        key: &Key,
    ) -> Result<(Gathered, f64), Error> {
        let started = Instant::now();
        let purpose = format!("{} on {}", self.method.written(), set.name);
        let found = reader.gather(set, &|stage: Stage<'_>| {
            (self.progress)(Stage { purpose: &purpose, ..stage })
        })?;
        let seconds = started.elapsed().as_secs_f64();
        if let Some(folder) = self.folder {
            folder.keep_scores(key, &found, seconds)?;
        }
        Ok((found, seconds))
    }

    /// Progress with words in front.
    fn saying(&self, before: String) -> impl Fn(Stage<'_>) -> ControlFlow<()> + Send + Sync {
        move |stage: Stage<'_>| {
            let purpose = format!("{before}{}", stage.purpose);
            (self.progress)(Stage { purpose: &purpose, ..stage })
        }
    }
}
