//! Passes over data. A [`Plan`] says which samples to look at and what to gather of them; a [`Worker`] goes through a part
//! of the data wherever that is, and gives a [`State`]; states are merged in any order, and the merged one is what was
//! [`Gathered`].
//!
//! The result does not depend on how the data were cut. Sums are kept by blocks of rows and merged along one binary tree,
//! so that cuts at the borders of blocks change no bit; rows that are kept are those with the smallest hashes of their keys.

mod blocks;
mod drawn;
mod gather;
mod gathered;
mod plan;
mod run;
mod sketch;
mod state;
mod worker;

pub use drawn::Drawn;
pub use gather::{By, Gather, Of, Watch};
pub use gathered::Gathered;
pub(crate) use plan::{Network, PlanParts};
pub use plan::{Plan, Source};
pub use run::gather_inputs;
pub(crate) use run::run;
pub(crate) use sketch::Sketch;
pub use state::State;
pub use worker::Worker;
