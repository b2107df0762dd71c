//! `taste test`.

mod many;
pub(crate) mod one;
pub(crate) mod words;

use std::path::Path;

use anyhow::{Result, bail};
use serde::Serialize;
use taste_data::Samples;
use taste_detector::{
    Detector,
    shift::{Note, Session, TestSettings, Tested, Tests},
};

use crate::{
    Outcome,
    args::TestArgs,
    detect::{Detection, tell_skipped},
    files, pages, paths, print, print_json,
    progress::Bars,
    table::count,
    tell,
};
use words::{named, p_value};

/// What was found, in the words of `--json`.
#[derive(Serialize)]
pub(crate) struct Report<'a> {
    pub(crate) detector: &'a Path,
    pub(crate) alpha: f64,
    pub(crate) least_effect: f64,
    /// The column that divides the data, if one does.
    pub(crate) by: Option<String>,
    /// Whether any batch differs.
    shifted: bool,
    #[serde(flatten)]
    pub(crate) tests: Tests,
}

impl<'a> Report<'a> {
    pub(crate) fn new(detector: &'a Path, settings: &TestSettings, tests: Tests) -> Self {
        Report {
            detector,
            alpha: settings.alpha,
            least_effect: settings.least_effect,
            by: settings.by.as_ref().map(ToString::to_string),
            shifted: tests.batches.iter().any(|b| b.shift.is_shift()),
            tests,
        }
    }

    /// In words; of columns, pixels and terms, `top` are listed.
    pub(crate) fn render(&self, detector: &Detector, top: usize) -> String {
        match (&self.tests.batches[..], &self.tests.too_small[..]) {
            ([batch], []) => one::render(batch, self, detector, top),
            _ => many::render(self),
        }
    }
}

pub(crate) fn run(args: &TestArgs) -> Result<Outcome> {
    let with = &args.with;
    let paths = paths::expanded(&args.data)?;
    let mut sources = vec![with.detector.as_path()];
    sources.extend(paths::borrowed(&paths));
    files::check_targets(&sources, args.page.target().as_slice())?;
    let detector = Detector::open(&with.detector)?;
    let defaults = TestSettings::of(&detector);
    let settings = TestSettings {
        alpha: args.alpha.unwrap_or(defaults.alpha),
        least_effect: args.least_effect,
        permutations: usize::try_from(args.permutations)?,
        batch_size: args.batch_size.map(usize::try_from).transpose()?,
        by: args.by.clone(),
        seed: args.seed,
    };
    let mut session = Session::new(&detector, settings.clone())?;
    let detection = Detection::start(&detector, with, detector.has_map())?;
    let keep: Vec<String> = args.by.iter().map(|by| by.column.clone()).collect();
    for path in &paths {
        let data = detection.open_keeping(std::slice::from_ref(path), &keep)?;
        let bars = Bars::new(with.run.quiet());
        let chunk = detection.chunk();
        session.add(&detection.scorer, &data as &dyn Samples, chunk, &bars.progress())?;
        drop(bars);
        if !with.run.quiet() {
            tell_skipped(&data);
        }
    }
    let tests = session.finish()?;
    if let (true, Some(by)) = (tests.batches.is_empty(), &args.by) {
        bail!(
            "no value of column {:?} has two samples or more: there is nothing to test",
            by.column
        );
    }
    let report = Report::new(&with.detector, &settings, tests);
    if with.json {
        print_json(&report)?;
    } else {
        print(&report.render(&detector, args.top))?;
    }
    if !with.run.quiet() {
        warn(&report, &settings);
    }
    args.page.write(with.run.quiet(), || pages::test(&report, &detector, args.top))?;
    Ok(if report.shifted { Outcome::Found } else { Outcome::Fine })
}

/// Says what the verdicts rest on.
fn warn(report: &Report<'_>, settings: &TestSettings) {
    let batches = &report.tests.batches;
    let reachable = settings.least_p_value() * batches.len() as f64;
    if reachable > settings.alpha {
        tell(&format!(
            "warning: for {} batches, {} permutations give no adjusted p-value below {}: --permutations {} or more can \
             reach alpha = {}",
            batches.len(),
            settings.permutations,
            p_value(reachable.min(1.0)),
            settings.permutations_for(batches.len()),
            settings.alpha
        ));
    }
    for batch in batches {
        for note in &batch.shift.notes {
            if let Some(warning) = warning(batch, *note) {
                tell(&format!("warning: {}: {warning}", named(batch, batches)));
            }
        }
    }
}

fn warning(batch: &Tested, note: Note) -> Option<String> {
    let shift = &batch.shift;
    match note {
        Note::NoScore => Some(format!(
            "{} of {} have no finite score; they count as furthest out",
            shift.not_finite,
            count(shift.samples, "sample")
        )),
        Note::Repeated => Some(format!(
            "{} of {} are copies of others, and the p-value takes samples for independent: it is too small",
            shift.repeated,
            count(shift.samples, "sample")
        )),
        Note::MoreOrdinary | Note::FewFlagged | Note::NewData | Note::SeenCalibration => None,
    }
}
