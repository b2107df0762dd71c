//! Score models: fields s(y) ≈ ∇ log p(y).
//!
//! A user writes a score model as `gmm:8` or `ddpm:FILE,t=50`. Read, that is a [`FieldSpec`]; fitted to data, in passes, it
//! becomes a [`Field`]: something that adds s(y) to a graph. [`FAMILIES`] lists what there is here; [`Families`] joins it
//! with families that other crates bring.

mod card;
mod families;
mod learn;
mod map;
mod noise;
pub(crate) mod photographs;
mod rows;
mod shrinkage;
mod spectrum;
mod standard;
mod summary;
#[cfg(test)]
mod testing;

use std::fmt;

use taste_data::Samples;
use taste_detector::{
    Described, Engine, KeptRows, Progress,
    passes::{Gathered, Watch},
};
use taste_graph::{Build, Id};

use crate::Error;

pub use card::{Card, Steps};
pub(crate) use dct::{Dct, Layout, NOISE, basis};
pub use ddpm::{FAMILY as DDPM, KEYS as DDPM_KEYS, diffusion};
pub use families::{Families, FieldFamily, KIND, parse};
pub use learn::fit;
pub use map::{Coordinates, InputMap, Mapped, Through};
pub(crate) use shrinkage::{Spread, shrink};
pub use spectrum::spectrum;

taste_choice::table! {
    /// The families of this crate.
    pub FAMILIES: [FieldFamily] = {
        standard_normal::FAMILY,
        gaussian::FAMILY,
        gmm::FAMILY,
        kde::FAMILY,
        dct::FAMILY,
        network::FAMILY,
        log_density::FAMILY,
        ddpm::FAMILY,
    }
}

/// A field s(y), ready to become part of a graph.
pub trait Field: fmt::Debug + Send + Sync {
    /// What it is, with every number that was chosen, for the manifest and the user.
    fn describe(&self) -> serde_json::Value;

    /// The deviation of the noise that its density has beyond that of the data: nothing for none, else one number, one for
    /// every channel or one for every entry. The Stein identity holds on data with that noise.
    fn noise(&self) -> Vec<f64> {
        Vec::new()
    }

    /// The training rows that it holds, if it holds some.
    fn rows(&self) -> Option<KeptRows> {
        None
    }

    /// Adds s(y), in the shape of the samples `y` (N × …).
    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error>;
}

/// A score model that was asked for, checked but not fitted.
pub trait FieldSpec: fmt::Debug + Send + Sync {
    /// Whether fitting looks at data, so that those can't serve for calibration.
    fn learns(&self) -> bool;

    /// What it keeps of training rows, if it keeps some.
    fn keeps(&self) -> Option<&'static str> {
        None
    }

    /// What the file of the model says of itself, if there is a file and it says something.
    fn card(&self) -> Result<Option<Card>, Error> {
        Ok(None)
    }

    /// The map from samples in 0..1 to its own input where nobody says another.
    fn assumed_input(&self) -> Option<InputMap> {
        None
    }

    /// Begins to fit.
    fn begin(&self, learner: &Learner<'_>) -> Result<Learning, Error>;
}

/// What a score model learns from.
#[derive(Clone, Copy)]
pub struct Learner<'a> {
    /// The data.
    pub data: &'a Described,
    /// The seed of every draw.
    pub seed: u64,
    /// What runs graphs.
    pub engine: &'a Engine,
    /// Who hears how far the work is, and may stop it.
    pub progress: &'a Progress<'a>,
}

impl fmt::Debug for Learner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Learner").field("data", self.data).finish_non_exhaustive()
    }
}

/// How far a score model is.
pub enum Learning {
    /// It is fitted.
    Done(Box<dyn Field>),
    /// It wants a pass over samples as they are.
    Pass(Vec<Watch>, Box<AfterPass>),
    /// It wants the samples themselves, as often as it likes.
    Samples(Box<AfterSamples>),
}

type AfterPass = dyn FnOnce(&Gathered) -> Result<Learning, Error> + Send;
type AfterSamples = dyn FnOnce(&Learner<'_>, &dyn Samples) -> Result<Box<dyn Field>, Error> + Send;

impl Learning {
    /// It is fitted.
    pub fn done(field: impl Field + 'static) -> Self {
        Self::Done(Box::new(field))
    }

    /// It wants a pass over samples as they are.
    pub fn pass(
        watches: Vec<Watch>,
        then: impl FnOnce(&Gathered) -> Result<Self, Error> + Send + 'static,
    ) -> Self {
        Self::Pass(watches, Box::new(then))
    }
}

impl fmt::Debug for Learning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(field) => f.debug_tuple("Done").field(field).finish(),
            Self::Pass(watches, _) => f.debug_tuple("Pass").field(watches).finish_non_exhaustive(),
            Self::Samples(_) => f.debug_tuple("Samples").finish_non_exhaustive(),
        }
    }
}
