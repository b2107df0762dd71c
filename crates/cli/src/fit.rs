//! `taste fit`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use taste_data::{Dataset, Options, Samples};
use taste_detector::{Detector, ErrorModel, Fit, Measure, Named, Settings};
use taste_engine::Model;
use taste_files::message::shortened;

use crate::{
    Outcome,
    args::FitArgs,
    detect::tell_skipped,
    files, look, pages, paths, print, print_json,
    progress::Bars,
    reading, sheet,
    table::{Table, percent},
    tell, truth,
};

pub(crate) fn run(args: &FitArgs) -> Result<Outcome> {
    let quiet = args.run.quiet();
    let (data, calibration) = (paths::expanded(&args.data)?, paths::expanded(&args.calibration)?);
    let mut sources = vec![args.model.as_path()];
    sources.extend(paths::borrowed(&data).chain(paths::borrowed(&calibration)));
    sources.extend(args.reading.label_file());
    let mut targets = vec![("-o", args.out.as_path())];
    targets.extend(args.page.target());
    files::check_targets(&sources, &targets)?;
    check_apart(&data, &calibration)?;
    let model = Model::open(&args.model)?;
    if Detector::is_one(model.onnx()) {
        bail!(
            "--model {}: this is a detector already; give the model that it was made of",
            args.model.display()
        );
    }
    let like = args.like.as_deref().map(Detector::open).transpose()?;
    let (method, named) = args.method_like(like.as_ref(), quiet);
    let method = taste_catalog::method(&method, &named)?;
    let options = match &like {
        Some(like) => {
            Options { sample_shape: model.sample_shape()?, ..like.manifest().data.reading.clone() }
        }
        None => args.reading.for_model(&model, &data)?,
    };
    let options = look::at_tables(&data, &options, quiet)?;
    let settings = match &like {
        Some(like) => like.manifest().settings_now(),
        None => args.settings()?,
    };
    let needs = method.needs();
    let needed = needs.labels;
    let train = labelled(&data, &options, needed, needs.uses_labels)?;
    let mut options = train.options_naming_columns(&options);
    let note = |text: &str| {
        if !quiet {
            tell(text);
        }
    };
    let (train, classes) = args.reading.with_labels(train, &data, &options, needed, note)?;
    let guessed = Guessed { names: classes, needed, used: needs.uses_labels };
    options.classes.extend(guessed.names.iter().cloned());
    let given = (!calibration.is_empty()).then(|| Dataset::open_all(&calibration, &options));
    let given = given.transpose()?;
    let bars = Bars::new(quiet);
    let detector = Fit::new(&model, method)
        .settings(settings)
        .engine(args.run.engine()?)
        .reading(options.clone(), train.holds_bytes())
        .progress(&bars.progress())
        .run(&train, given.as_ref().map(|c| c as &dyn Samples));
    drop(bars);
    let mut detector = detector?;
    guessed.check(&detector, note)?;
    if !calibration.is_empty() {
        let errors = truth::errors(args, &detector, &calibration, &options)?;
        guessed.judge(errors.as_ref(), note);
        detector.set_errors(errors)?;
    }
    if !quiet {
        reading::tell_difference(&model, &options);
        tell_skipped(&train);
        given.iter().for_each(tell_skipped);
    }
    detector.save(&args.out)?;
    let manifest = detector.manifest();
    if args.json {
        print_json(manifest)?;
    } else if !quiet {
        print(&sheet::render(manifest))?;
    }
    if !quiet {
        tell(&format!("wrote {}", args.out.display()));
    }
    args.page.write(quiet, || pages::fit(&detector, &args.out, &next_steps(args)))?;
    if !quiet {
        tell_next_steps(args);
    }
    Ok(Outcome::Fine)
}

/// Opens training data, with their own labels where the method makes use of them. Labels that can't be read stop only what
/// needs them.
fn labelled(paths: &[PathBuf], options: &Options, needed: bool, used: bool) -> Result<Dataset> {
    let with = Options { labels: needed || used, ..options.clone() };
    match Dataset::open_all(paths, &with) {
        Err(_) if used && !needed => Ok(Dataset::open_all(paths, options)?),
        other => Ok(other?),
    }
}

/// The names of classes that labels of words gave where the model has none: its outputs are taken to be in the order of the
/// alphabet.
struct Guessed {
    names: Vec<String>,
    /// Whether the method needs labels, or makes use of them.
    needed: bool,
    used: bool,
}

impl Guessed {
    /// Words must be as many as the model has classes.
    fn check(&self, detector: &Detector, note: impl Fn(&str)) -> Result<()> {
        if self.names.is_empty() {
            return Ok(());
        }
        let listed = shortened(&self.names.join(", "), 60);
        if !detector.classes().is_empty() {
            note(&format!(
                "note: the labels are words, taken for the model's classes in the order of the alphabet: {listed} \
                 (--class-names says another)"
            ));
            return Ok(());
        }
        let said = format!(
            "the labels are {} different words ({listed}), and the model has {} outputs: --class-names names its classes",
            self.names.len(),
            detector.manifest().model.outputs
        );
        if self.needed || self.used {
            bail!("{said}");
        }
        note(&format!("note: {said}; the fit goes without labels"));
        Ok(())
    }

    /// Whether the model is right less often than by chance if the order is that of the alphabet.
    fn judge(&self, errors: Option<&ErrorModel>, note: impl Fn(&str)) {
        let is_guess = |e: &&ErrorModel| e.measure == Measure::Accuracy && !self.names.is_empty();
        let Some(errors) = errors.filter(is_guess) else { return };
        let right = 1.0 - errors.mean;
        if right < 1.0 / self.names.len() as f64 {
            note(&format!(
                "warning: with classes in the order of the alphabet the model is right about {} % of the calibration samples, \
                 less than by chance: --class-names names them in the order of its outputs",
                percent((1000.0 * right).round() / 1000.0)
            ));
        }
    }
}

/// Commands to go on with, and what they are for.
fn next_steps(args: &FitArgs) -> Vec<(String, String)> {
    let detector = args.out.display();
    let mut steps = vec![
        (format!("taste score {detector} NEW -o scores.csv"), "every sample of NEW".to_owned()),
        (format!("taste test {detector} NEW"), "NEW as one batch".to_owned()),
        (
            format!("taste evaluate {detector} --id CLEAN --ood SHIFTED"),
            "how good it is".to_owned(),
        ),
    ];
    if args.calibration.is_empty() {
        steps.push((
            format!("taste edit {detector} --recalibrate FRESH"),
            "p-values that hold for new data".to_owned(),
        ));
    }
    steps
}

fn tell_next_steps(args: &FitArgs) {
    let mut table = Table::default();
    for (command, purpose) in next_steps(args) {
        table.row([command, purpose]);
    }
    tell(&format!("next: {}", table.render(6).trim()));
}

/// Fails if training and calibration data are the same file.
fn check_apart(data: &[PathBuf], calibration: &[PathBuf]) -> Result<()> {
    let is_same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    };
    if let Some(calibration) = calibration.iter().find(|c| data.iter().any(|d| is_same(c, d))) {
        bail!(
            "--calibration {}: these are the training data; a detector that is calibrated on what it was fitted to flags \
             too much of new data: give other samples, or leave --calibration out to hold a part out",
            calibration.display()
        );
    }
    Ok(())
}

impl FitArgs {
    /// The method and its options, or those of a detector that is repeated.
    fn method_like(&self, like: Option<&Detector>, quiet: bool) -> (String, Named) {
        match like.map(|like| &like.manifest().method) {
            Some(method) => (method.written.clone(), method.options.clone()),
            None => self.method_and_options(quiet),
        }
    }

    /// The method and the options that belong to it: stein where one of its options is given. `--method` once named what
    /// is now `--laplacian-method`.
    fn method_and_options(&self, quiet: bool) -> (String, Named) {
        let mut named = Named::new();
        let options = [
            ("score-model", &self.score_model),
            ("score-input", &self.score_input),
            ("target", &self.target),
            ("operator", &self.operator),
            ("aggregate", &self.aggregate),
            ("precondition", &self.precondition),
            ("baseline", &self.baseline),
            ("tail", &self.tail),
            ("laplacian-method", &self.laplacian_method),
            ("at", &self.at),
        ];
        for (name, value) in options {
            if let Some(value) = value {
                named = named.with(name, value);
            }
        }
        let Some(method) = &self.method else {
            let method = if named == Named::new() { "taste" } else { "stein" };
            return (method.to_owned(), named);
        };
        if method.parse::<taste_engine::LaplacianMethod>().is_ok() {
            if !quiet {
                tell(&format!(
                    "note: --method {method} is now --laplacian-method {method}; --method names what the detector computes"
                ));
            }
            return ("stein".to_owned(), named.with("laplacian-method", method));
        }
        (method.clone(), named)
    }

    fn settings(&self) -> Result<Settings> {
        Ok(Settings {
            alpha: self.alpha,
            goal: self.goal,
            rule: self.threshold,
            map: (self.map || self.no_map).then_some(self.map),
            held_out: self.held_out,
            may_keep_rows: !self.no_rows,
            output: self.output.clone(),
            task: self.task,
            features: self.features.clone(),
            seed: self.seed,
            memory: usize::try_from(self.memory)?.saturating_mul(1 << 20),
            batch: self.run.batch(),
            ..Settings::default()
        })
    }
}
