//! What all pages have around them.

use taste_report::{Figure, escape, page::colours};

use super::assets::STYLE;

/// Where a page will be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// From the service.
    Live,
    /// From a file.
    File,
}

/// A page under construction.
pub(super) struct Layout<'a> {
    pub(super) title: &'a str,
    /// The path in the navigation that is this page, or above it.
    pub(super) at: &'a str,
    pub(super) kind: Kind,
    /// Where news of it come from.
    pub(super) streams: Vec<String>,
}

impl Layout<'_> {
    pub(super) fn page(&self, main: &str) -> String {
        let title = escape(self.title);
        let live = self.kind == Kind::Live;
        let head = if live {
            "<link rel=\"stylesheet\" href=\"/assets/dashboard.css\">\n\
             <link rel=\"icon\" href=\"/assets/icon.svg\" type=\"image/svg+xml\">\n\
             <script type=\"module\" src=\"/assets/dashboard.js\"></script>\n"
                .to_owned()
        } else {
            format!("<style>\n{}{STYLE}</style>\n", colours())
        };
        let streams = escape(&self.streams.join(" "));
        let header = if live { self.header() } else { String::new() };
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} · taste</title>\n{head}\
             </head>\n<body data-streams=\"{streams}\">\n{header}\
             <main id=\"main\" tabindex=\"-1\">\n{main}</main>\n\
             <footer><p>taste {version}. Evidence holds whenever you look: reloading is not peeking.</p>\
             </footer>\n</body>\n</html>\n"
        )
    }

    fn header(&self) -> String {
        let links = [("/", "Monitors"), ("/health", "Service"), ("/openapi.json", "API")];
        let link = |(path, name): &(&str, &str)| {
            let current = if *path == self.at { " aria-current=\"page\"" } else { "" };
            format!("<a href=\"{path}\"{current}>{name}</a>")
        };
        let links: String = links.iter().map(link).collect();
        format!(
            "<a class=\"skip\" href=\"#main\">To the content</a>\n\
             <header class=\"bar\"><a class=\"brand\" href=\"/\">\
             <svg viewBox=\"0 0 24 24\" width=\"22\" height=\"22\" aria-hidden=\"true\">\
             <path d=\"M3 17 8 11l4 3 5-9 4 6\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2.4\" \
             stroke-linecap=\"round\" stroke-linejoin=\"round\"/></svg>taste</a>\
             <nav aria-label=\"Pages\">{links}</nav>\
             <span class=\"live\" id=\"live\" role=\"status\" hidden></span>\
             <button type=\"button\" id=\"theme\" hidden>Dark</button></header>\n"
        )
    }
}

/// A figure in a wide and in a narrow form, with what it shows in a sentence and its numbers as a table.
pub(super) struct Drawn<'a> {
    pub(super) id: &'a str,
    pub(super) heading: &'a str,
    pub(super) wide: &'a dyn Figure,
    pub(super) narrow: &'a dyn Figure,
    pub(super) finding: String,
    pub(super) head: Vec<&'a str>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Drawn<'_> {
    pub(super) fn html(&self) -> String {
        let Self { id, heading, .. } = self;
        let (wide, narrow) = (self.wide.to_svg(), self.narrow.to_svg());
        let finding = escape(&self.finding);
        let table = table(&self.head, &self.rows);
        format!(
            "<section class=\"card figure\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{heading}</h2>\n\
             <p class=\"finding\">{finding}</p>\n\
             <figure id=\"{id}\"><div class=\"wide\">{wide}</div><div class=\"narrow\">{narrow}</div></figure>\n\
             <details><summary>Numbers<span class=\"quiet\"> of {heading}</span></summary>{table}</details></section>\n"
        )
    }
}

/// A table with a head; cells are text.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let label = escape(&head.join(", "));
    let head: Vec<String> =
        head.iter().map(|cell| format!("<th scope=\"col\">{}</th>", escape(cell))).collect();
    let head = head.concat();
    let row = |cells: &Vec<String>| {
        let cells: Vec<String> = cells
            .iter()
            .map(|cell| {
                let digits = cell.trim_start_matches(['+', '-', '−']);
                let number = digits.starts_with(|c: char| c.is_ascii_digit());
                let class = if number { " class=\"number\"" } else { "" };
                format!("<td{class}>{}</td>", escape(cell))
            })
            .collect();
        format!("<tr>{}</tr>\n", cells.concat())
    };
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table: {label}\">\
         <table><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// A number with its name.
pub(super) fn fact(name: &str, value: &str, detail: &str) -> String {
    let detail = if detail.is_empty() {
        String::new()
    } else {
        format!("<span class=\"detail\">{}</span>", escape(detail))
    };
    format!("<div><dt>{}</dt><dd>{}{detail}</dd></div>\n", escape(name), escape(value))
}
