//! Tables of choices in help texts.

use std::fmt::Write as _;

/// A table as lines of text, under its heading.
pub(super) fn table(kind: &str) -> String {
    const WIDTH: usize = 30;
    let Ok(kind) = taste_catalog::kind(kind) else { return String::new() };
    let mut text = format!("{}:\n", kind.title);
    for taste_catalog::Listed { choice, .. } in (kind.entries)() {
        // Writing to a string never fails.
        let _ = if choice.usage.chars().count() < WIDTH {
            writeln!(text, "  {:WIDTH$}{}", choice.usage, choice.about)
        } else {
            writeln!(text, "  {}\n  {:WIDTH$}{}", choice.usage, "", choice.about)
        };
    }
    text
}
