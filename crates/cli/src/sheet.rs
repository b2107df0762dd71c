//! What a detector is and how it fares, on one screen.

use serde_json::Value;
use taste_data::{Filter, Options, Resize};
use taste_detector::{DataFacts, ErrorModel, Finding, Level, Manifest, Measure};
use taste_engine::Answer;

use crate::{
    edit,
    table::{self, Table, grouped, number},
};

/// What a detector is, and how it fares.
pub(crate) fn render(manifest: &Manifest) -> String {
    format!("{}\n{}", facts(manifest).render(0), health(manifest).render(0))
}

/// What a detector is, as names and values.
pub(crate) fn facts(manifest: &Manifest) -> Table {
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
    match manifest.method.name.as_str() {
        "stein" => stein(&mut facts, manifest),
        "taste" => evidence(&mut facts, manifest),
        _ => plain(&mut facts, manifest),
    }
    let data = &manifest.data;
    let calibration = data.calibration.as_ref().map_or_else(String::new, |c| format!(" and {c}"));
    let mut served: Vec<String> = Vec::new();
    served.extend((data.fitted > 0).then(|| format!("{} fitted", data.fitted)));
    let what = if manifest.method.name == "stein" { "baseline" } else { "tails" };
    served.extend((data.tails > 0).then(|| format!("{} for the {what}", data.tails)));
    served.push(format!("{} for the calibration", data.calibrated));
    facts.row(["data".to_owned(), format!("{}{calibration}: {}", data.train, served.join(", "))]);
    for rows in &manifest.rows {
        let count = grouped(rows.count as u64);
        let what = format!("{count} × {} {}", rows.width, rows.what);
        facts.row(["kept rows".to_owned(), what]);
    }
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
    if let Some(errors) = &manifest.errors {
        facts.row(["answers".to_owned(), accuracy(errors)]);
    }
    facts.row(["decision".to_owned(), edit::sentence(&manifest.decision, data.calibrated)]);
    if let Some(map) = &manifest.map {
        facts.row([
            "map".to_owned(),
            format!(
                "values beyond {}{} are unusual (alpha {})",
                if map.one_sided { "" } else { "±" },
                number(map.threshold),
                map.alpha
            ),
        ]);
    }
    facts
}

/// How wrong the model is on calibration samples.
fn accuracy(errors: &ErrorModel) -> String {
    let samples = table::count(errors.samples, "labelled calibration sample");
    match errors.measure {
        Measure::Accuracy => format!(
            "right on {:.1} % of {samples}; batches without labels get an estimate",
            100.0 * (1.0 - errors.mean)
        ),
        Measure::AbsoluteError => format!(
            "mean absolute error {} on {samples}; batches without labels get an estimate",
            number(errors.mean)
        ),
    }
}

fn health(manifest: &Manifest) -> Table {
    let mut health = Table::default();
    for finding in &manifest.findings {
        let level = match finding.level {
            Level::Good => "ok",
            Level::Note => "note",
            Level::Warning => "WARNING",
        };
        health.row([level.to_owned(), format!("{}{}", finding.message, advice(finding))]);
    }
    health
}

/// The flags that help against a finding.
pub(crate) fn advice(finding: &Finding) -> &'static str {
    match finding.check.as_str() {
        "calibration data" => " (--calibration DATA, or taste edit --recalibrate DATA)",
        "labels" => " (--labels)",
        _ => "",
    }
}

/// A method with nothing more to say than its facts.
fn plain(facts: &mut Table, manifest: &Manifest) {
    let said = described(&manifest.method.facts, &manifest.method.written);
    facts.row(["method".to_owned(), said]);
    facts.row(["taken for".to_owned(), model_taken_for(manifest)]);
}

/// What a term of the score means, if the method says so.
pub(crate) fn meaning(manifest: &Manifest, term: &str) -> Option<String> {
    let facts = &manifest.method.facts;
    let terms = ["evidence", "novelty"].map(|key| facts[key].as_array());
    let mut terms = terms.into_iter().flatten().flatten();
    let found = terms.find(|c| c["name"].as_str() == Some(term))?;
    found["about"].as_str().map(str::to_owned)
}

/// The components of directed evidence.
fn evidence(facts: &mut Table, manifest: &Manifest) {
    let said = &manifest.method.facts;
    let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
    facts.row(["taken for".to_owned(), model_taken_for(manifest)]);
    let names = |key: &str| -> Vec<String> {
        let each = said[key].as_array().into_iter().flatten();
        each.filter_map(|c| c["name"].as_str().map(str::to_owned)).collect()
    };
    let harm = format!("{} (set {})", names("evidence").join(" + "), text("set"));
    facts.row(["harm".to_owned(), harm]);
    if manifest.has_novelty {
        facts.row(["novelty".to_owned(), names("novelty").join(" + ")]);
    }
    let cuts = said["cuts"].as_array().into_iter().flatten();
    let cuts: Vec<String> = cuts
        .filter_map(|c| Some(format!("{} ({})", c["tensor"].as_str()?, c["width"].as_u64()?)))
        .collect();
    if !cuts.is_empty() {
        facts.row(["features".to_owned(), cuts.join(", ")]);
    }
    facts.row(["score model".to_owned(), text("score_model")]);
}

/// The residual, the score and the score model of TASTE.
fn stein(facts: &mut Table, manifest: &Manifest) {
    let said = &manifest.method.facts;
    let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
    let (target, operator, aggregate) = (text("target"), text("operator"), text("aggregate"));
    if !text("taken_for").is_empty() {
        facts.row(["taken for".to_owned(), model_taken_for(manifest)]);
    }
    let laplacian = match &said["laplacian"] {
        Value::Null => String::new(),
        of if of["flat"] == Value::Bool(true) => ", Laplacian zero almost everywhere".to_owned(),
        of => format!(", Laplacian by {}", of["method"].as_str().unwrap_or("?")),
    };
    let residual = if target == "none" {
        format!("{operator}: the length of the score, whatever the model")
    } else {
        format!("{operator} of {target}{laplacian}")
    };
    facts.row(["residual".to_owned(), residual]);
    // One function has one residual, and nothing to be joined.
    let of_one = target != "prob" && aggregate == "predicted";
    let joined = if of_one { "the residual itself" } else { &aggregate };
    facts.row(["score".to_owned(), format!("{joined}, {} tail", text("tail"))]);
    facts.row(["score model".to_owned(), described(&said["score_model"], "?")]);
}

fn model_taken_for(manifest: &Manifest) -> String {
    let model = &manifest.model;
    let answer = Answer::named(model.answer.split(' ').next().unwrap_or_default());
    match (answer, manifest.settings.task) {
        (Some(answer), None) => taken_for(&model.taken_for, answer, model.outputs),
        _ => model.taken_for.clone(),
    }
}

/// What a model was taken for, and how to say otherwise.
pub(crate) fn taken_for(taken: &str, answer: Answer, entries: usize) -> String {
    let others = Answer::ALL.into_iter().filter(|a| *a != answer && a.fits(entries));
    let others: Vec<&str> = others.map(Answer::name).collect();
    format!("{taken}; if it is not, --task {}", others.join(" or "))
}

/// What is done to data before the model sees them, beyond what their format asks for.
fn preparation(data: &DataFacts) -> Option<String> {
    let options: &Options = &data.reading;
    let list = |v: &[f32]| v.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let mut steps = Vec::new();
    let filter = match options.filter {
        Filter::Bilinear => "",
        Filter::Bicubic => " (bicubic)",
        Filter::Nearest => " (nearest pixels)",
    };
    steps.extend(options.resize.map(|resize| match resize {
        Resize::To(h, w) => format!("resized to {h}x{w}{filter}"),
        Resize::Shorter(side) => format!("resized to a shorter side of {side}{filter}"),
    }));
    steps.extend(options.crop.map(|(h, w)| format!("cropped to the middle {h}x{w}")));
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

/// What a method or score model says of itself, on a line.
pub(crate) fn described(facts: &Value, name: &str) -> String {
    let Some(entries) = facts.as_object() else { return name.to_owned() };
    let name = entries.get("family").and_then(|f| f.as_str()).unwrap_or(name);
    let plain = |v: &Value| match v {
        Value::Number(n) => n
            .as_f64()
            .map(|v| if v.fract() == 0.0 && v.abs() < 1e9 { format!("{v:.0}") } else { number(v) }),
        Value::String(s) => Some(s.clone()),
        Value::Bool(b) => Some(b.to_string()),
        _ => None,
    };
    let rest: Vec<String> = entries
        .iter()
        .filter(|(key, _)| !["family", "skipped"].contains(&key.as_str()))
        .filter_map(|(key, value)| Some(format!("{} {}", key.replace('_', " "), plain(value)?)))
        .collect();
    if rest.is_empty() { name.to_owned() } else { format!("{name} ({})", rest.join(", ")) }
}
