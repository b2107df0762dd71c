//! `taste fit`.

use std::sync::Mutex;

use anyhow::{Result, bail};
use taste_data::{Dataset, Options, Samples};
use taste_engine::Model;
use taste_stein::{DataFacts, Detector, Fit, Level, Manifest, Stage};

use crate::{
    Outcome,
    args::FitArgs,
    detect::tell_skipped,
    edit, files, print, print_json,
    progress::Progress,
    reading, score_model,
    table::{self, Table, number},
    tell,
};

pub(crate) fn run(args: &FitArgs) -> Result<Outcome> {
    let quiet = args.run.quiet();
    let mut sources = vec![args.model.as_path(), args.data.as_path()];
    sources.extend(args.calibration.as_deref());
    files::check_targets(&sources, &[("-o", &args.out)])?;
    let model = Model::open(&args.model)?;
    if Detector::is_one(model.onnx()) {
        bail!(
            "--model {}: this is a detector already; give the model that it was made of",
            args.model.display()
        );
    }
    let options = args.reading.options(sample_shape(&model)?)?;
    let train = Dataset::open(&args.data, &options)?;
    let options = train.pinned(&options);
    let calibration =
        args.calibration.as_deref().map(|p| Dataset::open(p, &options)).transpose()?;
    let score = score_model::specification(
        &args.score,
        args.score_input.as_deref(),
        (&train, &options),
        &args.run.engine,
    )?;
    let bar = Mutex::new(None::<(Stage, Progress)>);
    let progress = |stage: Stage, done: usize, total: usize| {
        let Ok(mut bar) = bar.lock() else { return };
        if bar.as_ref().is_none_or(|(s, _)| *s != stage) {
            let what = match stage {
                Stage::Score => "samples for the score model",
                Stage::Adjust => "samples for the baseline",
                Stage::Calibrate => "calibration samples",
            };
            // The score model does not tell how far it is.
            let total = (stage != Stage::Score).then_some(total);
            *bar = Some((stage, Progress::new(what, total, quiet)));
        }
        if let Some((_, progress)) = bar.as_mut() {
            progress.reach(done);
        }
    };
    let reading = serde_json::to_value(Options { sample_shape: None, ..options.clone() })?;
    let mut fit = Fit::new(&model, score)
        .operator(args.operator.clone())
        .alpha(args.alpha)
        .rule(args.threshold)
        .method(args.method)
        .held_out(args.held_out)
        .seed(args.seed)
        .memory(usize::try_from(args.memory)?.saturating_mul(1 << 20))
        .backend(args.run.backend()?, args.run.threads())
        .reading(reading)
        .progress(&progress);
    if let Some(target) = args.target {
        fit = fit.target(target);
    }
    if let Some(output) = &args.output {
        fit = fit.output(output);
    }
    if let Some(aggregate) = args.aggregate {
        fit = fit.aggregate(aggregate);
    }
    if let Some(tail) = args.tail {
        fit = fit.tail(tail);
    }
    if let Some(batch) = args.run.batch() {
        fit = fit.batch(batch);
    }
    if args.map || args.no_map {
        fit = fit.map(args.map);
    }
    let detector = fit.run(&train, calibration.as_ref().map(|c| c as &dyn Samples));
    if let Ok(mut bar) = bar.lock() {
        bar.take();
    }
    let detector = detector?;
    if !quiet {
        reading::tell_difference(&model, &options);
        tell_skipped(&train);
        calibration.iter().for_each(tell_skipped);
    }
    detector.save(&args.out)?;
    let manifest = detector.manifest();
    if args.json {
        print_json(manifest)?;
    } else if !quiet {
        print(&render(manifest))?;
    }
    if !quiet {
        tell(&format!("wrote {}", args.out.display()));
    }
    Ok(Outcome::Fine)
}

/// The sizes of a sample, if the model fixes them.
fn sample_shape(model: &Model) -> Result<Option<Vec<usize>>> {
    let sizes = model.input(None)?.shape;
    Ok(sizes.and_then(|s| s.into_iter().skip(1).map(Result::ok).collect()))
}

/// What a detector is, and how it fares.
pub(crate) fn render(manifest: &Manifest) -> String {
    let mut facts = Table::default();
    let model = &manifest.model;
    facts.row([
        "model".to_owned(),
        format!(
            "{}: {} {} to {} {}",
            model.file,
            model.input,
            table::shape(&model.sample_shape),
            model.output,
            table::shape(&[model.outputs])
        ),
    ]);
    if !model.taken_for.is_empty() {
        facts.row(["taken for", &model.taken_for]);
    }
    let method = manifest.method.as_ref().map_or_else(String::new, |m| {
        if m.flat {
            ", Laplacian zero almost everywhere".to_owned()
        } else {
            format!(", Laplacian by {}", m.name)
        }
    });
    let residual = if manifest.target == "none" {
        format!("{}: the length of the score, whatever the model", manifest.operator)
    } else {
        format!("{} of {}{method}", manifest.operator, manifest.target)
    };
    facts.row(["residual".to_owned(), residual]);
    // One function has one residual, and nothing to be joined.
    let of_one = manifest.target != "prob" && manifest.aggregate == "predicted";
    let joined = if of_one { "the residual itself" } else { &manifest.aggregate };
    facts.row(["score".to_owned(), format!("{joined}, {} tail", manifest.tail)]);
    facts.row(["score model".to_owned(), described(&manifest.score)]);
    let data = &manifest.data;
    let calibration = data.calibration.as_ref().map_or_else(String::new, |c| format!(" and {c}"));
    facts.row([
        "data".to_owned(),
        format!(
            "{}{calibration}: {} fitted, {} for the baseline, {} for the calibration",
            data.train, data.fitted, data.adjusted, data.calibrated
        ),
    ]);
    if let Some(steps) = preparation(data) {
        facts.row([
            "input".to_owned(),
            format!(
                "{} as the model takes it: {steps}. taste does this to data that it reads; in another runtime do it \
                 before",
                model.input
            ),
        ]);
    }
    facts.row(["decision".to_owned(), edit::sentence(&manifest.decision, data.calibrated)]);
    if let Some(map) = &manifest.map {
        facts.row([
            "map".to_owned(),
            format!("entries beyond {} stand out (alpha {})", number(map.threshold), map.alpha),
        ]);
    }
    let mut health = Table::default();
    for finding in &manifest.health {
        let level = match finding.level {
            Level::Good => "ok",
            Level::Note => "note",
            Level::Warning => "WARNING",
        };
        health.row([level.to_owned(), finding.message.clone()]);
    }
    format!("{}\n{}", facts.render(0), health.render(0))
}

/// What is done to data before the model sees them, beyond what their format asks for.
fn preparation(data: &DataFacts) -> Option<String> {
    let options: Options = serde_json::from_value(data.reading.clone()).ok()?;
    let list = |v: &[f32]| v.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let mut steps = Vec::new();
    steps.extend(options.resize.map(|(h, w)| format!("resized to {h}x{w}")));
    steps.extend(options.pad.map(|(h, w)| format!("padded to {h}x{w}")));
    if steps.is_empty() && options.mean.is_empty() && options.std.is_empty() {
        return None;
    }
    let bytes = !options.raw && data.columns.is_none();
    steps.extend(bytes.then(|| "uint8 divided by 255".to_owned()));
    steps.extend((!options.mean.is_empty()).then(|| format!("less {}", list(&options.mean))));
    steps.extend((!options.std.is_empty()).then(|| format!("divided by {}", list(&options.std))));
    Some(steps.join(", "))
}

/// What a score model says of itself, on a line.
pub(crate) fn described(score: &serde_json::Value) -> String {
    let Some(entries) = score.as_object() else { return score.to_string() };
    let family = entries.get("family").and_then(|f| f.as_str()).unwrap_or("?");
    let plain = |v: &serde_json::Value| match v {
        serde_json::Value::Number(n) => n
            .as_f64()
            .map(|v| if v.fract() == 0.0 && v.abs() < 1e9 { format!("{v:.0}") } else { number(v) }),
        serde_json::Value::String(s) => Some(s.clone()),
        serde_json::Value::Bool(b) => Some(b.to_string()),
        _ => None,
    };
    let rest: Vec<String> = entries
        .iter()
        .filter(|(key, _)| !["family", "skipped"].contains(&key.as_str()))
        .filter_map(|(key, value)| Some(format!("{} {}", key.replace('_', " "), plain(value)?)))
        .collect();
    if rest.is_empty() { family.to_owned() } else { format!("{family} ({})", rest.join(", ")) }
}
