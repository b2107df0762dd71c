//! Whole runs of training.

mod common;
mod matching;
mod pretrained;
mod resuming;
mod scores;
mod tasks;
