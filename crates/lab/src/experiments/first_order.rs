//! Blind spots of the first-order operator, and its squared length without them.

use serde::{Deserialize, Serialize};
use taste_choice::Choice;
use taste_report::{Lines, Series};
use taste_stats::{random::Random, rank::pearson};

use super::{
    colours,
    numbers::largest,
    plane::{self, Point, Regressor},
    signal,
};
use crate::{Error, Experiment, Page, Run, Table, Verdict};

pub(super) const EXPERIMENT: Experiment = Experiment {
    choice: Choice {
        name: "first-order",
        usage: "first-order",
        about: "blind spots of the first-order Stein operator along several v, and its squared length without them",
    },
    section: "appendix on first-order operators",
    data: &[],
    models: &[],
    run,
};

/// A direction counts as blind if the answers move by this share of the most, and the signal by less than that share.
const MOVES: f64 = 0.5;
const SILENT: f64 = 0.1;

/// What an operator says.
struct Operator {
    name: &'static str,
    written: &'static str,
    kind: Kind,
}

enum Kind {
    Langevin,
    Along(Point),
    Length,
}

const OPERATORS: [Operator; 6] = [
    Operator { name: "Langevin", written: "langevin", kind: Kind::Langevin },
    Operator { name: "v = (1, 1)", written: "first-order:1,1", kind: Kind::Along([1.0, 1.0]) },
    Operator { name: "v = (1, 0)", written: "first-order:1,0", kind: Kind::Along([1.0, 0.0]) },
    Operator { name: "v = (0, 1)", written: "first-order:0,1", kind: Kind::Along([0.0, 1.0]) },
    Operator { name: "v = (1, −1)", written: "first-order:1,-1", kind: Kind::Along([1.0, -1.0]) },
    Operator { name: "squared length", written: "first-order-norm", kind: Kind::Length },
];

impl Operator {
    /// Its mean under the moved p less that under p, in closed form where there is one.
    fn expected(&self, regressor: &Regressor, shift: Point) -> Option<f64> {
        match self.kind {
            Kind::Langevin => Some(regressor.adjusted(shift)),
            // −v · E_q[f ∇log(q/p)], and ∇log(q/p) is the shift.
            Kind::Along(v) => Some(-(v[0] * shift[0] + v[1] * shift[1]) * regressor.mean(shift)),
            Kind::Length => None,
        }
    }
}

/// What was found along a shift.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct At {
    angle: f64,
    /// How far the mean answer moves.
    change: f64,
    /// By operator: the mean less that under p, and its standard error.
    signals: Vec<(f64, f64)>,
    expected: Vec<Option<f64>>,
}

fn run(run: &Run<'_>) -> Result<Page, Error> {
    let (apart, count) = (run.pick(5, 5, 45), run.pick(4000, 1000, 200));
    run.plan(2);
    let regressor = Regressor::trained(run, run.seed_value())?;
    let found: Vec<At> =
        run.step("shifts", &(apart, count), || measure(run, &regressor, apart, count))?;
    let mut page = Page::new(run, "First-order operators and their blind spots");
    page.lead(
        "The plane and the regressor of [directional](directional.md), with the first-order operator along v, \
         v·∇f + f v·s, and with its squared length ‖∇f + f s‖², each less its mean under p.",
    );
    figures(&mut page, &found)?;
    judge(&mut page, &found);
    table(&mut page, &found);
    page.fact("regressor", format!("seed {}, trained as in directional", run.seed_value()));
    page.fact("shifts", format!("{} angles, {count} draws each", found.len()));
    Ok(page)
}

fn measure(
    run: &Run<'_>,
    regressor: &Regressor,
    apart: usize,
    count: usize,
) -> Result<Vec<At>, Error> {
    let mut random = Random::stream(run.seed_value(), 2);
    let held_out = plane::samples("draws of p", &plane::draw(4000, [0.0; 2], &mut random));
    let mut detectors = Vec::new();
    for operator in &OPERATORS {
        let options = [
            ("score-model", "standard-normal"),
            ("precondition", "none"),
            ("target", "output"),
            ("operator", operator.written),
        ];
        detectors.push(signal::fit(run, &regressor.model, &options, &held_out, None)?);
    }
    let at = |angle: f64| {
        let shift = plane::shift(angle);
        let points = plane::samples("draws of q", &plane::draw(count, shift, &mut random));
        let mut signals = Vec::new();
        for detector in &detectors {
            let summary = signal::of(run, detector, &points)?.summary()?;
            let (_, baseline_error) = signal::baseline(detector).unwrap_or_default();
            signals.push((summary.mean, summary.standard_error().hypot(baseline_error)));
        }
        Ok(At {
            angle,
            change: regressor.mean(shift) - regressor.mean([0.0; 2]),
            signals,
            expected: OPERATORS.iter().map(|o| o.expected(regressor, shift)).collect(),
        })
    };
    plane::angles(apart).into_iter().map(at).collect()
}

/// The colour of an operator: the Langevin one, then those along v.
fn colour(operator: usize) -> usize {
    if operator == 0 { colours::SIGNAL } else { colours::FIRST_ORDER - 1 + operator }
}

/// A share of the largest size over the angles.
fn shares(found: &[At], of: impl Fn(&At) -> f64) -> Vec<f64> {
    let sizes: Vec<f64> = found.iter().map(|at| of(at).abs()).collect();
    let most = largest(&sizes);
    sizes.into_iter().map(|size| size / most).collect()
}

fn figures(page: &mut Page, found: &[At]) -> Result<(), Error> {
    let change = shares(found, |at| at.change);
    let angles = || found.iter().map(|at| at.angle);
    let mut lines = Lines::new("Size of the signal by angle, as a share of its largest")
        .axes("angle of the shift, from (1, 1), in degrees", "share of the largest")
        .series(
            Series::new("|E_q f − E_p f|", angles().zip(change)).colour(colours::EXPECTED).dashed(),
        );
    for (k, operator) in OPERATORS.iter().enumerate().filter(|(_, o)| o.name != "v = (0, 1)") {
        let share = shares(found, |at| at.signals[k].0);
        lines = lines.series(Series::new(operator.name, angles().zip(share)).colour(colour(k)));
    }
    page.figure(
        "angles",
        &lines,
        "Where the dashed line is high and a line is at zero, the operator does not see a shift that moves the answers. \
         The first-order operator sees the product of v · shift and the mean answer, so every shift across v is hidden \
         from it.",
    )?;
    let along = 1;
    let lines = Lines::new("First-order signal along v = (1, 1), and its closed form")
        .axes("angle of the shift, from (1, 1), in degrees", "E_q A f − E_p A f")
        .series(
            Series::new(
                "−(v · shift) E_q f",
                found.iter().map(|at| (at.angle, at.expected[along].unwrap_or(f64::NAN))),
            )
            .colour(colours::EXPECTED),
        )
        .series(
            Series::new("measured", found.iter().map(|at| (at.angle, at.signals[along].0)))
                .colour(colour(along))
                .dots(),
        )
        .series(
            Series::new("measured, Langevin", found.iter().map(|at| (at.angle, at.signals[0].0)))
                .colour(colours::SIGNAL),
        );
    page.figure(
        "closed-form",
        &lines,
        "The first-order signal grows with the square of the shift, the Langevin one with the shift itself.",
    )
}

/// The angles at which an operator is blind.
fn blind(found: &[At], operator: usize) -> Vec<f64> {
    let change = shares(found, |at| at.change);
    let signal = shares(found, |at| at.signals[operator].0);
    let is_blind = |i: &usize| change[*i] > MOVES && signal[*i] < SILENT;
    (0..found.len()).filter(is_blind).map(|i| found[i].angle).collect()
}

fn judge(page: &mut Page, found: &[At]) {
    let counts: Vec<usize> = (0..OPERATORS.len()).map(|k| blind(found, k).len()).collect();
    let words: Vec<String> =
        OPERATORS.iter().zip(&counts).map(|(o, n)| format!("{} {n}", o.name)).collect();
    let seen = format!(
        "angles of {} at which answers move by more than half of the most and the signal stays below a tenth of its: {}",
        found.len(),
        words.join(", ")
    );
    page.claim(
        "The first-order operator has blind spots for some v (v = (1, 1), (1, 0), (0, 1))",
        Verdict::of(counts[1..4].iter().all(|n| *n > 0)),
        seen.clone(),
    );
    page.claim("The Langevin operator has none", Verdict::of(counts[0] == 0), seen.clone());
    page.claim(
        "The squared length of the first-order operator has none, though it is no Stein operator",
        Verdict::of(counts[5] == 0),
        seen,
    );
    let distances: Vec<f64> = found
        .iter()
        .flat_map(|at| at.signals.iter().zip(&at.expected))
        .filter_map(|((mean, error), expected)| expected.map(|e| ((mean - e) / error).abs()))
        .collect();
    let within = distances.iter().filter(|d| **d <= 2.0).count() as f64 / distances.len() as f64;
    page.claim(
        "E_q[A f] = −v · E_q[f ∇log(q/p)]",
        Verdict::of(within > 0.9),
        format!(
            "{:.1} % of {} measured signals within two standard errors of their closed form",
            100.0 * within,
            distances.len()
        ),
    );
}

fn table(page: &mut Page, found: &[At]) {
    let head = ["operator", "blind angles", "correlation of its size with |E_q f − E_p f|"];
    let mut table = Table::new("operators", "Operators", head);
    let change: Vec<f64> = found.iter().map(|at| at.change.abs()).collect();
    for (k, operator) in OPERATORS.iter().enumerate() {
        let sizes: Vec<f64> = found.iter().map(|at| at.signals[k].0.abs()).collect();
        let correlation = pearson(&sizes, &change).map(|c| (c, 3));
        table.row([operator.name.into(), blind(found, k).len().into(), correlation.into()]);
    }
    page.heading("Operators side by side");
    page.table(table);
    let head = ["operator", "angle", "signal", "standard_error", "closed_form"];
    let mut table = Table::new("shifts", "All operators and angles", head).in_file();
    for at in found {
        for (k, operator) in OPERATORS.iter().enumerate() {
            let (mean, error) = at.signals[k];
            table.row([
                operator.name.into(),
                (at.angle, 0).into(),
                (mean, 4).into(),
                (error, 4).into(),
                at.expected[k].map(|e| (e, 4)).into(),
            ]);
        }
    }
    page.table(table);
}
