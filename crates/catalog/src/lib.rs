//! Every table in one place: what a user can choose, from whichever crate it comes. Front ends read choices here, and
//! `taste list` and `docs/choices.md` are written from here.
//!
//! ```
//! use taste_detector::Named;
//!
//! let method = taste_catalog::method("stein", &Named::new().with("score-model", "gaussian:diagonal"))?;
//! assert_eq!(method.name(), "stein");
//! # Ok::<(), taste_detector::Error>(())
//! ```

mod kinds;
mod methods;
mod page;

pub use kinds::{KINDS, Kind, Listed, kind};
pub use methods::{method, methods, score_models};
pub use page::{page, table};
