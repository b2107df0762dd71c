//! `taste score`.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use taste_data::{Column, Kind, TableWriter, TextFormat, Value};
use taste_detector::Detector;

use crate::{
    Outcome,
    args::ScoreArgs,
    detect::Detection,
    files, print_json,
    table::{count, number, percent},
    tell,
};

/// The summary, in the words of `--json`.
#[derive(Serialize)]
struct Summary<'a> {
    detector: &'a Path,
    data: &'a Path,
    samples: usize,
    flagged: usize,
    /// Samples whose entries or residual are not finite; they are among the flagged.
    not_finite: usize,
    threshold: f64,
    alpha: Option<f64>,
    file: Option<&'a Path>,
}

pub(crate) fn run(args: &ScoreArgs) -> Result<Outcome> {
    let with = &args.with;
    let targets: Vec<(&str, &Path)> = args.out.iter().map(|p| ("-o", p.as_path())).collect();
    files::check_targets(&[&with.detector, &args.data], &targets)?;
    let detector = Detector::open(&with.detector)?;
    let detection = Detection::start(&detector, with, false)?;
    let data = detection.open(&args.data)?;
    let has_names = data.row_name(0).is_some();
    let parts: Vec<&str> = detector
        .manifest()
        .parts
        .iter()
        .filter(|p| p.columns.len() == 1)
        .map(|p| p.name.as_str())
        .collect();
    let mut columns = vec![Column::new("index", Kind::Int)];
    columns.extend(parts.iter().map(|name| Column::new(*name, Kind::Float)));
    columns.extend([
        Column::new("score", Kind::Float),
        Column::new("p_value", Kind::Float),
        Column::new("flag", Kind::Bool),
    ]);
    let plain = columns.len();
    let mut writer = if let Some(path) = &args.out {
        let is_npy = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"));
        columns.extend((has_names && !is_npy).then(|| Column::new("file", Kind::Text)));
        TableWriter::create(path, &columns)?
    } else {
        columns.extend(has_names.then(|| Column::new("file", Kind::Text)));
        let format = if with.json { TextFormat::Jsonl } else { TextFormat::Csv };
        TableWriter::stdout(format, &columns)?
    };
    let named = columns.len() > plain;
    let (mut flagged, mut not_finite) = (0, 0);
    let samples = detection.each(&data, |chunk, scores| {
        for (i, &index) in chunk.index.iter().enumerate() {
            flagged += usize::from(scores.flag[i]);
            not_finite += usize::from(!scores.score[i].is_finite());
            let place = data.place(index);
            let mut row = vec![Value::Int(i64::try_from(place).unwrap_or(i64::MAX))];
            let of = |name: &&str| scores.part(name).map_or(f32::NAN, |part| part[[i, 0]]);
            row.extend(parts.iter().map(|name| Value::Single(of(name))));
            row.extend([
                Value::Single(scores.score[i]),
                Value::Single(scores.p_value[i]),
                Value::Bool(scores.flag[i]),
            ]);
            let name = if named { data.row_name(index).unwrap_or_default() } else { String::new() };
            row.extend(named.then_some(Value::Text(&name)));
            writer.write(&row)?;
        }
        Ok(())
    });
    let samples = match samples {
        Err(e) if is_closed_pipe(&e) => return Ok(Outcome::Fine),
        other => other?,
    };
    match writer.finish() {
        Err(e) if e.is_broken_pipe() => return Ok(Outcome::Fine),
        other => other?,
    }
    let decision = &detector.manifest().decision;
    if !with.run.quiet() {
        let share = 100.0 * flagged as f64 / samples as f64;
        let expected = decision
            .alpha
            .map_or_else(String::new, |a| format!(", {} % expected without a shift", percent(a)));
        tell(&format!(
            "{}: {flagged} flagged ({share:.1} %{expected}), score above {}",
            count(samples, "sample"),
            number(decision.threshold)
        ));
        if not_finite > 0 {
            tell(&format!(
                "warning: {} no finite score (NaN or infinite entries, or a model that overflows): flagged",
                if not_finite == 1 {
                    "1 sample has".to_owned()
                } else {
                    format!("{not_finite} samples have")
                }
            ));
        }
        if let Some(path) = &args.out {
            tell(&format!("wrote {}", path.display()));
        }
    }
    if let Some(path) = args.out.as_deref().filter(|_| with.json) {
        print_json(&Summary {
            detector: &with.detector,
            data: &args.data,
            samples,
            flagged,
            not_finite,
            threshold: decision.threshold,
            alpha: decision.alpha,
            file: Some(path),
        })?;
    }
    Ok(Outcome::Fine)
}

/// Whether a reader of standard output went away.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<taste_data::Error>().is_some_and(taste_data::Error::is_broken_pipe)
}
