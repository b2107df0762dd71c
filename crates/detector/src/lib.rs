//! What every detector shares: a method adds its values to a model's graph, passes over data gather what it learns from,
//! held-out samples calibrate its score, and one ONNX file holds the result. Nothing here knows how a method works.
//!
//! - [`Method`] is what a detector is; [`Fit`] makes a [`Detector`] of a model, a method and data.
//! - [`passes`] are how anything is learnt: a [`passes::Plan`] goes to wherever the data are, [`passes::State`]s come back
//!   and are merged, so that one machine, several processes and a cluster run the same code.
//! - [`Detector`] is the file: [`Detector::start`] scores, [`shift`] tests batches, [`explain`] shows where.

mod accuracy;
mod calibrate;
mod channels;
mod classes;
mod decision;
mod detector;
mod divide;
mod engine;
mod error;
pub mod explain;
mod file;
mod fit;
mod goal;
mod health;
mod inputs;
mod job;
mod manifest;
mod method;
pub mod passes;
mod profile;
mod progress;
mod reading;
mod recalibrate;
mod reference;
mod remarks;
mod scorer;
mod settings;
pub mod shift;

pub use accuracy::{ErrorModel, Estimate, Measure};
pub use channels::{channel_axis, over_channels};
pub use classes::with_classes;
pub use detector::Detector;
pub use divide::Split;
pub use engine::Engine;
pub use error::{Error, ErrorKind, Shortage, refused};
pub use fit::{Fit, Fitting, Next};
pub use goal::{GOALS, Goal};
pub use health::{CALIBRATION_CHECKS, Finding, Level, finding};
pub use inputs::{with_inputs, with_rows};
pub use job::{Described, Job};
pub use manifest::{
    Baseline, DataFacts, Decision, FORMAT, Manifest, MapFacts, MethodFacts, ModelFacts, PartFacts,
};
pub use method::{About, Family, KeptRows, Map, Method, Named, Needs, Part, Role, Statistic, Step};
pub use profile::{Group, Profile};
pub use progress::{Progress, Stage};
pub use reference::{MapReference, Margins, Reference};
pub use remarks::{Comparison, Matter, Remark};
pub use scorer::{Fed, Novelty, Scorer, Scores};
pub use settings::Settings;
