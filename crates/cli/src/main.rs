//! The `taste` command: flags, printing, exit codes.

mod args;
mod derive;
mod files;
mod input;
mod inspect;
mod ops;
mod output;
mod summary;
mod table;

use std::{
    io::{self, Write},
    panic,
    process::ExitCode,
};

use clap::{Parser, error::ErrorKind};

use crate::args::{Cli, Command};

/// An error: bad arguments, bad files, or a model that can't be derived.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    panic::set_hook(Box::new(|info| {
        tell(&format!(
            "error: internal error, please report it: {}",
            info.to_string().replace('\n', " ")
        ));
    }));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(help) if help.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            tell(help.to_string().trim_end());
            return ExitCode::from(FAILED);
        }
        Err(problem) if problem.use_stderr() => {
            tell(&format!("error: {}", args::in_one_line(&problem)));
            return ExitCode::from(FAILED);
        }
        Err(help) => return finish(print(&help.to_string())),
    };
    let run = || match &cli.command {
        Command::Derive(args) => derive::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Ops(args) => ops::run(args),
    };
    // The hook has said what happened.
    panic::catch_unwind(run).map_or(ExitCode::from(FAILED), finish)
}

fn finish(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let text = error.to_string();
            let hint = if text.ends_with(": give its shape") || text.ends_with(": give one") {
                " with --shape"
            } else {
                ""
            };
            tell(&format!("error: {text}{hint}"));
            ExitCode::from(FAILED)
        }
    }
}

/// Writes to standard output; a reader that went away is no error.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Writes a line to standard error, as far as anyone listens.
fn tell(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Writes a value as JSON to standard output.
fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    print(&(serde_json::to_string_pretty(value)? + "\n"))
}
