//! `taste completions`.

use anyhow::Result;
use clap::CommandFactory;

use crate::{
    args::{Cli, CompletionsArgs},
    print,
};

pub(crate) fn run(args: &CompletionsArgs) -> Result<()> {
    let (mut command, mut script) = (Cli::command(), Vec::new());
    clap_complete::generate(args.shell, &mut command, "taste", &mut script);
    print(&String::from_utf8_lossy(&script))
}
