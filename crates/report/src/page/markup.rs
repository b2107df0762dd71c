//! Elements of HTML.

use crate::text::escape;

/// An element around text.
pub(super) fn element(tag: &str, text: &str) -> String {
    around(tag, "", &escape(text))
}

/// An element of a class around markup; an empty class is none.
pub(super) fn around(tag: &str, class: &str, markup: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<{tag}{class}>{markup}</{tag}>\n")
}
