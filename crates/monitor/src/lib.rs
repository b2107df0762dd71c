//! Watching a stream of scores: when have the data moved, since when, and how sure is that?
//!
//! [`sequential`] is the statistics: evidence from the ranks of scores among a fixed set of calibration scores, with
//! false-alarm rates that are proved and not tuned. It knows neither detectors nor files.

pub mod sequential;

mod error;

pub use error::Error;

/// The program in the readme runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
