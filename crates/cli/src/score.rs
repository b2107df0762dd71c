//! `taste score`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use taste_data::{Chunk, Column, Dataset, Kind, TableWriter, TextFormat, Value, kinds};
use taste_detector::{Detector, PartFacts, Remark, Role, Scores};

use crate::{
    Outcome,
    args::ScoreArgs,
    detect::Detection,
    files, look,
    pages::Scored,
    paths,
    predictions::Predictions,
    print_json,
    table::{count, percent},
    tell,
};

/// The summary, in the words of `--json`.
#[derive(Serialize)]
struct Summary<'a> {
    detector: &'a Path,
    data: &'a str,
    samples: usize,
    flagged: usize,
    /// Samples whose entries or score are not finite; they are among the flagged.
    not_finite: usize,
    threshold: Option<f64>,
    novelty_threshold: Option<f64>,
    /// What is flagged, in words.
    #[serde(skip)]
    beyond: String,
    alpha: Option<f64>,
    /// Whether far fewer samples are flagged than of calibration samples.
    too_few_flagged: bool,
    /// What a look at each column or channel beside the training data tells.
    data_remarks: Vec<Remark>,
    file: Option<&'a Path>,
    /// Why there are no columns of the model's own answers, if they were wanted.
    #[serde(skip)]
    left_out: Option<String>,
}

pub(crate) fn run(args: &ScoreArgs) -> Result<Outcome> {
    let with = &args.with;
    let out = args.out.iter().map(|p| ("-o", p.as_path()));
    let targets: Vec<(&str, &Path)> = out.chain(args.page.target()).collect();
    let paths = paths::expanded(&args.data)?;
    let sources: Vec<&Path> =
        std::iter::once(with.detector.as_path()).chain(paths::borrowed(&paths)).collect();
    files::check_targets(&sources, &targets)?;
    let detector = Detector::open(&with.detector)?;
    let mut scored = args.page.report.as_ref().map(|_| Scored::new(&detector));
    let with_map = scored.is_some() && detector.has_map();
    let detection = Detection::predicting(&detector, with, with_map)?;
    let data = detection.open_keeping(&paths, &args.keep)?;
    let kept = kinds_kept(args, &paths)?;
    let mut sheet = Sheet::create(args, &detector, &data, kept)?;
    let mut comparison = detector.compare();
    let samples = detection.each(&data, |chunk, scores| {
        if let Some(comparison) = &mut comparison {
            comparison.add(&chunk.values.view());
        }
        if let Some(scored) = &mut scored {
            scored.add(&data, chunk, scores);
        }
        sheet.add(chunk, scores)
    });
    let samples = match samples {
        Err(e) if is_closed_pipe(&e) => return Ok(Outcome::Fine),
        other => other?,
    };
    let (flagged, not_finite) = (sheet.flagged, sheet.not_finite);
    match sheet.writer.finish() {
        Err(e) if e.is_broken_pipe() => return Ok(Outcome::Fine),
        other => other?,
    }
    let decision = &detector.manifest().decision;
    let name = paths::shown(&paths);
    let left_out = Predictions::left_out(&detector);
    let remarks = comparison.map_or_else(Vec::new, |c| c.remarks());
    let summary = Summary {
        detector: &with.detector,
        data: &name,
        samples,
        flagged,
        not_finite,
        threshold: decision.threshold,
        novelty_threshold: decision.novelty_threshold,
        beyond: crate::edit::beyond(decision),
        alpha: decision.alpha,
        too_few_flagged: detector.flags_too_few(flagged, samples),
        data_remarks: remarks.clone(),
        file: args.out.as_deref(),
        left_out: left_out.filter(|_| !is_npy(args)),
    };
    if !with.run.quiet() {
        summary.tell();
    }
    if let Some(scored) = scored {
        args.page
            .write(with.run.quiet(), || scored.page(&with.detector, Path::new(&name), &remarks))?;
    }
    if args.out.is_some() && with.json {
        print_json(&summary)?;
    }
    Ok(Outcome::Fine)
}

/// What the columns hold that come along. In text that is all the same.
fn kinds_kept(args: &ScoreArgs, paths: &[PathBuf]) -> Result<Vec<Kind>> {
    let ends_in = |ending: &str| {
        let own = args.out.as_deref().and_then(Path::extension);
        own.is_some_and(|own| own.eq_ignore_ascii_case(ending))
    };
    let is_text =
        if args.out.is_some() { ends_in("csv") || ends_in("npy") } else { !args.with.json };
    if is_text || args.keep.is_empty() {
        return Ok(vec![Kind::Text; args.keep.len()]);
    }
    Ok(kinds(paths, &args.keep)?)
}

/// The table of scores while it is written.
struct Sheet<'a> {
    data: &'a Dataset,
    writer: TableWriter,
    /// Parts of the score with one column, and the terms that add up to it: a part and a column of it.
    parts: Vec<(&'a str, usize)>,
    /// How many of them are terms that add up to the score; they come last.
    evidence: usize,
    with_novelty: bool,
    predictions: Predictions<'a>,
    /// What the columns of the data hold that come along.
    kept: Vec<Kind>,
    /// Whether rows have the names of files.
    named: bool,
    flagged: usize,
    not_finite: usize,
}

impl<'a> Sheet<'a> {
    fn create(
        args: &ScoreArgs,
        detector: &'a Detector,
        data: &'a Dataset,
        kept: Vec<Kind>,
    ) -> Result<Self> {
        let manifest = detector.manifest();
        let with_novelty = manifest.has_novelty;
        let mut columns = vec![Column::new("index", Kind::Int)];
        let single = |p: &&PartFacts| p.columns.len() == 1 && p.role != Role::Evidence;
        let residuals = manifest.parts.iter().filter(single);
        let mut parts: Vec<(&str, usize)> = residuals.map(|p| (p.name.as_str(), 0)).collect();
        columns.extend(parts.iter().map(|(name, _)| Column::new(*name, Kind::Float)));
        columns.extend([
            Column::new("score", Kind::Float),
            Column::new("p_value", Kind::Float),
            Column::new("flag", Kind::Bool),
        ]);
        if with_novelty {
            columns.extend(["novelty", "novelty_p_value"].map(|n| Column::new(n, Kind::Float)));
        }
        let residuals = parts.len();
        for part in manifest.parts.iter().filter(|p| p.role == Role::Evidence) {
            for (at, column) in part.columns.iter().enumerate() {
                columns.push(Column::new(format!("{}_{column}", part.name), Kind::Float));
                parts.push((&part.name, at));
            }
        }
        let is_npy = is_npy(args);
        // Columns of an array have no names, and keep their places.
        let predictions = if is_npy { Predictions::NONE } else { Predictions::of(detector) };
        columns.extend(predictions.columns());
        let taken: Vec<String> = columns.iter().map(|c| c.name.clone()).collect();
        for (name, kind) in args.keep.iter().zip(&kept) {
            // A column of the data may be called as one of ours.
            let own = if taken.contains(name) { format!("data_{name}") } else { name.clone() };
            columns.push(Column::new(own, *kind));
        }
        let named = data.row_name(0).is_some() && !is_npy;
        columns.extend(named.then(|| Column::new("file", Kind::Text)));
        let format = if args.with.json { TextFormat::Jsonl } else { TextFormat::Csv };
        let writer = match &args.out {
            Some(path) => TableWriter::create(path, &columns)?,
            None => TableWriter::stdout(format, &columns)?,
        };
        let evidence = parts.len() - residuals;
        Ok(Self {
            data,
            writer,
            parts,
            evidence,
            with_novelty,
            predictions,
            kept,
            named,
            flagged: 0,
            not_finite: 0,
        })
    }

    fn add(&mut self, chunk: &Chunk, scores: &Scores) -> Result<()> {
        for (i, &index) in chunk.index.iter().enumerate() {
            self.flagged += usize::from(scores.flag[i]);
            self.not_finite += usize::from(!scores.score[i].is_finite());
            let place = self.data.place(index);
            let mut row = vec![Value::Int(i64::try_from(place).unwrap_or(i64::MAX))];
            let of = |(name, column): &(&str, usize)| {
                let value = scores.part(name).and_then(|part| part.get([i, *column]));
                Value::Single(value.copied().unwrap_or(f32::NAN))
            };
            let residuals = self.parts.len() - self.evidence;
            row.extend(self.parts[..residuals].iter().map(of));
            row.extend([
                Value::Single(scores.score[i]),
                Value::Single(scores.p_value[i]),
                Value::Bool(scores.flag[i]),
            ]);
            if let Some(novelty) = scores.novelty.as_ref().filter(|_| self.with_novelty) {
                row.extend([Value::Single(novelty.score[i]), Value::Single(novelty.p_value[i])]);
            }
            row.extend(self.parts[residuals..].iter().map(of));
            row.extend(self.predictions.values(scores, i));
            row.extend(
                self.kept.iter().zip(&chunk.kept).map(|(kind, cells)| kind.value(&cells[i])),
            );
            let name = self.data.row_name(index).filter(|_| self.named).unwrap_or_default();
            row.extend(self.named.then_some(Value::Text(&name)));
            self.writer.write(&row)?;
        }
        Ok(())
    }
}

impl Summary<'_> {
    /// Says on standard error how many samples are flagged.
    fn tell(&self) {
        let share = 100.0 * self.flagged as f64 / self.samples as f64;
        let expected = self
            .alpha
            .map_or_else(String::new, |a| format!(", {} % expected without a shift", percent(a)));
        tell(&format!(
            "{}: {} flagged ({share:.1} %{expected}): {}",
            count(self.samples, "sample"),
            self.flagged,
            self.beyond
        ));
        if self.too_few_flagged {
            tell(
                "note: far fewer samples are flagged than of calibration samples: they look too ordinary, as stuck sensors \
                 and saturated outputs do; taste test looks at the batch as a whole",
            );
        }
        if let Some(line) = &self.left_out {
            tell(line);
        }
        if self.not_finite > 0 {
            let samples = match self.not_finite {
                1 => "1 sample has".to_owned(),
                many => format!("{many} samples have"),
            };
            tell(&format!(
                "warning: {samples} no finite score (NaN or infinite entries, ids that the model does not know, or a \
                 model that overflows): flagged"
            ));
        }
        for line in look::lines(&self.data_remarks) {
            tell(&format!("data: {line}"));
        }
        if let Some(path) = self.file {
            tell(&format!("wrote {}", path.display()));
        }
    }
}

/// Whether scores go to an array.
fn is_npy(args: &ScoreArgs) -> bool {
    let ends_in = |path: &Path| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"));
    args.out.as_deref().is_some_and(ends_in)
}

/// Whether a reader of standard output went away.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<taste_data::Error>().is_some_and(taste_data::Error::is_broken_pipe)
}
