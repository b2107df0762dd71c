//! `taste import`.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use taste_train::import::{self, Imported, Schedule};

use crate::{
    args::ImportArgs,
    files, print, print_json,
    table::{self, Table, grouped},
    tell,
};

/// What was made of the weights.
#[derive(Serialize)]
struct Report<'a> {
    source: String,
    architecture: &'a str,
    parameters: usize,
    inputs: Vec<String>,
    sample_shape: &'a [usize],
    output: String,
    schedule: Option<Schedule>,
    file: String,
}

pub(crate) fn run(args: &ImportArgs) -> Result<()> {
    files::check_targets(&[&args.source], &[("-o", &args.out)])?;
    let imported = import::open(&args.source, &args.options()?)?;
    imported.model.onnx().save(&args.out)?;
    let report = report(&imported, &args.source, &args.out);
    if args.json {
        print_json(&report)?;
    } else {
        print(&render(&report))?;
    }
    tell(&format!("wrote {}", args.out.display()));
    Ok(())
}

fn report<'a>(imported: &'a Imported, source: &Path, out: &Path) -> Report<'a> {
    let graph = imported.model.onnx().proto.graph.as_ref();
    let inputs = graph.map_or_else(Vec::new, |g| g.input.iter().map(|i| i.name.clone()).collect());
    let output = graph.and_then(|g| g.output.first()).map_or_else(String::new, |o| o.name.clone());
    Report {
        source: source.display().to_string(),
        architecture: &imported.architecture,
        parameters: imported.parameters,
        inputs,
        sample_shape: &imported.sample_shape,
        output,
        schedule: imported.schedule,
        file: out.display().to_string(),
    }
}

fn render(report: &Report<'_>) -> String {
    let mut facts = Table::default();
    facts.row(["source", &report.source]);
    facts.row(["network", report.architecture]);
    facts.row(["parameters".to_owned(), grouped(report.parameters as u64)]);
    let further = report.inputs.iter().skip(1).map(|name| format!(" and {name}"));
    let first = report.inputs.first().map_or("", String::as_str);
    facts.row([
        "input".to_owned(),
        format!("{first} {}{}", table::shape(report.sample_shape), further.collect::<String>()),
    ]);
    facts.row(["output", &report.output]);
    if let Some(Schedule { name, steps, beta_start, beta_end }) = report.schedule {
        let betas = format!("{steps} steps, beta from {beta_start} to {beta_end}");
        facts.row(["schedule".to_owned(), format!("{name}, {betas}")]);
    }
    facts.render(0)
}
