//! The experiments of the paper, and ours: each is one file and one line in [`EXPERIMENTS`].
//!
//! An [`Experiment`] takes folders of data and models and leaves a [`Page`]: figures, tables, and our numbers beside the
//! paper's. Long work is cut into steps that are kept, so that a run that was stopped goes on where it was ([`Run::step`]).
//!
//! ```no_run
//! use taste_lab::{Run, experiment, reproduce};
//!
//! let run = Run::new("results".as_ref()).data("data".as_ref()).quick();
//! let page = reproduce(experiment("directional")?, &run)?;
//! println!("{}", page.markdown());
//! # Ok::<(), taste_lab::Error>(())
//! ```
//!
//! One rule holds for all of them: detectors are calibrated on held-out samples, a score has one tail for all sets, and no
//! test data takes part in any choice. What the paper did otherwise stands beside it, under its name.

mod error;
mod experiment;
pub mod experiments;
mod page;
mod run;
mod steps;
mod summary;

pub use error::{Error, ErrorKind};
pub use experiment::{Experiment, KIND, Wanted, experiment, reproduce};
pub use experiments::EXPERIMENTS;
pub use page::{Beside, Cell, Claim, Page, Table, Verdict};
pub use run::{Effort, Event, Run, Watch};
pub use summary::{listing, summarise};
