//! Score models s(y) ≈ ∇ log p(y).
//!
//! A *specification* is what the user writes, as `gmm:8` or `ddpm:FILE,t=50`. Fitted to data, it becomes a
//! [`ScoreModel`]: something that adds s(y) to a graph. [`FAMILIES`] lists what there is.

mod arguments;
mod card;
mod ddpm;
mod families;
mod gaussian;
mod gmm;
mod kde;
mod log_density;
mod map;
mod moments;
mod network;
mod noise;
mod rows;
mod shrinkage;
mod spectrum;
mod standard_normal;
#[cfg(test)]
mod testing;

use std::fmt;

use taste_data::Samples;
use taste_graph::{Build, Id};
use taste_stats::linear;

use crate::Error;

pub use card::{Card, Steps};
pub use ddpm::diffusion;
pub use families::{FAMILIES, Family, parse};
pub use map::{InputMap, Mapped, Through};
pub use spectrum::spectrum;

/// A field s(y), ready to become part of a graph.
pub trait ScoreModel: fmt::Debug + Send + Sync {
    /// What it is, with every number that was chosen, for the manifest and the user.
    fn describe(&self) -> serde_json::Value;

    /// The deviation of the noise that its density has beyond that of the data: nothing for none, else one number, one for
    /// every channel or one for every entry. The Stein identity holds on data with that noise.
    fn noise(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Adds s(y), in the shape of the samples `y` (N × …).
    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error>;
}

/// What the user asked for, checked but not fitted.
pub trait Specification: fmt::Debug + Send + Sync {
    /// Whether fitting looks at data, so that those can't serve for calibration.
    fn learns(&self) -> bool;

    /// What the file of the model says of itself, if there is a file and it says something.
    fn card(&self) -> Result<Option<Card>, Error> {
        Ok(None)
    }

    /// Fits the model to samples.
    fn fit(&self, samples: &dyn Samples, seed: u64) -> Result<Box<dyn ScoreModel>, Error>;
}
