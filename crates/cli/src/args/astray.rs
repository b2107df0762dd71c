//! Arguments that a command does not take: where to find what was meant.

use clap::{
    Command, CommandFactory, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::Cli;

/// Commands, a flag that they do not have, and what to do instead.
const ELSEWHERE: &[(&[&str], &[&str], &str)] = &[
    (
        &["score", "explain"],
        &["--alpha", "--threshold", "--set-threshold"],
        "the threshold is part of the detector, and taste edit DETECTOR.onnx --alpha SHARE changes it",
    ),
    (
        &["test"],
        &["-o", "--out", "--output"],
        "the report goes to standard output, with --json as JSON",
    ),
    (&["test"], &["--set-threshold", "--threshold"], "a batch is compared with --alpha"),
];

/// What is wrong with the arguments of a command, without usage and pointers.
pub(crate) fn in_one_line(problem: &Error, command: Option<&str>) -> String {
    let text = problem.to_string();
    // Nobody means a flag that does not exist as a value.
    let is_idle = |part: &str| {
        part.is_empty()
            || ["Usage:", "For more", "tip: to pass"].iter().any(|start| part.starts_with(start))
    };
    let mut parts: Vec<String> = text
        .split("\n\n")
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|part| !is_idle(part))
        .collect();
    parts.extend(meant(problem, command));
    parts.join("; ").trim_start_matches("error: ").to_owned()
}

/// What was likely meant.
fn meant(problem: &Error, command: Option<&str>) -> Option<String> {
    let said = |kind| match problem.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match problem.kind() {
        ErrorKind::InvalidSubcommand if problem.get(ContextKind::SuggestedSubcommand).is_none() => {
            let cli = Cli::command();
            let names = cli.get_subcommands().map(Command::get_name);
            let near = taste_choice::suggestion(names, said(ContextKind::InvalidSubcommand)?)?;
            Some(format!("did you mean {near}?"))
        }
        ErrorKind::UnknownArgument => {
            let flag = said(ContextKind::InvalidArg)?.split('=').next()?;
            elsewhere(command?, flag).map(str::to_owned)
        }
        _ => None,
    }
}

fn elsewhere(command: &str, flag: &str) -> Option<&'static str> {
    let found = ELSEWHERE
        .iter()
        .find(|(commands, flags, _)| commands.contains(&command) && flags.contains(&flag));
    found.map(|(_, _, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_command_has_a_flag_that_it_is_said_not_to_have() {
        let cli = Cli::command();
        for (commands, flags, _) in ELSEWHERE {
            for command in *commands {
                let command = cli.find_subcommand(command).expect("a command");
                for argument in command.get_arguments() {
                    let long = argument.get_long().map(|name| format!("--{name}"));
                    let short = argument.get_short().map(|name| format!("-{name}"));
                    for name in long.iter().chain(&short) {
                        assert!(!flags.contains(&name.as_str()), "{} {name}", command.get_name());
                    }
                }
            }
        }
    }
}
