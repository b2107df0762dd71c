//! Score models for detectors that this crate brings.
//!
//! ```
//! use taste_stein::fields::Families;
//!
//! let families = Families::default().with(taste_train::FAMILIES);
//! assert!(families.parse("train:sigma=0.1,steps=500")?.learns());
//! # Ok::<(), taste_stein::Error>(())
//! ```

mod ddpm;
mod train;

use taste_stein::fields::FieldFamily;

pub use train::{FieldTraining, IMAGE_BATCH, IMAGE_STEPS};

/// The families of this crate, to be added to those of `taste_stein`: `ddpm` takes the place of the one there, and
/// reads folders of diffusers as well.
pub const FAMILIES: &[FieldFamily] = &[train::FAMILY, ddpm::FAMILY];
