//! What a page consists of.

use super::Table;
use crate::{drawing::Figure, text::escape};

/// A heading and what stands below it, in the order of the calls.
#[derive(Clone, Debug)]
pub struct Section {
    heading: String,
    html: String,
}

impl Section {
    /// An empty section.
    pub fn new(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), html: String::new() }
    }

    /// Sentences.
    #[must_use]
    pub fn paragraph(mut self, text: impl AsRef<str>) -> Self {
        self.html += &format!("<p>{}</p>\n", escape(text.as_ref()));
        self
    }

    /// Points of a list.
    #[must_use]
    pub fn list<S: AsRef<str>>(mut self, points: impl IntoIterator<Item = S>) -> Self {
        self.html += "<ul>\n";
        for point in points {
            self.html += &format!("<li>{}</li>\n", escape(point.as_ref()));
        }
        self.html += "</ul>\n";
        self
    }

    /// Commands, output, files: text whose spaces count.
    #[must_use]
    pub fn code(mut self, text: impl AsRef<str>) -> Self {
        self.html += &format!("<pre><code>{}</code></pre>\n", escape(text.as_ref()));
        self
    }

    /// A table.
    #[must_use]
    pub fn table(mut self, table: &Table) -> Self {
        self.html += &table.to_html();
        self
    }

    /// A figure with a line below it.
    #[must_use]
    pub fn figure(mut self, figure: &dyn Figure, caption: impl AsRef<str>) -> Self {
        self.html += &element(figure, caption.as_ref());
        self
    }

    /// Figures beside each other, as far as the window is wide enough.
    #[must_use]
    pub fn figures(mut self, figures: &[(&dyn Figure, &str)]) -> Self {
        self.html += "<div class=\"row\">\n";
        for (figure, caption) in figures {
            self.html += &element(*figure, caption);
        }
        self.html += "</div>\n";
        self
    }

    pub(super) fn heading(&self) -> &str {
        &self.heading
    }

    pub(super) fn to_html(&self, number: usize) -> String {
        let heading = escape(&self.heading);
        format!("<section id=\"section-{number}\">\n<h2>{heading}</h2>\n{}</section>\n", self.html)
    }
}

fn element(figure: &dyn Figure, caption: &str) -> String {
    let caption = if caption.is_empty() {
        String::new()
    } else {
        format!("<figcaption>{}</figcaption>", escape(caption))
    };
    format!("<figure><div class=\"scroll\">{}</div>{caption}</figure>\n", figure.to_svg())
}
