//! The arguments of `taste serve`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};

use super::{EngineArgs, monitor::share};

/// Serve detectors over HTTP, with monitors, metrics and a dashboard
///
/// Speaks the Open Inference Protocol v2 with binary tensors, so that clients of Triton work as they are, and
/// takes rows and pictures at /v1/score. Every sample counts for the monitor of its detector, and a request is answered when
/// that is durable. Open the address in a browser to see how the data are.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste serve detector.onnx --state state                 then open http://127.0.0.1:8080
  curl 127.0.0.1:8080/v1/score -d '[[5.1, 3.5, 1.4, 0.2]]'
  curl 127.0.0.1:8080/v1/score -T picture.png -X POST
  taste serve digits=a.onnx cars=b.onnx --listen 0.0.0.0:8080 --tokens tokens.txt

Signals: SIGTERM ends in order (not ready, then no new connections, then what is left), a second one at once.")]
pub(crate) struct ServeArgs {
    /// Detectors, each as FILE or NAME=FILE
    #[arg(value_name = "DETECTOR", required = true)]
    pub(crate) detectors: Vec<String>,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// A file with a role (score, read or admin) and a token on each line
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens: Option<PathBuf>,
    /// Let anyone who reaches the address do anything, if there are no tokens
    #[arg(long)]
    pub(crate) open: bool,
    /// Let anyone read /metrics
    #[arg(long)]
    pub(crate) open_metrics: bool,
    #[command(flatten)]
    pub(crate) watching: WatchingArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// How to write the log, on standard error
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log: LogFormat,
    /// Write a line for every request
    #[arg(long)]
    pub(crate) log_requests: bool,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// An object a line
    Json,
}

/// Monitors.
#[derive(Args)]
pub(crate) struct WatchingArgs {
    /// Where monitors keep what they know, so that it lasts [default: it ends with the service]
    #[arg(long, value_name = "DIR", help_heading = "Monitoring")]
    pub(crate) state: Option<PathBuf>,
    /// Without a change, an alarm comes no sooner than every so many samples on average
    #[arg(long, value_name = "N", default_value_t = 10_000.0, help_heading = "Monitoring")]
    run_length: f64,
    /// The chance, over calibration sets, that this does not hold
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, help_heading = "Monitoring")]
    delta: f64,
    /// Take the first samples for the calibration: for models that have seen their calibration samples
    #[arg(long, value_name = "N", help_heading = "Monitoring")]
    recalibrate: Option<usize>,
    /// The share of samples that may be anything, as 1%
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0", help_heading = "Monitoring")]
    tolerate: f64,
    /// A shift that does not matter, in standard deviations
    #[arg(long, value_name = "SD", default_value_t = 0.0, help_heading = "Monitoring")]
    least_effect: f64,
    /// How optimistic the calibration is, from 0 to 1, where 1 is not at all
    #[arg(long, value_name = "THETA", default_value_t = 1.0, help_heading = "Monitoring")]
    optimism: f64,
    /// Go on although records that were acknowledged are lost
    #[arg(long, help_heading = "Monitoring")]
    accept_loss: bool,
    /// How many of the worst samples are kept in memory and shown [default: none]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, help_heading = "Monitoring", value_parser = clap::value_parser!(u8).range(0..=16))]
    pub(crate) keep_samples: u8,
}

impl WatchingArgs {
    /// How detectors are monitored.
    pub(crate) fn watching(&self) -> taste_serve::Watching {
        let tolerance = taste_monitor::sequential::Tolerance {
            junk: self.tolerate,
            optimism: self.optimism,
            least_effect: self.least_effect,
        };
        let settings = taste_monitor::Settings {
            run_length: self.run_length,
            delta: self.delta,
            tolerance,
            recalibrate: self.recalibrate,
            ..taste_monitor::Settings::default()
        };
        taste_serve::Watching {
            state: self.state.clone(),
            settings,
            opening: taste_monitor::Opening { accept_loss: self.accept_loss, ..Default::default() },
            keep: usize::from(self.keep_samples),
        }
    }
}

/// What is taken at once.
#[derive(Args)]
pub(crate) struct LoadArgs {
    /// Samples that go through the engine at once
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = "Load", value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// Samples that may wait for a detector; more are refused
    #[arg(long, value_name = "N", default_value_t = 1024, help_heading = "Load", value_parser = clap::value_parser!(u32).range(1..))]
    queue: u32,
    /// Seconds that a request may take
    #[arg(long, value_name = "S", default_value_t = 10.0, help_heading = "Load")]
    timeout: f64,
    /// Seconds that the service goes on as before when it is told to end by SIGTERM
    #[arg(long, value_name = "S", default_value_t = 5.0, help_heading = "Load")]
    drain: f64,
    /// Seconds that requests may take to end after that
    #[arg(long, value_name = "S", default_value_t = 25.0, help_heading = "Load")]
    grace: f64,
}

impl LoadArgs {
    /// The settings of the service.
    pub(crate) fn settings(&self) -> anyhow::Result<taste_serve::Settings> {
        let seconds = |name: &str, value: f64| {
            Duration::try_from_secs_f64(value)
                .ok()
                .filter(|d| d.as_secs() <= 86_400)
                .ok_or_else(|| anyhow::anyhow!("--{name} {value}: it is to be from 0 to 86400"))
        };
        let number = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        Ok(taste_serve::Settings {
            batch: number(self.batch),
            queue: number(self.queue),
            timeout: seconds("timeout", self.timeout)?.max(Duration::from_millis(1)),
            drain: seconds("drain", self.drain)?,
            grace: seconds("grace", self.grace)?,
            ..taste_serve::Settings::default()
        })
    }
}
