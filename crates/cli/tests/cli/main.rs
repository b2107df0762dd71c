//! The binary from end to end.

mod common;
mod derive;
mod edit;
mod explain;
mod fit;
mod import;
mod inspect;
mod models;
mod operators;
mod pictures;
mod score;
mod shift;
mod tables;
mod trouble;
