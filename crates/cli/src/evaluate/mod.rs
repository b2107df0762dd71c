//! `taste evaluate`.

mod labels;
pub(crate) mod sets;
pub(crate) mod sheet;
pub(crate) mod text;

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use taste_detector::Detector;
use taste_zoo::evaluation::{Evaluated, Set, evaluate};

use crate::{
    Outcome, args::EvaluateArgs, detect::tell_skipped, files, hints, pages, print, print_json,
    progress::Bars, tell,
};
use labels::{Kept, Known};
use sets::Named;

/// What was found, in the words of `--json`.
#[derive(Serialize)]
pub(crate) struct Report<'a> {
    pub(crate) id: &'a Path,
    /// What FPR95 is here.
    pub(crate) fpr95: &'static str,
    pub(crate) detectors: Vec<Judged<'a>>,
}

/// A detector and how it does.
#[derive(Serialize)]
pub(crate) struct Judged<'a> {
    pub(crate) detector: &'a Path,
    #[serde(flatten)]
    pub(crate) found: Evaluated,
}

pub(crate) fn run(args: &EvaluateArgs) -> Result<Outcome> {
    let quiet = args.run.quiet();
    let sets = sets::named(&args.ood)?;
    let label_files = Known::files(args);
    let mut others: Vec<&Path> = args.detectors.iter().map(AsRef::as_ref).collect();
    others.push(&args.id);
    others.extend(label_files.iter().map(PathBuf::as_path));
    let own = sets.iter().map(|set| set.path.as_path());
    let sources: Vec<&Path> = others.iter().copied().chain(own).collect();
    let out = args.out.iter().map(|p| ("-o", p.as_path()));
    let targets: Vec<(&str, &Path)> = out.chain(args.page.target()).collect();
    files::check_targets(&sources, &targets)?;
    let detectors = args.detectors.iter().map(|path| Detector::open(path));
    let detectors = detectors.collect::<Result<Vec<_>, _>>()?;
    let known = Known::read(args, &detectors[0])?;
    if !quiet {
        detectors.iter().zip(&args.detectors).for_each(|(d, path)| tell_seen(d, path, &args.id));
    }
    let sets = sets::fitting(sets, &others, &detectors[0], quiet)?;
    let kept = known.of_sets(&sets, &detectors[0], args)?;
    let mut report = Report {
        id: &args.id,
        fpr95: "ID positive: the share of shifted samples accepted where 95 % of clean ones are",
        detectors: Vec::new(),
    };
    for (path, detector) in args.detectors.iter().zip(&detectors) {
        let found = judge(args, path, detector, known.of_id(), &sets, &kept)?;
        report.detectors.push(Judged { detector: path, found });
    }
    if let Some(path) = &args.out {
        sheet::write(path, &report)?;
    }
    if args.json {
        print_json(&report)?;
    } else if args.out.is_none() || !quiet {
        print(&text::render(&report))?;
    }
    if let Some(path) = args.out.as_deref().filter(|_| !quiet) {
        tell(&format!("wrote {}", path.display()));
    }
    args.page.write(quiet, || pages::evaluate(&report))?;
    Ok(Outcome::Fine)
}

/// Says where clean samples are those that a detector was made of.
fn tell_seen(detector: &Detector, path: &Path, id: &Path) {
    let data = &detector.manifest().data;
    let made_of = std::iter::once(&data.train).chain(&data.calibration).map(Path::new);
    if made_of.map(files::same).any(|seen| seen == files::same(id)) {
        tell(&format!(
            "warning: {} was made of {}: give clean samples that it has not seen, or every number here is too good",
            path.display(),
            id.display()
        ));
    }
}

/// Scores all sets with a detector.
fn judge(
    args: &EvaluateArgs,
    path: &Path,
    detector: &Detector,
    id_labels: Kept<'_>,
    sets: &[Named],
    labels: &[Kept<'_>],
) -> Result<Evaluated> {
    let id = id_labels.open(&args.id, detector, args.skip_bad)?;
    let open = sets.iter().zip(labels).map(|(set, l)| l.open(&set.path, detector, args.skip_bad));
    let open = open.collect::<Result<Vec<_>>>()?;
    let clean = Set { name: "id".to_owned(), data: &id.data, truth: id.truth() };
    let shifted: Vec<Set<'_>> = sets
        .iter()
        .zip(&open)
        .map(|(set, open)| Set { name: set.name.clone(), data: &open.data, truth: open.truth() })
        .collect();
    let chunk = args.run.chunk(detector.manifest().model.chunk);
    let bars = Bars::new(args.run.quiet());
    let engine = args.run.engine()?;
    let found = evaluate(detector, &engine, chunk, &clean, &shifted, &bars.progress());
    drop(bars);
    let found = found.map_err(|e| match e {
        taste_detector::Error::Engine(_) => hints::about(path, &e),
        other => other.into(),
    })?;
    if !args.run.quiet() {
        std::iter::once(&id).chain(&open).for_each(|set| tell_skipped(&set.data));
    }
    Ok(found)
}
