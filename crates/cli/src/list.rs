//! `taste list`.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use taste_catalog::Kind;
use taste_choice::unknown;

use crate::{
    args::{ListArgs, OpsArgs},
    ops, print, print_json,
    table::Table,
};

#[derive(Serialize)]
struct Listed {
    kind: &'static str,
    entries: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    /// What else is known, by heading.
    #[serde(flatten)]
    facts: BTreeMap<&'static str, String>,
}

pub(crate) fn run(args: &ListArgs) -> Result<()> {
    if args.kind.as_deref() == Some("onnx-operators") {
        return ops::run(&OpsArgs { json: args.json });
    }
    let kinds: Vec<&Kind> = match &args.kind {
        Some(name) => vec![kind(name)?],
        None => kinds().collect(),
    };
    if args.json {
        return print_json(&kinds.iter().map(|k| listed(k)).collect::<Vec<_>>());
    }
    let shown: Vec<String> = kinds.iter().map(|k| render(k)).collect();
    print(&shown.join("\n"))
}

/// Every kind.
fn kinds() -> impl Iterator<Item = &'static Kind> {
    taste_catalog::KINDS.iter().chain([&taste_lab::KIND])
}

fn kind(name: &str) -> Result<&'static Kind> {
    let found = kinds().find(|k| k.choice.name == name);
    Ok(found.ok_or_else(|| unknown("list", &kinds().collect::<Vec<_>>(), name))?)
}

fn listed(kind: &Kind) -> Listed {
    let line = |e: taste_catalog::Listed| Line {
        name: e.choice.name,
        usage: e.choice.usage,
        about: e.choice.about,
        facts: e.facts.into_iter().collect(),
    };
    Listed { kind: kind.choice.name, entries: (kind.entries)().into_iter().map(line).collect() }
}

fn render(kind: &Kind) -> String {
    let mut rows = Table::default();
    for taste_catalog::Listed { choice, facts } in (kind.entries)() {
        let known: Vec<String> =
            facts.iter().map(|(what, fact)| format!("{what}: {fact}")).collect();
        rows.row([choice.usage, choice.about]);
        if !known.is_empty() {
            rows.row(["", &known.join("; ")]);
        }
    }
    format!("{}: {}\n\n{}", kind.choice.name, kind.choice.about, rows.render(2))
}
