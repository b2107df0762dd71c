//! How things are run.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use taste_engine::Backend;

/// The engine.
#[derive(Args)]
pub(crate) struct EngineArgs {
    /// The engine: rten (built in), ort (ONNX Runtime, from a library of yours) or reference (slow, double precision)
    /// [default: rten]
    #[arg(long, help_heading = "Running")]
    backend: Option<Backend>,
    #[arg(
        long,
        value_name = "PATH",
        help_heading = "Running",
        help = "The library of ONNX Runtime [default: $ORT_DYLIB_PATH, or where the system looks]"
    )]
    ort_library: Option<PathBuf>,
    #[arg(long, value_name = "N", help_heading = "Running",
        help = "Threads [default: $TASTE_THREADS, $OMP_NUM_THREADS, or one for every core]", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Print nothing but errors and what is asked for
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl EngineArgs {
    /// The engine that was asked for.
    pub(crate) fn backend(&self) -> Result<Backend> {
        Ok(match (&self.backend, &self.ort_library) {
            (Some(other), Some(_)) if other.name() != Backend::ORT.name() => {
                bail!("--ort-library goes with --backend ort, not {other}")
            }
            (_, Some(path)) => {
                if !path.exists() {
                    bail!("--ort-library {}: there is no such file", path.display());
                }
                Backend::ORT.with_library(path)?
            }
            (backend, None) => backend.clone().unwrap_or_default(),
        })
    }

    /// The engine with its threads.
    pub(crate) fn engine(&self) -> Result<taste_detector::Engine> {
        Ok(taste_detector::Engine { backend: self.backend()?, threads: self.threads() })
    }

    /// How many threads, for engines and for statistics.
    pub(crate) fn threads(&self) -> usize {
        taste_threads::set(self.threads.map_or(0, usize::from));
        taste_threads::count(None)
    }
}

/// The engine and how it is used.
#[derive(Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// Samples at once [default: as many as memory allows, at most 1024]
    #[arg(long, value_name = "N", help_heading = "Running", value_parser = clap::value_parser!(u32).range(1..))]
    batch: Option<u32>,
}

impl RunArgs {
    /// The engine that was asked for.
    pub(crate) fn backend(&self) -> Result<Backend> {
        self.engine.backend()
    }

    /// How many threads.
    pub(crate) fn threads(&self) -> usize {
        self.engine.threads()
    }

    /// What runs graphs.
    pub(crate) fn engine(&self) -> Result<taste_detector::Engine> {
        self.engine.engine()
    }

    /// Whether nothing is printed but errors and what is asked for.
    pub(crate) fn quiet(&self) -> bool {
        self.engine.quiet
    }

    /// How many samples at once, if that was asked for.
    pub(crate) fn batch(&self) -> Option<usize> {
        self.batch.map(|n| usize::try_from(n).unwrap_or(usize::MAX))
    }

    /// How many samples at once, where memory allows `fitting`.
    pub(crate) fn chunk(&self, fitting: usize) -> usize {
        self.batch().unwrap_or(fitting).max(1)
    }
}
