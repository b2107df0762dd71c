//! Pages: well-formed, self-contained, escaped.

use roxmltree::{Document, Node, ParsingOptions};
use taste_report::{Bars, Lines, Page, Section, Series, Table, Tone};

const ODD: &str = "<img src=\"x\" onerror='y'> & </style></p>\u{0}";

fn page() -> String {
    let lines = Lines::new(ODD).series(Series::new(ODD, [(0.0, 1.0), (1.0, 3.0)]));
    let bars = Bars::new(ODD, [(ODD.to_owned(), 1.0)]);
    let mut table = Table::new([ODD, "number"]).right(&[1]).caption(ODD);
    table.row([ODD, "1.5"]);
    table.row(["only one"]);
    let section = |n: u32| {
        Section::new(format!("{ODD}{n}"))
            .paragraph(ODD)
            .list([ODD, "two"])
            .code(ODD)
            .table(&table)
            .figure(&lines, ODD)
            .figures(&[(&lines, ODD), (&bars, "")])
    };
    let page = Page::new(ODD).lead(ODD).verdict(Tone::Warning, ODD, ODD).footer(ODD);
    (0..4).fold(page, |page, n| page.section(section(n))).to_html()
}

fn parsed(html: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(html, options).expect("well-formed")
}

#[test]
fn text_stays_text_wherever_it_stands() {
    let html = page();
    let document = parsed(&html);
    assert!(!document.descendants().any(|n| n.has_tag_name("img")));
    assert!(!html.contains("<img") && !html.contains("<script"));
    let shown = ODD.replace('\u{0}', "\u{fffd}");
    let whole = |tag: &str| {
        document.descendants().filter(|n| n.has_tag_name(tag) && n.text() == Some(&shown)).count()
    };
    let head = document.descendants().find(|n| n.has_tag_name("head")).expect("a head");
    let title = head.children().find(|n| n.has_tag_name("title")).and_then(|n| n.text());
    assert_eq!((whole("h1"), title), (1, Some(shown.as_str())));
    assert_eq!(whole("strong"), 1);
    assert_eq!(whole("td"), 4);
    assert_eq!(whole("code"), 4);
    assert_eq!(whole("figcaption"), 8);
    assert_eq!(whole("footer"), 1);
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let html = page();
    let document = parsed(&html);
    for node in document.descendants() {
        for attribute in node.attributes() {
            if ["href", "src", "action", "data"].contains(&attribute.name()) {
                let value = attribute.value();
                assert!(value.starts_with('#') || value.starts_with("data:image/png"), "{value}");
            }
        }
    }
    assert!(!html.contains("url(") && !html.contains("@import"));
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn sections_can_be_reached_and_columns_of_numbers_are_marked() {
    let html = page();
    let document = parsed(&html);
    let ids: Vec<&str> = document.descendants().filter_map(|n| n.attribute("id")).collect();
    let links: Vec<&str> = document.descendants().filter_map(|n| n.attribute("href")).collect();
    assert_eq!(ids, ["section-1", "section-2", "section-3", "section-4"]);
    assert_eq!(links, ["#section-1", "#section-2", "#section-3", "#section-4"]);
    let rows = document.descendants().filter(|n| n.has_tag_name("tr"));
    for row in rows {
        let cells = row.children().filter(Node::is_element);
        let classes: Vec<_> = cells.map(|c| c.attribute("class")).collect();
        assert_eq!(classes, [None, Some("number")], "rows have as many cells as the head");
    }
}

#[test]
fn every_colour_of_a_figure_has_a_dark_form() {
    let html = page();
    let dark = html.split("prefers-color-scheme: dark").nth(1).expect("dark colours");
    let document = parsed(&html);
    let classes =
        document.descendants().filter_map(|n| n.attribute("class")).flat_map(|c| c.split(' '));
    let mut seen = 0;
    for class in classes {
        for part in ["fill-", "stroke-"] {
            if let Some(name) = class.strip_prefix(part) {
                assert!(dark.contains(&format!("--{name}: #")), "{name}");
                assert!(html.contains(&format!(".{class} {{")), "{class}");
                seen += 1;
            }
        }
    }
    assert!(seen > 50);
}

#[test]
fn a_short_page_has_no_contents_and_tones_differ() {
    let html = |tone| Page::new("t").verdict(tone, "v", "").section(Section::new("s")).to_html();
    assert!(!html(Tone::Ok).contains("<nav"));
    for (tone, class) in [(Tone::Ok, "ok"), (Tone::Warning, "warning"), (Tone::Alarm, "alarm")] {
        assert!(html(tone).contains(&format!("class=\"verdict {class}\"")));
    }
}
