//! The arguments of `taste demo`.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;

/// See what taste does, on data that it draws itself
///
/// Two small networks are trained on the spot: a regressor on the plane, and a classifier of drawn glyphs. Their detectors
/// are fitted and shown shifts that do not matter to the networks and shifts that do: harm and novelty of each, and why.
/// Tables are printed; a page with figures and all files are left in a folder. Takes well under two minutes, and needs
/// neither network nor Python.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste demo                         then open taste-demo/report.html
  taste demo --out /tmp/look --seed 7
  taste demo --serve                 then watch a stream turn harmful
  taste demo --json | jq '.glyphs.shifts[] | {shift, accuracy, answer, reason}'")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct DemoArgs {
    /// The folder to write to; what an earlier run left in it is replaced
    #[arg(short, long, value_name = "DIR", default_value = "taste-demo")]
    pub(crate) out: PathBuf,
    /// The seed of all data and networks
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Then serve the detector of the glyphs, with a stream that turns harmful after a while, and show it in a browser
    #[arg(long)]
    pub(crate) serve: bool,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", requires = "serve")]
    pub(crate) listen: SocketAddr,
    /// Print the tables as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but errors and what is asked for
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Much less of everything: a test of the machinery, not of the method
    #[arg(long, hide = true)]
    pub(crate) fast: bool,
}
