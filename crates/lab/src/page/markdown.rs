use std::fmt::Write as _;

use super::{Block, Page};

/// The longest line of prose.
const WIDTH: usize = 118;

pub(super) fn page(page: &Page) -> String {
    let mut text = format!("# {}\n", page.title);
    paragraph(&mut text, &page.lead);
    let _ = write!(text, "\n```console\n$ {}\n```\n", page.command);
    claims(&mut text, page);
    for block in &page.blocks {
        match block {
            Block::Heading(heading) => {
                let _ = write!(text, "\n## {heading}\n");
            }
            Block::Paragraph(words) => paragraph(&mut text, words),
            Block::Figure { name, caption, .. } => {
                let _ = write!(text, "\n![{}]({}/{name}.svg)\n", one_line(name), page.name);
                paragraph(&mut text, caption);
            }
            Block::Table(table) => {
                let written = table.markdown(page.name);
                let (caption, rest) = written.split_once('\n').unwrap_or((&written, ""));
                paragraph(&mut text, caption);
                text += rest;
            }
        }
    }
    numbers(&mut text, page);
    text += "\n## How it was run\n\n| | |\n|---|---|\n";
    for (name, fact) in &page.facts {
        let _ = writeln!(text, "| {name} | {} |", cell(fact));
    }
    text
}

fn claims(text: &mut String, page: &Page) {
    if page.claims.is_empty() {
        return;
    }
    *text += "\n## What was found\n\n| claim | | what was seen |\n|---|---|---|\n";
    for claim in &page.claims {
        let verdict = claim.verdict.words();
        let _ = writeln!(text, "| {} | {verdict} | {} |", cell(&claim.claim), cell(&claim.seen));
    }
}

fn numbers(text: &mut String, page: &Page) {
    if page.numbers.is_empty() {
        return;
    }
    *text += "\n## Beside the paper\n\n| | paper | here | difference | why |\n|---|---:|---:|---:|---|\n";
    for number in &page.numbers {
        let shown = |value: Option<f64>| value.map_or("–".to_owned(), |v| format!("{v:.4}"));
        let difference = number.paper.zip(number.here).map(|(paper, here)| here - paper);
        let difference = difference.map_or("–".to_owned(), |v| format!("{v:+.4}"));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {difference} | {} |",
            cell(&number.what),
            shown(number.paper),
            shown(number.here),
            cell(&number.why)
        );
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cell(text: &str) -> String {
    one_line(text).replace('|', "\\|")
}

/// Words in lines of bounded width, after an empty line.
pub(crate) fn paragraph(text: &mut String, words: &str) {
    if words.is_empty() {
        return;
    }
    let mut line = String::new();
    text.push('\n');
    for word in words.split_whitespace() {
        let longer = line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && longer > WIDTH {
            *text += &line;
            text.push('\n');
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    *text += &line;
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_prose_are_of_bounded_width_and_lose_no_word() {
        let words = "a word or twenty-three ".repeat(40);
        let mut text = String::new();
        paragraph(&mut text, &words);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(text.lines().filter(|line| line.chars().count() > 90).count() >= 6);
        assert_eq!(one_line(&text), one_line(&words));
    }
}
