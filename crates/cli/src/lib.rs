//! The `taste` command as a function, for the program and for whoever else brings it: flags, printing, exit codes.

mod applies;
mod args;
mod attack;
mod bench;
mod completions;
mod corrupt;
mod demo;
mod derive;
mod detect;
mod duration;
mod edit;
mod evaluate;
mod explain;
mod files;
mod fit;
mod hints;
mod import;
mod input;
mod inspect;
mod list;
mod log;
mod look;
mod monitor;
mod ops;
mod output;
mod pages;
mod paths;
mod predictions;
mod progress;
mod reading;
mod reproduce;
mod score;
mod serve;
mod sheet;
mod shift;
pub mod shown;
mod summary;
mod table;
mod train;
mod training_bar;
mod truth;

use std::{
    ffi::OsString,
    io::{self, Write},
    panic,
};

use clap::{CommandFactory, FromArgMatches, error::ErrorKind};
use taste_files::message::printable;

use crate::{
    args::{Cli, Command},
    hints::Reading,
};

/// How a run ended that had no error.
enum Outcome {
    Fine,
    /// A shift was found.
    Found,
}

/// The exit code where nothing is wrong.
const FINE: u8 = 0;
/// The exit code for a shift.
const FOUND: u8 = 1;
/// An error: bad arguments, bad files, or a model that can't be derived.
const FAILED: u8 = 2;

/// Runs the command with the arguments of a process, its name first, and returns the exit code.
pub fn run(arguments: &[OsString]) -> u8 {
    taste_engine::keep_freed_memory();
    panic::set_hook(Box::new(|info| {
        tell(&format!(
            "error: internal error, please report it: {}",
            info.to_string().replace('\n', " ")
        ));
    }));
    let command = arguments.get(1).and_then(|a| a.to_str());
    let cli = match parse(arguments) {
        Ok(cli) => cli,
        Err(help) if help.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            tell(help.to_string().trim_end());
            return FAILED;
        }
        Err(problem) if problem.use_stderr() => {
            tell(&format!("error: {}", args::in_one_line(&problem, command)));
            return FAILED;
        }
        Err(help) => {
            return finish(print(&help.to_string()).map(|()| Outcome::Fine), Reading::Flags);
        }
    };
    let reading = match &cli.command {
        Command::Score(_)
        | Command::Test(_)
        | Command::Explain(_)
        | Command::Monitor(_)
        | Command::Evaluate(_) => Reading::Detector,
        _ => Reading::Flags,
    };
    let written: Vec<String> = arguments.iter().map(|a| a.to_string_lossy().into_owned()).collect();
    for note in args::renamed_notes(&written) {
        tell(&note);
    }
    let run = || match &cli.command {
        Command::Demo(args) => demo::run(args),
        Command::Fit(args) => fit::run(args),
        Command::Score(args) => score::run(args),
        Command::Test(args) => shift::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Monitor(args) => monitor::run(args),
        Command::Evaluate(args) => evaluate::run(args),
        Command::Bench(args) => bench::run(args).map(|()| Outcome::Fine),
        Command::Serve(args) => serve::run(args).map(|()| Outcome::Fine),
        Command::Edit(args) => edit::run(args),
        Command::Attack(args) => attack::run(args).map(|()| Outcome::Fine),
        Command::Corrupt(args) => corrupt::run(args).map(|()| Outcome::Fine),
        Command::Train(args) => train::run(&args.what).map(|()| Outcome::Fine),
        Command::Import(args) => import::run(args).map(|()| Outcome::Fine),
        Command::Reproduce(args) => reproduce::run(args).map(|()| Outcome::Fine),
        Command::Derive(args) => derive::run(args).map(|()| Outcome::Fine),
        Command::Inspect(args) => inspect::run(args).map(|()| Outcome::Fine),
        Command::List(args) => list::run(args).map(|()| Outcome::Fine),
        Command::Ops(args) => ops::run(args).map(|()| Outcome::Fine),
        Command::Completions(args) => completions::run(args).map(|()| Outcome::Fine),
    };
    // The hook has said what happened.
    panic::catch_unwind(run).map_or(FAILED, |result| finish(result, reading))
}

/// Reads the arguments; help texts list what the tables hold.
fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let command = Cli::command()
        .mut_subcommand("fit", |fit| fit.after_help(args::fit_help()))
        .mut_subcommand("attack", |attack| attack.after_help(args::attack_help()));
    Cli::from_arg_matches(&command.try_get_matches_from(arguments)?)
}

fn finish(result: anyhow::Result<Outcome>, reading: Reading) -> u8 {
    match result {
        Ok(Outcome::Fine) => FINE,
        Ok(Outcome::Found) => FOUND,
        Err(error) => {
            tell(&format!("error: {error}{}", hints::hint(&error, reading).unwrap_or_default()));
            FAILED
        }
    }
}

/// Writes to standard output, without what a name in a file could do to a terminal; a reader that went away is no error.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(printable(text).as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Writes a line to standard error, likewise, as far as anyone listens.
fn tell(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable(line));
}

/// Writes a value as JSON to standard output.
fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    print(&(serde_json::to_string_pretty(value)? + "\n"))
}
