//! The method: score models, Stein residuals, calibration, decisions, the detector file.

mod aggregate;
mod channels;
mod decision;
mod detector;
mod error;
mod fit;
mod health;
mod manifest;
mod operator;
mod profile;
mod residual;
mod residuals;
mod runner;
pub mod score;
mod score_check;
pub mod shift;
pub use taste_stats as stats;

pub use aggregate::{Aggregate, Tail};
pub use channels::{channel_axis, over_channels};
pub use detector::{Detector, MapReference, Reference, Scorer, Scores};
pub use error::Error;
pub use fit::{Fit, Progress, Stage, taken_for};
pub use manifest::{
    BaselineFacts, DataFacts, Decision, FORMAT, Finding, Level, Manifest, MapFacts, MethodFacts,
    ModelFacts,
};
pub use operator::{Direction, Operator};
pub use residuals::{Raw, Residuals};
pub use score_check::{Identity, ScoreCheck, check_score};
