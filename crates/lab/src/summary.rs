//! What of the paper holds, over all experiments whose pages are in a folder.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    EXPERIMENTS, Error, KIND,
    page::{Told, paragraph, put},
};

/// Writes `README.md` of a folder of results: every claim of every page that is there, with a link. None if there is no
/// page.
pub fn summarise(out: &Path) -> Result<Option<PathBuf>, Error> {
    let mut text = String::new();
    for experiment in EXPERIMENTS {
        let name = experiment.choice.name;
        let kept = fs::read(out.join(name).join("page.json")).ok();
        let Some(told) = kept.and_then(|b| serde_json::from_slice::<Told>(&b).ok()) else {
            continue;
        };
        let run = told.facts.iter().find(|f| f.0 == "run").map_or("", |f| &f.1);
        let _ = write!(
            text,
            "\n## [{}]({name}.md)\n\nPaper: {}. Run: {run}.\n\n| claim | | what was seen |\n|---|---|---|\n",
            told.title, experiment.section
        );
        for claim in &told.claims {
            let line = |words: &str| words.replace('|', "\\|").replace('\n', " ");
            let verdict = claim.verdict.words();
            let _ =
                writeln!(text, "| {} | {verdict} | {} |", line(&claim.claim), line(&claim.seen));
        }
    }
    if text.is_empty() {
        return Ok(None);
    }
    let head = "# What of the paper holds\n\nWritten by `taste reproduce` from the pages in this folder: every claim \
                that an experiment looked at,\nand what was seen. The figures behind it are on the pages.\n";
    let path = out.join("README.md");
    put(&path, format!("{head}{text}").as_bytes())?;
    Ok(Some(path))
}

/// The page of all experiments: `docs/experiments.md`.
pub fn listing() -> String {
    let mut text =
        "# Experiments\n\nWritten by `cargo test -p taste-lab` from the table in the code.\n"
            .to_owned();
    paragraph(
        &mut text,
        "`taste reproduce NAME --data DATA --models MODELS --out OUT` runs one, `taste reproduce all` every one of them. \
         OUT gets NAME.md, a folder NAME with figures (SVG, PNG), tables (CSV) and page.json, and README.md, which sums \
         up all pages that are there. `--quick` takes minutes. Steps are kept in OUT/kept, so that a run that was stopped \
         goes on where it was; the folder can be removed when all is done.",
    );
    paragraph(
        &mut text,
        "One rule holds for all: detectors are calibrated on held-out samples, a score has one tail for all sets, and no \
         test data takes part in any choice. What the paper did otherwise stands beside it, under its name.",
    );
    let _ = write!(text, "\n{}", taste_catalog::table(&KIND));
    text
}
