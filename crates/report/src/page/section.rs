//! What a page consists of.

use super::{
    Table,
    markup::{around, element},
};
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
        self.html += &element("p", text.as_ref());
        self
    }

    /// Points of a list.
    #[must_use]
    pub fn list<S: AsRef<str>>(mut self, points: impl IntoIterator<Item = S>) -> Self {
        let points: String = points.into_iter().map(|p| element("li", p.as_ref())).collect();
        self.html += &around("ul", "", &points);
        self
    }

    /// Commands, output, files: text whose spaces count.
    #[must_use]
    pub fn code(mut self, text: impl AsRef<str>) -> Self {
        self.html += &around("pre", "", element("code", text.as_ref()).trim_end());
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
        self.html += &framed(figure, caption.as_ref());
        self
    }

    /// Figures beside each other, as far as the window is wide enough.
    #[must_use]
    pub fn figures(mut self, figures: &[(&dyn Figure, &str)]) -> Self {
        let row: String =
            figures.iter().map(|(figure, caption)| framed(*figure, caption)).collect();
        self.html += &around("div", "row", &row);
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

fn framed(figure: &dyn Figure, caption: &str) -> String {
    let caption = if caption.is_empty() { String::new() } else { element("figcaption", caption) };
    around("figure", "", &(around("div", "scroll", &figure.to_svg()) + &caption))
}
