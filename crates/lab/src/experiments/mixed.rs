//! Mixtures of digits and clothes: how much of what is no digit is found?

use serde::{Deserialize, Serialize};
use taste_choice::Choice;
use taste_data::{Dataset, First, Options};
use taste_report::{Histogram, Lines, Series};
use taste_stats::{
    binomial::clopper_pearson,
    conformal::{Calibration, Rule, flag},
    rank::auroc,
};

use super::{
    colours,
    digits::{self, Digits},
    numbers::average,
    signal::{self, Detectors},
};
use crate::{Error, Experiment, Page, Run, Table, Verdict, Wanted};

const CLOTHES: &str = "fashion-mnist/t10k-images-idx3-ubyte.gz";

pub(super) const EXPERIMENT: Experiment = Experiment {
    choice: Choice {
        name: "mixed",
        usage: "mixed",
        about: "MNIST mixed with Fashion-MNIST: accuracy and mean signal by share, power of the test at 5 %",
    },
    section: "appendix on mixed MNIST / Fashion-MNIST",
    data: &[
        digits::DATA[0],
        digits::DATA[1],
        Wanted::needed(CLOTHES, "test images of Fashion-MNIST"),
    ],
    models: &digits::MODELS,
    run,
};

/// Operators, and how the method `stein` is told.
const DETECTORS: [(&str, &[(&str, &str)]); 2] = [
    ("Langevin", &[("target", "prob"), ("laplacian-method", "closed-form")]),
    ("first order, v = 1", &[("target", "prob"), ("operator", "first-order:ones")]),
];
const ALPHA: f64 = 0.05;
/// The shares of digits.
const SHARES: [f64; 11] = [0.80, 0.82, 0.84, 0.86, 0.88, 0.90, 0.92, 0.94, 0.96, 0.98, 1.00];

/// Residuals of an operator.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Residuals {
    /// Of digits that were held out: nothing else decides about thresholds.
    held_out: Vec<f64>,
    digits: Vec<f64>,
    clothes: Vec<f64>,
    /// Whether the classifier is right about each test digit.
    right: Vec<bool>,
}

/// Which residuals are far out.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tail {
    Two,
    Upper,
    Lower,
}

impl Tail {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Two, "two-sided"), (Self::Upper, "upper"), (Self::Lower, "lower")];

    fn score(self, residual: f64) -> f64 {
        match self {
            Self::Two => residual.abs(),
            Self::Upper => residual,
            Self::Lower => -residual,
        }
    }
}

/// How a test does.
struct Power {
    clothes: f64,
    interval: (f64, f64),
    digits: f64,
    auroc: f64,
}

impl Residuals {
    fn power(&self, tail: Tail) -> Result<Power, Error> {
        let scores = |of: &[f64]| of.iter().map(|r| tail.score(*r)).collect::<Vec<_>>();
        let threshold =
            Calibration::new(scores(&self.held_out)).threshold(ALPHA, Rule::Conformal)?;
        let flagged = |of: &[f64]| of.iter().filter(|r| flag(tail.score(**r), threshold)).count();
        let (found, all) = (flagged(&self.clothes), self.clothes.len());
        let interval = clopper_pearson(found as u64, all as u64, 0.95)?;
        Ok(Power {
            clothes: interval.estimate,
            interval: (interval.low, interval.high),
            digits: flagged(&self.digits) as f64 / self.digits.len() as f64,
            auroc: auroc(&scores(&self.digits), &scores(&self.clothes)).unwrap_or(f64::NAN),
        })
    }

    /// Accuracy and mean residual of a set with so large a share of digits; clothes have no right answer.
    fn mixture(&self, share: f64) -> (f64, f64) {
        let total = self.digits.len().min(5 * self.clothes.len());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let digits = (share * total as f64).round() as usize;
        let own = self.digits[..digits].iter().chain(&self.clothes[..total - digits]);
        let right = self.right[..digits].iter().filter(|r| **r).count();
        (right as f64 / total as f64, average(&own.copied().collect::<Vec<_>>()))
    }
}

fn run(run: &Run<'_>) -> Result<Page, Error> {
    let (count, held_out) = (run.pick(2000, 400, 20), run.pick(1500, 300, 60));
    let clothes_count = usize::div_ceil(count, 2);
    run.plan(2 + 2 * DETECTORS.len());
    let digits = Digits::open(run)?;
    let (learnt, part) = (digits.learnt(run), digits.held_out(run));
    let (learnt, calibration) =
        (First::new(&learnt, held_out), First::new(&part, digits::reach(held_out)));
    let score = digits.score_model();
    let detectors =
        Detectors::fit(run, &digits.model, &score, &DETECTORS, [&learnt, &calibration])?;
    let test = Dataset::open(&run.data_path(digits::TEST)?, &digits::options())?;
    let clothes =
        Dataset::open(&run.data_path(CLOTHES)?, &Options { labels: false, ..digits::options() })?;
    let mut found = Vec::new();
    for ((name, _), detector) in DETECTORS.iter().zip(detectors.iter()) {
        let facts = (count, held_out, detectors.digest());
        found.push(run.step(&format!("residuals: {name}"), &facts, || {
            let first = First::new(&test, count);
            let own = signal::of(run, detector, &first)?;
            Ok(Residuals {
                held_out: signal::of(run, detector, &calibration)?.residuals,
                right: own.right(&first)?,
                digits: own.residuals,
                clothes: signal::of(run, detector, &First::new(&clothes, clothes_count))?.residuals,
            })
        })?);
    }
    let mut page = Page::new(run, "Digits mixed with clothes");
    page.lead(
        "The networks of [mnist](mnist.md) on test digits among which are images of clothes (Fashion-MNIST), 0 to 20 % of \
         them. Thresholds come from held-out training digits alone.",
    );
    mixtures(&mut page, &found)?;
    histograms(&mut page, &found[0])?;
    powers(&mut page, &found)?;
    page.fact("networks", digits.origin.clone());
    page.fact(
        "images",
        format!(
            "{count} test digits, {clothes_count} clothes, about {held_out} held-out training digits"
        ),
    );
    Ok(page)
}

fn mixtures(page: &mut Page, found: &[Residuals]) -> Result<(), Error> {
    let of = |k: usize| SHARES.map(|share| (share, found[k].mixture(share)));
    let lines = Lines::new("Accuracy and mean signal by the share of digits")
        .axes("share of digits", "mean residual")
        .right_axis("accuracy")
        .series(
            Series::new(DETECTORS[0].0, of(0).map(|(s, m)| (s, m.1)))
                .colour(colours::SIGNAL)
                .markers(),
        )
        .series(
            Series::new("accuracy", of(0).map(|(s, m)| (s, m.0)))
                .colour(colours::ERROR)
                .markers()
                .dashed()
                .on_right(),
        );
    page.heading("By share");
    page.figure(
        "shares",
        &lines,
        "Clothes have no right answer among digits and count as errors.",
    )?;
    let head =
        ["share of digits", "accuracy", "mean residual, Langevin", "mean residual, first order"];
    let mut table = Table::new("shares", "Mixtures", head);
    for (k, (share, (accuracy, mean))) in of(0).into_iter().enumerate() {
        let first_order = of(1)[k].1.1;
        table.row([
            (share, 2).into(),
            (accuracy, 3).into(),
            (mean, 4).into(),
            (first_order, 4).into(),
        ]);
    }
    page.table(table);
    let means = of(0).map(|(_, m)| m.1);
    let steps: Vec<bool> = means.windows(2).map(|pair| pair[1] <= pair[0]).collect();
    let falls = steps.iter().filter(|s| **s).count();
    page.claim(
        "Accuracy falls and the size of the mean signal rises with the share of clothes",
        Verdict::of(falls == 0 || falls == steps.len()),
        format!(
            "mean residual {:+.4} with digits alone, {:+.4} at 20 % clothes; {} of {} steps in one direction",
            means[10],
            means[0],
            falls.max(steps.len() - falls),
            steps.len()
        ),
    );
    Ok(())
}

fn histograms(page: &mut Page, found: &Residuals) -> Result<(), Error> {
    let scaled = |r: &f64| r.signum() * (1.0 + r.abs()).log10();
    let histogram = Histogram::new("Residuals of digits and of clothes")
        .axis("sign · log₁₀(1 + |residual|)")
        .group("digits", found.digits.iter().map(scaled))
        .group("clothes", found.clothes.iter().map(scaled));
    page.heading("Sample by sample");
    page.figure(
        "histogram",
        &histogram,
        "Langevin operator; both tails of clothes are heavy if the test is to work.",
    )
}

fn powers(page: &mut Page, found: &[Residuals]) -> Result<(), Error> {
    let head = ["operator", "tail", "clothes flagged", "95 % interval", "digits flagged", "AUROC"];
    let mut table = Table::new("power", "The test at 5 %: what is flagged", head);
    let mut two_sided = Vec::new();
    for ((name, _), residuals) in DETECTORS.iter().zip(found) {
        for (tail, words) in Tail::ALL {
            let power = residuals.power(tail)?;
            if tail == Tail::Two {
                two_sided.push(power.clothes);
            }
            let interval = format!("{:.3} to {:.3}", power.interval.0, power.interval.1);
            table.row([
                (*name).into(),
                words.into(),
                (power.clothes, 3).into(),
                interval.into(),
                (power.digits, 3).into(),
                (power.auroc, 3).into(),
            ]);
        }
    }
    page.table(table);
    let best = Tail::ALL
        .iter()
        .map(|(tail, words)| Ok((found[0].power(*tail)?.clothes, *words)))
        .collect::<Result<Vec<_>, Error>>()?;
    let words: Vec<String> = best.iter().map(|(p, words)| format!("{words} {p:.3}")).collect();
    page.claim(
        "The test at τ₀.₉₅ has high power against clothes",
        Verdict::of(two_sided[0] > 0.8),
        format!("Langevin: {}", words.join(", ")),
    );
    page.claim(
        "The Langevin operator has more power than the first-order one (two-sided)",
        Verdict::of(two_sided[0] > two_sided[1]),
        format!("{:.3} against {:.3}", two_sided[0], two_sided[1]),
    );
    page.beside("power, two-sided", None, two_sided[0], "the paper shows a figure and no number");
    Ok(())
}
