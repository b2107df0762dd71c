//! Self-contained HTML pages: one file, no script, nothing loaded from elsewhere, light and dark.

mod markup;
mod section;
mod style;
mod table;

pub use section::Section;
pub use style::colours;
pub use table::Table;

use crate::text::escape;
use markup::{around, element};

/// How serious a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Nothing to do.
    Ok,
    /// Worth a look.
    Warning,
    /// Something to act upon.
    Alarm,
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Alarm => "alarm",
        }
    }

    /// A sign that tells tones apart without colour.
    fn sign(self) -> &'static str {
        match self {
            Self::Ok => "✓",
            Self::Warning => "!",
            Self::Alarm => "✕",
        }
    }
}

/// A report. All text is plain text: what would be markup is shown as it is.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    lead: String,
    verdict: Option<(Tone, String, String)>,
    sections: Vec<Section>,
    footer: String,
}

impl Page {
    /// A page without sections yet.
    pub fn new(title: impl Into<String>) -> Self {
        let (lead, footer) = (String::new(), String::new());
        Self { title: title.into(), lead, verdict: None, sections: Vec::new(), footer }
    }

    /// A sentence below the title.
    #[must_use]
    pub fn lead(mut self, lead: impl Into<String>) -> Self {
        self.lead = lead.into();
        self
    }

    /// The answer, in a box at the top: a few words and what they rest on.
    #[must_use]
    pub fn verdict(
        mut self,
        tone: Tone,
        headline: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        self.verdict = Some((tone, headline.into(), detail.into()));
        self
    }

    /// Adds a section.
    #[must_use]
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// A line at the end.
    #[must_use]
    pub fn footer(mut self, footer: impl Into<String>) -> Self {
        self.footer = footer.into();
        self
    }

    /// The whole file.
    pub fn to_html(&self) -> String {
        let title = escape(&self.title);
        let style = style::sheet();
        let mut header = element("h1", &self.title);
        if !self.lead.is_empty() {
            header += &around("p", "lead", &escape(&self.lead));
        }
        let mut main = String::new();
        if let Some((tone, headline, detail)) = &self.verdict {
            main += &verdict(*tone, headline, detail);
        }
        main += &self.contents();
        for (i, section) in self.sections.iter().enumerate() {
            main += &section.to_html(i + 1);
        }
        let mut body = around("header", "", &header) + &around("main", "", &main);
        if !self.footer.is_empty() {
            body += &element("footer", &self.footer);
        }
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'unsafe-inline'; img-src data:\"/>\n\
             <meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{title}</title>\n\
             <style>\n{style}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
        )
    }

    /// Links to the sections, where there are more than a few.
    fn contents(&self) -> String {
        if self.sections.len() < 4 {
            return String::new();
        }
        let links = self.sections.iter().enumerate().map(|(i, section)| {
            format!("<a href=\"#section-{}\">{}</a>\n", i + 1, escape(section.heading()))
        });
        format!("<nav aria-label=\"Contents\">\n{}</nav>\n", links.collect::<String>())
    }
}

fn verdict(tone: Tone, headline: &str, detail: &str) -> String {
    let (class, sign) = (tone.class(), tone.sign());
    let mut words = element("strong", headline);
    if !detail.is_empty() {
        words += &element("p", detail);
    }
    let words = around("div", "", &words);
    format!(
        "<div class=\"verdict {class}\" role=\"status\">\
         <span class=\"sign\" aria-hidden=\"true\">{sign}</span>{words}</div>\n"
    )
}
