//! The binary from end to end.

mod attack;
mod before;
mod bench;
mod classes;
mod common;
mod corrupt;
mod demo;
mod derive;
mod edit;
mod evaluate;
mod explain;
mod exported;
mod fit;
mod images;
mod import;
mod inputs;
mod inspect;
mod mixed;
mod models;
mod monitor;
mod operators;
mod outputs;
mod pages;
mod reproduce;
mod score;
#[cfg(unix)]
mod serve;
mod shift;
mod tables;
mod train;
mod trouble;
mod words;
