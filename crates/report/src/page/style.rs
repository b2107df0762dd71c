//! The style sheet: fixed rules, and the colours of figures from the theme.

use crate::{colour::Colour, theme::Paint};

const RULES: &str = include_str!("style.css");

/// The whole sheet.
pub(super) fn sheet() -> String {
    format!("{}{RULES}", colours())
}

/// The colours of figures, for light and for dark surroundings: those that the reader prefers, unless the page itself says
/// `data-theme="light"` or `"dark"`.
pub fn colours() -> String {
    let (light, dark) = (variables(Paint::light), variables(Paint::dark));
    let rules = Paint::themed().filter_map(Paint::class).map(|class| {
        format!(
            ".fill-{class} {{ fill: var(--{class}); }}\n\
             .stroke-{class} {{ stroke: var(--{class}); }}\n"
        )
    });
    let rules: String = rules.collect();
    // Paper is white, so the dark colours are for screens.
    format!(
        ":root {{\n{light}}}\n\
         @media screen and (prefers-color-scheme: dark) {{\n:root:not([data-theme=light]) {{\n{dark}}}\n}}\n\
         @media screen {{\n:root[data-theme=dark] {{\n{dark}}}\n}}\n{rules}"
    )
}

fn variables(colour: fn(Paint) -> Colour) -> String {
    let line = |paint: Paint| {
        paint.class().map(|class| format!("  --{class}: {};\n", colour(paint))).unwrap_or_default()
    };
    Paint::themed().map(line).collect()
}
