//! Whole runs of training.

mod common;
mod matching;
mod resuming;
mod scores;
mod tasks;
