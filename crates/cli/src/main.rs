//! The `taste` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(taste_cli::run(&std::env::args_os().collect::<Vec<_>>()))
}
