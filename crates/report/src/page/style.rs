//! The style sheet: fixed rules, and the colours of figures from the theme.

use std::fmt::Write;

use crate::{colour::Colour, theme::Paint};

const RULES: &str = include_str!("style.css");

/// The whole sheet.
pub(super) fn sheet() -> String {
    let mut css = format!(":root {{\n{}}}\n", variables(Paint::light));
    // Paper is white, so the dark colours are for screens.
    let dark = variables(Paint::dark);
    css += &format!("@media screen and (prefers-color-scheme: dark) {{\n:root {{\n{dark}}}\n}}\n");
    for class in Paint::themed().filter_map(Paint::class) {
        // Writing to a string does not fail.
        let _ = writeln!(css, ".fill-{class} {{ fill: var(--{class}); }}");
        let _ = writeln!(css, ".stroke-{class} {{ stroke: var(--{class}); }}");
    }
    css + RULES
}

fn variables(colour: fn(Paint) -> Colour) -> String {
    let line = |paint: Paint| {
        paint.class().map(|class| format!("  --{class}: {};\n", colour(paint))).unwrap_or_default()
    };
    Paint::themed().map(line).collect()
}
