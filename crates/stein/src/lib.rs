//! TASTE as a method: residuals of a model along a score model, with the operators, targets and aggregates of the paper.

pub mod aggregates;
mod at;
mod centre;
pub mod evidence;
pub mod evidence_map;
mod field_check;
pub mod fields;
mod health;
mod laplacian_check;
mod method;
mod names;
pub mod operators;
mod plan;
mod precondition;
mod residual;
mod residuals;
mod settings;
mod tail;

pub use at::At;
pub use centre::{BASELINES, Centre};
pub use field_check::{Denoising, FieldCheck, Identity, check_field};
pub use method::{Stein, SteinMethod};
pub use precondition::{PRECONDITIONS, Precondition};
pub use residual::{Adjusted, Residual, Subject};
pub use residuals::{Raw, Residuals};
pub use settings::Settings;
pub use tail::{TAILS, Tail};
pub use taste_detector::{Error, refused};
