//! `taste import`, and folders that stand for a diffusion model.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use taste_stein::score::{self, Specification};
use taste_train::import::{self, Imported, Options, Schedule};

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

/// The score model of `ddpm:FOLDER,t=50,…`, if that is what is asked for: what the options leave open, the folder's schedule
/// says.
pub(crate) fn score(text: &str) -> Result<Option<Box<dyn Specification>>> {
    let Some(rest) = text.strip_prefix("ddpm:") else { return Ok(None) };
    let mut ends = rest.match_indices(',').map(|(at, _)| at).chain([rest.len()]);
    let Some(end) = ends.rfind(|&end| Path::new(rest[..end].trim()).is_dir()) else {
        return Ok(None);
    };
    let folder = Path::new(rest[..end].trim());
    let mut options: Vec<String> =
        rest[end..].split(',').skip(1).map(|part| part.trim().to_owned()).collect();
    let imported = import::open(folder, &Options::default())?;
    if let Some(schedule) = imported.schedule {
        let known = [
            ("schedule", schedule.name.to_owned()),
            ("steps", schedule.steps.to_string()),
            ("beta-start", schedule.beta_start.to_string()),
            ("beta-end", schedule.beta_end.to_string()),
        ];
        for (key, value) in known {
            let is_given = |part: &String| part.split('=').next().map(str::trim) == Some(key);
            if !options.iter().any(is_given) {
                options.push(format!("{key}={value}"));
            }
        }
    }
    Ok(Some(score::diffusion(imported.model, &options.join(","))?))
}
