//! How a run went, for the terminal and as JSON.

use serde::Serialize;
use taste_train::{Fitted, HeldOut, Level, Point, Sliced};

use crate::{
    args::LearnArgs,
    duration,
    table::{Table, count, grouped, number},
};

use super::{
    by_class::{self, ByClass},
    curve,
    verdict::{self, Verdict},
};

/// Everything that is told about a run.
#[derive(Serialize)]
pub(super) struct Outcome {
    kind: &'static str,
    out: String,
    /// Steps made, which are fewer than asked for if the run stopped early.
    steps: usize,
    #[serde(skip)]
    stopped_early: bool,
    /// Steps that an earlier run had made.
    resumed_from: usize,
    seconds: f64,
    samples_per_second: f64,
    batch: usize,
    weights: usize,
    seed: u64,
    /// Samples passed over because of entries that are not finite.
    skipped: usize,
    pub(super) held_out: Option<HeldOut>,
    test: Option<HeldOut>,
    /// The deviation of the noise of a score, in units of the samples.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    noise: Vec<f64>,
    pub(super) gaussian_loss: Option<f64>,
    sliced: Option<Sliced>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) levels: Vec<Level>,
    is_good: bool,
    pub(super) verdict: String,
    pub(super) curve: Vec<Point>,
}

impl Outcome {
    pub(super) fn of_score(
        fitted: &Fitted,
        args: &LearnArgs,
        levels: Vec<Level>,
        sliced: Option<Sliced>,
    ) -> Self {
        let (trained, gaussian) = (fitted.trained(), fitted.gaussian_loss());
        let verdict = verdict::of_score(trained.held_out(), gaussian, trained.curve());
        let plain = Self::plain("score", fitted, args, verdict);
        Self { noise: fitted.noise(), gaussian_loss: gaussian, sliced, levels, ..plain }
    }

    pub(super) fn of_task(
        kind: &'static str,
        fitted: &Fitted,
        args: &LearnArgs,
        test: Option<HeldOut>,
    ) -> Self {
        let trained = fitted.trained();
        // Equal chances for every class, or the mean of standardised targets.
        let outputs = trained.network().result_shape().map_or(1, |s| s.iter().product::<usize>());
        let idle = if outputs > 1 { (outputs as f64).ln() } else { 1.0 };
        let verdict = verdict::of_task(trained.held_out(), idle, trained.curve());
        Self { test, ..Self::plain(kind, fitted, args, verdict) }
    }

    fn plain(kind: &'static str, fitted: &Fitted, args: &LearnArgs, verdict: Verdict) -> Self {
        let trained = fitted.trained();
        let pace = trained.pace();
        Self {
            kind,
            out: args.out.display().to_string(),
            steps: pace.steps,
            stopped_early: trained.stopped_early(),
            resumed_from: pace.resumed,
            seconds: pace.elapsed.as_secs_f64(),
            samples_per_second: pace.samples_per_second(),
            batch: pace.batch,
            weights: trained.parameters().count(),
            seed: args.seed,
            skipped: trained.skipped(),
            held_out: trained.held_out().cloned(),
            test: None,
            noise: Vec::new(),
            gaussian_loss: None,
            sliced: None,
            levels: Vec::new(),
            is_good: verdict.is_good,
            verdict: verdict.text,
            curve: trained.curve().to_vec(),
        }
    }

    /// How often a classifier is right about each class.
    pub(super) fn by_class(&self) -> Option<ByClass> {
        by_class::table(self.held_out.as_ref(), self.test.as_ref())
    }

    pub(super) fn is_good(&self) -> bool {
        self.is_good
    }

    /// Names and values, without the verdict.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        let early = if self.stopped_early { ", stopped early" } else { "" };
        let resumed = match self.resumed_from {
            0 => String::new(),
            from => format!(", from step {from} on"),
        };
        let weights = grouped(self.weights as u64);
        facts.push(("network", format!("{weights} weights")));
        facts.push((
            "steps",
            format!("{} of {}{early}{resumed}", self.steps, count(self.batch, "sample")),
        ));
        let time = duration::time(
            std::time::Duration::try_from_secs_f64(self.seconds).unwrap_or_default(),
        );
        facts.push(("time", format!("{time}, {:.0} samples a second", self.samples_per_second)));
        if self.skipped > 0 {
            let skipped = count(self.skipped, "sample");
            facts.push(("left out", format!("{skipped} with entries that are not finite")));
        }
        if let Some(held_out) = &self.held_out {
            let accuracy = held_out
                .accuracy
                .map_or_else(String::new, |a| format!(", {:.2} % right", 100.0 * a));
            let error = held_out.error.map_or_else(String::new, |e| format!(" ± {}", number(e)));
            let samples = count(held_out.samples, "sample");
            facts.push((
                "held out",
                format!("loss {}{error}{accuracy} ({samples})", number(held_out.loss)),
            ));
        }
        if let Some(test) = &self.test {
            let accuracy = 100.0 * test.accuracy.unwrap_or(f64::NAN);
            let samples = count(test.samples, "sample");
            facts.push((
                "test",
                format!("loss {}, {accuracy:.2} % right ({samples})", number(test.loss)),
            ));
        }
        if let Some(gaussian) = self.gaussian_loss {
            facts.push(("best Gaussian", format!("loss {}", number(gaussian))));
        }
        if let Some(sliced) = self.sliced {
            facts.push((
                "sliced",
                format!(
                    "loss {} ± {} at noise {}, without knowing the noise that was drawn",
                    number(sliced.as_loss),
                    number(sliced.as_loss_error),
                    number(sliced.sigma)
                ),
            ));
        }
        if let Some(stein) = self.held_out.as_ref().and_then(|h| h.stein) {
            facts.push((
                "Stein ratio",
                format!("{:.3} ± {:.3}, 1 if the identity holds", stein.ratio, stein.error),
            ));
        }
        facts
    }

    pub(super) fn render(&self) -> String {
        let mut table = Table::default();
        for (name, value) in self.facts() {
            table.row([name.to_owned(), value]);
        }
        let losses: Vec<f64> = self.curve.iter().map(|p| p.loss).collect();
        let held_out: Vec<f64> = self.curve.iter().filter_map(|p| p.held_out).collect();
        for (name, values) in [("loss", losses), ("held-out loss", held_out)] {
            if let [first, .., last] = values[..] {
                let ends = format!("{} to {}", number(first), number(last));
                table.row([name.to_owned(), format!("{}  {ends}", curve::blocks(&values))]);
            }
        }
        table.row(["verdict".to_owned(), self.verdict.clone()]);
        if let Some(ByClass { remark, head, rows }) = self.by_class() {
            let mut classes = Table::default().right(&[0, 1, 2, 3, 4]);
            classes.row(head);
            for row in rows {
                classes.row(row);
            }
            let remark = remark.map_or_else(String::new, |remark| format!("{remark}:\n"));
            return format!("{}\n{remark}{}", table.render(0), classes.render(0));
        }
        if self.levels.len() < 2 {
            return table.render(0);
        }
        let mut levels = Table::default().right(&[0, 1, 2, 3]);
        levels.row(["noise", "held-out loss", "±", "best Gaussian"]);
        for level in &self.levels {
            levels.row([
                number(level.sigma),
                number(level.loss),
                number(level.error),
                level.gaussian.map_or_else(|| "–".to_owned(), number),
            ]);
        }
        format!("{}\n{}", table.render(0), levels.render(0))
    }
}
