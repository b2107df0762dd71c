//! `taste completions`.

use clap::Args;
use clap_complete::Shell;

/// Print completions of commands and flags for a shell
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste completions bash > ~/.local/share/bash-completion/completions/taste
  taste completions zsh > ~/.zfunc/_taste
  taste completions fish > ~/.config/fish/completions/taste.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}
