//! The extension module `taste_ood._taste`: bytes, arrays, errors and threads. It has no logic of its own; what knows other
//! packages is Python.

#![expect(clippy::needless_pass_by_value, reason = "arguments come from Python as values")]

mod detector;
mod engine;
mod errors;
mod evaluate;
mod fit;
mod given;
mod model;
mod monitor;
mod passes;
mod table;
mod watch;

/// What `taste_ood` is made of.
#[pyo3::pymodule]
mod _taste {
    use std::ffi::OsString;

    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        detector::{Detector, Scored},
        engine::Engine,
        evaluate::evaluate,
        fit::fit,
        model::Model,
        monitor::Monitor,
        passes::{Plan, State, fit_passes, gather},
        table::write_table,
    };

    /// The version of taste.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Runs the command line with the arguments of a process, its name first, and returns the exit code.
    #[pyfunction]
    fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
        py.detach(|| taste_cli::run(&arguments))
    }
}
