//! `taste corrupt`.

use anyhow::Result;
use serde::Serialize;
use taste_zoo::corruptions::{self, Recipe, Source};

use crate::{args::CorruptArgs, detect, files, print_json, progress::Bars, table, tell};

/// What was written, in the words of `--json`.
#[derive(Serialize)]
struct Report {
    data: String,
    corruption: String,
    seed: u64,
    samples: usize,
    shape: Vec<usize>,
    file: String,
    labels: Option<String>,
}

pub(crate) fn run(args: &CorruptArgs) -> Result<()> {
    files::check_targets(&[&args.data], &[("-o", &args.out)])?;
    let mut recipe = Recipe::read(&args.kind)?.with_seed(args.seed);
    if let Some(severity) = &args.severity {
        recipe = recipe.with_severity(severity)?;
    }
    let source = Source::open(&args.data, &args.options()?)?;
    let bars = Bars::new(args.quiet);
    let first = args.first.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    let written = corruptions::write(&source, &recipe, first, &args.out, &bars.progress())?;
    if !args.quiet {
        detect::tell_skipped(source.data());
    }
    if !args.quiet {
        let samples = table::count(written.samples, "sample");
        tell(&format!("{samples} with {}, seed {}", recipe.text(), recipe.seed()));
        tell(&format!("wrote {}", args.out.display()));
        if let Some(labels) = &written.labels {
            tell(&format!("wrote {}", labels.display()));
        }
    }
    if args.json {
        print_json(&Report {
            data: args.data.display().to_string(),
            corruption: recipe.text(),
            seed: recipe.seed(),
            samples: written.samples,
            shape: written.shape,
            file: args.out.display().to_string(),
            labels: written.labels.map(|path| path.display().to_string()),
        })?;
    }
    Ok(())
}
