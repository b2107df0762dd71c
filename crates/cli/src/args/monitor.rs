//! The arguments of `taste monitor`.

use std::path::PathBuf;

use clap::Args;
use taste_monitor::{Settings, sequential::Tolerance};

use super::DetectArgs;
use crate::pages::PageArgs;

/// Watch a stream: have the data moved, since when, and how sure is that?
///
/// Every sample adds to the evidence against "nothing has changed". Without a change evidence reaches the run length A no
/// sooner than every A samples on average: that is proved for the calibration at hand with probability 1 - delta, whatever
/// the distribution of scores, as long as samples do not depend on each other. Evidence may be looked at as often as one
/// likes.
///
/// What is known stays in the state folder. Files that were counted are not counted again, a run that was killed goes on
/// where it stopped, and files that have grown are counted from where they had ended.
///
/// Exit code 1 if an alarm stands.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste monitor detector.onnx monday.npy tuesday.npy --state state
  taste monitor detector.onnx --watch incoming/ --state state     files as they appear
  tail -f log.jsonl | taste monitor detector.onnx - --state state --json
  taste monitor detector.onnx new.npy --state state --recalibrate 1000
  taste monitor detector.onnx new.npy --state state --least-effect 0.25 --report page.html
  taste monitor detector.onnx --state state --acknowledge 'the new camera'
  taste monitor detector.onnx --state state --restart")]
pub(crate) struct MonitorArgs {
    #[command(flatten)]
    pub(crate) with: DetectArgs,
    /// Samples in the order in which they came: files and folders; - for CSV or JSON lines from standard input, as they come.
    /// Without any, the state is shown
    #[arg(value_name = "SOURCE")]
    pub(crate) data: Vec<PathBuf>,
    /// The folder that holds what is known; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    pub(crate) state: PathBuf,
    /// Also take files as they appear in a folder, until the program is ended
    #[arg(long, value_name = "FOLDER")]
    pub(crate) watch: Option<PathBuf>,
    /// With --watch, end when no file has come for so many seconds
    #[arg(long, value_name = "SECONDS", requires = "watch")]
    pub(crate) idle: Option<u64>,
    /// A: without a change an alarm comes no sooner than every so many samples on average
    #[arg(long, value_name = "A", default_value_t = Settings::default().run_length)]
    pub(crate) run_length: f64,
    /// The chance, over calibration sets, that this does not hold for the one at hand
    #[arg(long, value_name = "SHARE", default_value_t = Settings::default().delta)]
    pub(crate) delta: f64,
    /// A share of samples that may be anything, as 0.01 or 1%
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0", help_heading = "Tolerance")]
    pub(crate) tolerate: f64,
    /// How optimistic the calibration is: new samples have p-values below u as often as u^THETA; from a measurement
    #[arg(long, value_name = "THETA", default_value_t = 1.0, help_heading = "Tolerance")]
    pub(crate) optimism: f64,
    /// A shift of so many standard deviations that does not matter
    #[arg(long, value_name = "SD", default_value_t = 0.0, help_heading = "Tolerance")]
    pub(crate) least_effect: f64,
    /// The first N samples become the calibration and count for nothing: for detectors that were calibrated on samples which
    /// the model was trained on
    #[arg(long, value_name = "N")]
    pub(crate) recalibrate: Option<usize>,
    /// Let only every K-th sample add to the evidence, where neighbours depend on each other
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub(crate) every: u64,
    /// A column of tables whose values tell samples apart: one that was counted is not counted again
    #[arg(long, value_name = "COLUMN")]
    pub(crate) key: Option<String>,
    /// Send alarms to this address, as JSON, at least once
    #[arg(long, value_name = "URL", help_heading = "Alarms")]
    pub(crate) webhook: Vec<String>,
    /// Send alarms to this Alertmanager
    #[arg(long, value_name = "URL", help_heading = "Alarms")]
    pub(crate) alertmanager: Vec<String>,
    /// Note that somebody knows of the alarm that stands
    #[arg(long, value_name = "NOTE", help_heading = "Alarms")]
    pub(crate) acknowledge: Option<String>,
    /// Resolve the alarm that stands and begin evidence anew
    #[arg(long, help_heading = "Alarms")]
    pub(crate) restart: bool,
    /// Go on although acknowledged samples are missing from the state
    #[arg(long)]
    pub(crate) accept_loss: bool,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

impl MonitorArgs {
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            run_length: self.run_length,
            delta: self.delta,
            tolerance: Tolerance {
                junk: self.tolerate,
                optimism: self.optimism,
                least_effect: self.least_effect,
            },
            every: self.every,
            recalibrate: self.recalibrate,
            ..Settings::default()
        }
    }
}

/// `0.01` or `1%`.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.trim().strip_suffix('%') {
        Some(number) => (number.trim_end(), 0.01),
        None => (text.trim(), 1.0),
    };
    number.parse().map(|v: f64| v * unit).map_err(|_| format!("{text:?} is no share"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_may_be_percent() {
        assert_eq!([share("0.02"), share("2%"), share("2 %")], [Ok(0.02), Ok(0.02), Ok(0.02)]);
        assert!(share("some").is_err());
    }
}
