//! Evidence against "nothing has changed", sample by sample, from ranks among a fixed set of calibration scores.
//!
//! A sample's [`Rank`] among the calibration scores is bet on: a [`Bets`] table holds, for every process and every bin of
//! ranks, by how much evidence is multiplied. The bets are normalised by the exact quantile of a weighted Dirichlet sum
//! ([`normaliser`]), so that with probability 1 − δ over the calibration set every product of them is a supermartingale
//! *given that set*, for ever. [`Evidence`] adds them up after Shiryaev and Roberts: an alarm at A comes, without a
//! change, no sooner than every A samples on average. [`onset`] tells when a change began.
//!
//! Scores must be independent of each other; larger is worse.

mod bets;
mod bins;
mod curve;
mod evidence;
pub mod normaliser;
mod onset;
mod rank;
mod tolerance;

pub use bets::{Bets, LEAST_SAMPLES, Setting, Sides};
pub(crate) use evidence::log_mean;
pub use evidence::{Evidence, Learning};
pub(crate) use onset::onset_after;
pub use onset::{Onset, onset};
pub use rank::Rank;
pub use tolerance::Tolerance;
