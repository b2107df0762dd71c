//! `taste attack`.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde::Serialize;
use taste_data::{Dataset, Options};
use taste_engine::{Model, Request};
use taste_zoo::attacks::{Attacker, Ball, Bounds, Norm, Outcome, Victim, Written, attack, folder};

use crate::{
    args::{AttackArgs, Between},
    detect::tell_skipped,
    duration, files, print, print_json,
    progress::Bars,
    reading,
    table::{Table, count, number},
    tell,
};

pub(crate) fn run(args: &AttackArgs) -> Result<()> {
    let quiet = args.run.quiet();
    let mut sources = vec![args.model.as_path(), args.data.as_path()];
    sources.extend(args.reading.label_file());
    files::check_targets(&sources, &[("-o", &args.out)])?;
    let chosen = attack(&args.attack)?;
    let model = Model::open(&args.model)?;
    let memory = usize::try_from(args.memory)?.saturating_mul(1 << 20);
    let request = Request { output: args.output.clone(), memory, ..Request::default() };
    let victim = Victim::new(&model, &request, &args.run.engine()?)?;
    let options = args.reading.options(Some(victim.sample_shape()))?;
    let (plain, [mean, std]) = before_normalisation(&options);
    let victim = victim.with_normalisation(mean, std)?;
    let data = open(args, &plain)?;
    let ball = Ball::new(args.norm, args.eps.0, bounds(args, &data)?)?;
    let attacker =
        Attacker::new(&victim, chosen, ball.clone(), args.seed)?.with_chunk(args.run.batch());
    if !quiet {
        reading::tell_difference(&model, &options);
        attacker.notes().iter().for_each(|note| tell(&format!("note: {note}")));
        if folder(&args.out).is_dir() {
            tell(&format!(
                "{} holds parts of a run that was stopped; those that fit are taken up",
                folder(&args.out).display()
            ));
        }
    }
    let started = Instant::now();
    let bars = Bars::new(quiet);
    let written = attacker.write(&data, &args.out, &bars.progress());
    drop(bars);
    let written = written?;
    let report = Report::new(args, &attacker, &victim, &ball, &written, started.elapsed());
    if !quiet {
        tell_skipped(&data);
        report.warnings.iter().for_each(|warning| tell(&format!("warning: {warning}")));
    }
    if args.json {
        print_json(&report)?;
    } else if !quiet {
        print(&report.render(&written.outcome))?;
    }
    if !quiet {
        tell(&format!("wrote {}", args.out.display()));
    }
    Ok(())
}

/// How samples are read for an attack, and the mean and standard deviation that are left to what is between it and the model:
/// pictures are moved before they are normalised, so that distances are those of pixels, and rows of tables after it.
pub(crate) fn before_normalisation(options: &Options) -> (Options, [&[f32]; 2]) {
    match options.sample_shape.as_deref() {
        Some([_, _, _]) => {
            let plain = Options { mean: Vec::new(), std: Vec::new(), ..options.clone() };
            (plain, [&options.mean, &options.std])
        }
        _ => (options.clone(), [&[], &[]]),
    }
}

/// The data, with their labels where they have them and these are wanted.
fn open(args: &AttackArgs, options: &Options) -> Result<Dataset> {
    let named = args.reading.label_file().is_some() || args.reading.label_column().is_some();
    if args.own_answers {
        return Ok(Dataset::open(&args.data, options)?);
    }
    let with = Options { labels: !named, ..options.clone() };
    let data = match Dataset::open(&args.data, &with) {
        // Labels that nobody asked for may be anything.
        Err(_) if !named => Dataset::open(&args.data, options)?,
        other => other?,
    };
    let paths = std::slice::from_ref(&args.data);
    Ok(args.reading.with_labels(data, paths, options, true, |_| {})?.0)
}

/// What entries lie between.
fn bounds(args: &AttackArgs, data: &Dataset) -> Result<Bounds> {
    match args.r#box {
        Some(Between::Given(low, high)) => Ok(Bounds::All(low, high)),
        Some(Between::Data) => Ok(Bounds::found(data)?),
        None if data.is_table() => bail!(
            "{data}: the columns of a table have no limits that are known; --box data keeps each between its smallest and \
             largest value, and --box LOW,HIGH sets the same for all"
        ),
        None => Ok(Bounds::default()),
    }
}

/// What is printed.
#[derive(Serialize)]
struct Report {
    model: String,
    data: String,
    attack: String,
    norm: Norm,
    eps: f64,
    r#box: String,
    seed: u64,
    /// `given`, or `model` for the model's own answers.
    labels: &'static str,
    samples: usize,
    accuracy_before: f64,
    accuracy_after: f64,
    /// Of an attack in parts, the accuracy after each.
    accuracy_by_part: Vec<(String, f64)>,
    misled: usize,
    /// The median change of samples that were misled.
    median_change: Option<f64>,
    largest_change: f64,
    taken_up: usize,
    seconds: f64,
    notes: Vec<String>,
    warnings: Vec<String>,
    out: String,
}

impl Report {
    fn new(
        args: &AttackArgs,
        attacker: &Attacker<'_>,
        victim: &Victim,
        ball: &Ball,
        written: &Written,
        time: Duration,
    ) -> Self {
        let outcome = &written.outcome;
        let (before, after) = outcome.accuracies();
        let share = |left: &usize| *left as f64 / outcome.samples.max(1) as f64;
        let mut warnings = outcome.warnings();
        if written.has_labels && before < 1.5 / victim.classes() as f64 {
            warnings.push(format!(
                "the model is right about {} of the samples before the attack, which is chance: are these labels its \
                 classes?",
                percent(before)
            ));
        }
        Self {
            model: args.model.display().to_string(),
            data: args.data.display().to_string(),
            attack: attacker.attack().written(),
            norm: ball.norm(),
            eps: ball.eps(),
            r#box: ball.bounds().to_string(),
            seed: args.seed,
            labels: if written.has_labels { "given" } else { "model" },
            samples: outcome.samples,
            accuracy_before: before,
            accuracy_after: after,
            accuracy_by_part: outcome
                .stages
                .iter()
                .map(|(n, left)| (n.clone(), share(left)))
                .collect(),
            misled: outcome.misled(),
            median_change: outcome.median(),
            largest_change: outcome.farthest,
            taken_up: written.taken_up,
            seconds: time.as_secs_f64(),
            notes: attacker.notes().to_vec(),
            warnings,
            out: args.out.display().to_string(),
        }
    }

    fn render(&self, outcome: &Outcome) -> String {
        let mut table = Table::default();
        table.row(["attack", &self.attack]);
        let Self { norm, eps, r#box, seed, .. } = self;
        table
            .row(["limits".to_owned(), format!("{norm} {}, box {box}, seed {seed}", number(*eps))]);
        let from = match self.labels {
            "given" => "their labels",
            _ => "the model's own answers, as there are no labels",
        };
        table.row(["samples".to_owned(), format!("{}, led away from {from}", self.samples)]);
        if self.taken_up > 0 {
            let taken = count(self.taken_up, "sample");
            table.row(["taken up".to_owned(), format!("{taken} of a run that was stopped")]);
        }
        let (before, after) = (percent(self.accuracy_before), percent(self.accuracy_after));
        table.row([
            "accuracy".to_owned(),
            format!("{before} before, {after} after ({} misled)", outcome.misled()),
        ]);
        if !self.accuracy_by_part.is_empty() {
            let parts =
                self.accuracy_by_part.iter().map(|(n, left)| format!("{n} {}", percent(*left)));
            table.row(["by part".to_owned(), parts.collect::<Vec<_>>().join(", ")]);
        }
        let median = self
            .median_change
            .map_or_else(String::new, |m| format!("median {} of those misled, ", number(m)));
        table
            .row(["change".to_owned(), format!("{median}largest {}", number(self.largest_change))]);
        table.row(["time".to_owned(), duration::time(Duration::from_secs_f64(self.seconds))]);
        table.render(0)
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
