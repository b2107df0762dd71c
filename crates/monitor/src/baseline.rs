//! What a stream is held against.

use std::fmt;

use serde::{Deserialize, Serialize};
use taste_detector::{Detector, Goal, Role, Scores};
use taste_stats::conformal::Calibration;

use crate::{Error, sequential::Sides};

/// What a value of a sample says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// How much the sample matters to the model: the detector's score.
    Harm,
    /// How far it is from the training data.
    Novelty,
    /// The signed residual, where the method has one: it may rise or fall.
    Residual,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Harm => "harm",
            Self::Novelty => "novelty",
            Self::Residual => "residual",
        })
    }
}

/// One value of every sample that is watched, with its calibration.
#[derive(Clone, Debug)]
pub struct Stream {
    /// What it says.
    pub kind: Kind,
    /// Whether it raises alarms; else its evidence is shown beside them.
    pub counts: bool,
    /// The values of calibration samples.
    pub calibration: Calibration,
}

impl Stream {
    /// A stream that raises alarms.
    pub fn new(kind: Kind, calibration: impl IntoIterator<Item = f64>) -> Self {
        Self { kind, counts: true, calibration: Calibration::new(calibration) }
    }

    /// Which values count as changed.
    pub fn sides(&self) -> Sides {
        if self.kind == Kind::Residual { Sides::Both } else { Sides::Upper }
    }
}

/// What a stream is held against: a detector, by the digest of its file, and its calibration.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// The SHA-256 of the detector's file.
    pub detector: String,
    /// The share of samples that the detector flags without a shift, if that is known.
    pub alpha: Option<f64>,
    /// What is watched; the first is what samples are ordered by.
    pub streams: Vec<Stream>,
    /// Why the calibration can't be trusted: the model has seen its samples, so that new ones look worse than they are.
    pub seen_by_model: Option<String>,
}

impl Baseline {
    /// Of streams alone.
    pub fn new(detector: impl Into<String>, streams: Vec<Stream>) -> Self {
        Self { detector: detector.into(), alpha: None, streams, seen_by_model: None }
    }

    /// Of a detector whose file has this SHA-256. The goal of the detector tells which streams raise alarms: harm and the
    /// residual, novelty, or all of them.
    pub fn of(detector: &Detector, sha256: impl Into<String>) -> Self {
        let manifest = detector.manifest();
        let goal = manifest.decision.goal;
        let wide = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
        let stream = |kind, values: Vec<f64>| {
            let counts = match kind {
                Kind::Novelty => goal != Goal::Harm,
                Kind::Harm | Kind::Residual => goal != Goal::Novelty,
            };
            Stream { counts, ..Stream::new(kind, values) }
        };
        let mut streams = vec![stream(Kind::Harm, wide(detector.calibration()))];
        streams.extend(detector.novelty_calibration().map(|n| stream(Kind::Novelty, wide(n))));
        streams.extend(residual(detector).map(|(at, _)| {
            let column = detector.reference().rows.column(at).to_vec();
            stream(Kind::Residual, wide(&column))
        }));
        let trained = manifest.findings.iter().find(|f| f.check == "calibration data");
        Self {
            detector: sha256.into(),
            alpha: manifest.decision.alpha,
            streams,
            seen_by_model: trained.map(|finding| finding.message.clone()),
        }
    }
}

/// The signed residual of a detector: its column among those of a kept row, and the part's name.
fn residual(detector: &Detector) -> Option<(usize, &str)> {
    let mut at = 0;
    for part in &detector.manifest().parts {
        if part.role == Role::Residual && part.columns.len() == 1 {
            return Some((at, &part.name));
        }
        at += part.columns.len();
    }
    None
}

/// Values of some samples, in the order in which they came: evidence depends on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// One list for every stream of the [`Baseline`].
    pub values: Vec<Vec<f64>>,
    /// Whether the detector flags the sample by itself.
    pub flags: Vec<bool>,
    /// What samples are called; empty if their places are enough.
    pub names: Vec<String>,
}

impl Batch {
    /// What a detector said of some samples.
    pub fn of(detector: &Detector, scores: &Scores) -> Self {
        let wide = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
        let mut values = vec![wide(&scores.score)];
        values.extend(scores.novelty.as_ref().map(|n| wide(&n.score)));
        values
            .extend(residual(detector).and_then(|(_, name)| scores.column(name).map(|c| wide(&c))));
        Self { values, flags: scores.flag.clone(), names: Vec::new() }
    }

    /// With what samples are called.
    #[must_use]
    pub fn named(mut self, names: Vec<String>) -> Self {
        self.names = names;
        self
    }

    /// Adds samples that came after these.
    pub fn append(&mut self, mut more: Self) {
        self.values.resize_with(self.values.len().max(more.values.len()), Vec::new);
        for (values, own) in self.values.iter_mut().zip(&mut more.values) {
            values.append(own);
        }
        self.flags.append(&mut more.flags);
        self.names.append(&mut more.names);
    }

    /// How many samples.
    pub fn len(&self) -> usize {
        self.flags.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.flags.is_empty()
    }

    /// The samples at some positions.
    pub(crate) fn select(&self, positions: &[usize]) -> Self {
        let chosen = |v: &Vec<f64>| positions.iter().map(|&i| v[i]).collect();
        let names = if self.names.is_empty() { &[] } else { positions };
        Self {
            values: self.values.iter().map(chosen).collect(),
            flags: positions.iter().map(|&i| self.flags[i]).collect(),
            names: names.iter().map(|&i| self.names[i].clone()).collect(),
        }
    }

    /// Fails unless there are so many samples.
    pub(crate) fn matches(&self, samples: usize) -> Result<(), Error> {
        if samples == self.len() {
            return Ok(());
        }
        Err(Error::Batch { streams: self.values.len(), samples, found: vec![self.len()] })
    }

    pub(crate) fn check(&self, streams: usize) -> Result<(), Error> {
        let even = self.values.iter().all(|v| v.len() == self.len());
        let named = self.names.is_empty() || self.names.len() == self.len();
        if self.values.len() == streams && even && named {
            return Ok(());
        }
        let found: Vec<usize> = self.values.iter().map(Vec::len).collect();
        Err(Error::Batch { streams, samples: self.len(), found })
    }
}
