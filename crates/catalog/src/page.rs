//! The page of all choices, as Markdown.

use std::fmt::Write as _;

use crate::{KINDS, Kind, Listed};

/// All tables as one page: `docs/choices.md`.
pub fn page() -> String {
    let mut text = "# What there is to choose\n\nWritten by `cargo test -p taste-catalog` from the tables in the code; \
                    `taste list KIND` prints one of them.\n"
        .to_owned();
    for kind in KINDS {
        // Writing to a string never fails.
        let _ = write!(text, "\n## {}\n\n{}", kind.title, table(kind));
    }
    text
}

/// What a kind is, and its table.
pub fn table(kind: &Kind) -> String {
    let mut text = format!("{}\n\n| written | what it is |", kind.choice.about);
    let entries = (kind.entries)();
    let columns = entries.first().map_or(&[][..], |e| &e.facts);
    for (heading, _) in columns {
        let _ = write!(text, " {heading} |");
    }
    let _ = writeln!(text, "\n|---|---|{}", "---|".repeat(columns.len()));
    for Listed { choice, facts } in entries {
        let usage = choice.usage.replace('|', "\\|");
        let _ = write!(text, "| `{usage}` | {} |", choice.about.replace('|', "\\|"));
        for (_, fact) in facts {
            let _ = write!(text, " {} |", fact.replace('|', "\\|"));
        }
        text.push('\n');
    }
    text
}
