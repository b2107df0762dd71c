//! The page of all choices, as Markdown.

use std::fmt::Write as _;

use crate::KINDS;

/// All tables as one page: `docs/choices.md`.
pub fn page() -> String {
    let mut text = "# What there is to choose\n\nWritten by `cargo test -p taste-catalog` from the tables in the code; \
                    `taste list KIND` prints one of them.\n"
        .to_owned();
    for kind in KINDS {
        // Writing to a string never fails.
        let _ = write!(
            text,
            "\n## {}\n\n{}\n\n| written | what it is |\n|---|---|\n",
            kind.title, kind.choice.about
        );
        for choice in (kind.entries)() {
            let usage = choice.usage.replace('|', "\\|");
            let _ = writeln!(text, "| `{usage}` | {} |", choice.about.replace('|', "\\|"));
        }
    }
    text
}
