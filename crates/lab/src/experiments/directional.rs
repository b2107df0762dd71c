//! Shifts of the plane in all directions: does the Stein signal follow the harm?

use serde::{Deserialize, Serialize};
use taste_choice::Choice;
use taste_report::{Lines, Series};
use taste_stats::{
    random::Random,
    rank::{pearson, spearman},
};

use super::{
    colours,
    numbers::{average, largest, smallest},
    plane::{self, Regressor},
    signal,
};
use crate::{Error, Experiment, Page, Run, Table, Verdict};

pub(super) const EXPERIMENT: Experiment = Experiment {
    choice: Choice {
        name: "directional",
        usage: "directional",
        about: "a Gaussian of the plane moved by 10 in all directions: error, Stein signal and likelihood by angle",
    },
    section: "6.1, figure 2",
    data: &[],
    models: &[],
    run,
};

/// What is known of a shift.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct At {
    angle: f64,
    /// The mean absolute error.
    error: f64,
    /// The mean adjusted residual and its standard error, that of the baseline included.
    signal: (f64, f64),
    /// Its closed form.
    expected: f64,
    /// The Stein functional with what the Laplacian has on kinks, in closed form.
    functional: f64,
    /// How far the mean answer moves, in closed form.
    change: f64,
    likelihood: f64,
}

fn run(run: &Run<'_>) -> Result<Page, Error> {
    let seeds = run.pick(20, 20, 2);
    let apart = run.pick(5, 10, 45);
    let count = run.pick(1000, 1000, 200);
    run.plan(2 * seeds);
    let mut all = Vec::new();
    for seed in 0..seeds as u64 {
        let seed = run.seed_value() + seed;
        let regressor = Regressor::trained(run, seed)?;
        let name = format!("shifts with seed {seed}");
        all.push(
            run.step(&name, &(apart, count), || measure(run, &regressor, seed, apart, count))?,
        );
    }
    let mut page = Page::new(run, "Shifts of the plane in all directions");
    page.lead(
        "p is the standard Gaussian of the plane, the task is x₂ − x₁, and a network with 64 ReLUs learns it from draws \
         of p. Then p is moved by 10 in every direction. The error depends on the direction, the likelihood does not. \
         Does the Stein signal S_f, the mean adjusted residual under the moved p, follow the error?",
    );
    figures(&mut page, &all[0])?;
    correlations(&mut page, &all)?;
    tables(&mut page, &all);
    page.fact("regressors", format!("{seeds}, seeds {} on", run.seed_value()));
    page.fact(
        "training",
        format!("{} draws of p, 100 epochs of Adam at 0.001", plane::training_samples(run)),
    );
    page.fact("shifts", format!("{} angles, {count} draws each", all[0].len()));
    page.fact("baseline", "4,000 further draws of p, of which a third gives D_f".to_owned());
    Ok(page)
}

fn measure(
    run: &Run<'_>,
    regressor: &Regressor,
    seed: u64,
    apart: usize,
    count: usize,
) -> Result<Vec<At>, Error> {
    let mut random = Random::stream(seed, 1);
    let held_out = plane::samples("draws of p", &plane::draw(4000, [0.0; 2], &mut random));
    let options =
        [("score-model", "standard-normal"), ("precondition", "none"), ("target", "output")];
    let detector = signal::fit(run, &regressor.model, &options, &held_out, None)?;
    let (_, baseline_error) = signal::baseline(&detector).unwrap_or_default();
    let at = |angle: f64| {
        let shift = plane::shift(angle);
        let points = plane::draw(count, shift, &mut random);
        let found = signal::of(run, &detector, &plane::samples("draws of q", &points))?;
        let summary = found.summary()?;
        let errors = points.iter().zip(&found.outputs);
        let error = errors.map(|(x, y)| (f64::from(y[0]) - plane::task(*x)).abs()).sum::<f64>();
        Ok(At {
            angle,
            error: error / count as f64,
            signal: (summary.mean, summary.standard_error().hypot(baseline_error)),
            expected: regressor.adjusted(shift),
            functional: regressor.functional(shift),
            change: regressor.mean(shift) - regressor.mean([0.0; 2]),
            likelihood: plane::log_likelihood(&points),
        })
    };
    plane::angles(apart).into_iter().map(at).collect()
}

fn figures(page: &mut Page, found: &[At]) -> Result<(), Error> {
    let by_angle = |of: fn(&At) -> f64| found.iter().map(move |at| (at.angle, of(at)));
    page.heading("By angle");
    let lines = Lines::new("Error and Stein signal by angle, one regressor")
        .axes("angle of the shift, from (1, 1), in degrees", "mean absolute error")
        .right_axis("|S_f|")
        .series(Series::new("error", by_angle(|at| at.error)).colour(colours::ERROR))
        .series(
            Series::new("|S_f|", by_angle(|at| at.signal.0.abs()))
                .colour(colours::SIGNAL)
                .on_right(),
        );
    page.figure(
        "angles",
        &lines,
        "The Stein signal is large where the shift moves x₂ − x₁ (90° and 270°) and near zero where it does not (0° and \
         180°). The error of this regressor need not: a network that was trained near the origin errs by its own slopes \
         ten standard deviations away.",
    )?;
    let lines = Lines::new("Stein signal against its closed form, one regressor")
        .axes("angle of the shift, from (1, 1), in degrees", "S_f")
        .series(Series::new("closed form", by_angle(|at| at.expected)).colour(colours::EXPECTED))
        .series(
            Series::new("measured, ± 2 standard errors", by_angle(|at| at.signal.0))
                .colour(colours::SIGNAL)
                .dots()
                .band(
                    found.iter().map(|at| {
                        (at.signal.0 - 2.0 * at.signal.1, at.signal.0 + 2.0 * at.signal.1)
                    }),
                ),
        )
        .series(
            Series::new("with the Laplacian on kinks", by_angle(|at| at.functional))
                .colour(colours::OTHERWISE)
                .dashed(),
        );
    page.figure(
        "closed-form",
        &lines,
        "Gradients of a ReLU network under a Gaussian have a mean in closed form, and so has the adjusted residual. The \
         dashed line is −E_q[∇f · ∇log(q/p)], which counts what the Laplacian has on kinks; the residual, computed almost \
         everywhere, misses that part, and D_f takes off what it is under p.",
    )?;
    let lines = Lines::new("Likelihood and Stein signal by angle, one regressor")
        .axes("angle of the shift, from (1, 1), in degrees", "mean log-likelihood under p")
        .right_axis("|S_f|")
        .series(
            Series::new("log-likelihood", by_angle(|at| at.likelihood)).colour(colours::LIKELIHOOD),
        )
        .series(
            Series::new("|S_f|", by_angle(|at| at.signal.0.abs()))
                .colour(colours::SIGNAL)
                .on_right(),
        );
    page.figure(
        "likelihood",
        &lines,
        "The likelihood knows how far the data were moved, and nothing of the task: it is the same at every angle but for \
         the noise of the draws.",
    )
}

/// Correlations over the angles, by regressor.
struct Correlations {
    with_change: Vec<f64>,
    with_error: Vec<f64>,
    ranks_with_error: Vec<f64>,
    /// The distances to the closed form in standard errors, of all angles and regressors.
    distances: Vec<f64>,
}

impl Correlations {
    fn of(all: &[Vec<At>]) -> Self {
        let sizes = |found: &Vec<At>| found.iter().map(|at| at.signal.0.abs()).collect::<Vec<_>>();
        let column = |found: &Vec<At>, of: fn(&At) -> f64| found.iter().map(of).collect::<Vec<_>>();
        let by = |of: fn(&At) -> f64, measure: fn(&[f64], &[f64]) -> Option<f64>| {
            all.iter().filter_map(|found| measure(&sizes(found), &column(found, of))).collect()
        };
        let distance = |at: &At| (at.signal.0 - at.expected) / at.signal.1;
        Self {
            with_change: by(|at| at.change.abs(), pearson),
            with_error: by(|at| at.error, pearson),
            ranks_with_error: by(|at| at.error, spearman),
            distances: all.iter().flatten().map(distance).collect(),
        }
    }
}

fn correlations(page: &mut Page, all: &[Vec<At>]) -> Result<(), Error> {
    let found = Correlations::of(all);
    let by_seed = |values: &[f64]| {
        let points: Vec<_> = values.iter().enumerate().map(|(i, v)| (i as f64, *v)).collect();
        points
    };
    page.heading("Over regressors");
    let lines = Lines::new("Correlation of |S_f| over the angles, by regressor")
        .axes("regressor", "correlation")
        .series(Series::new("with |E_q f − E_p f|", by_seed(&found.with_change)).markers())
        .series(Series::new("with the error", by_seed(&found.with_error)).markers());
    page.figure(
        "correlations",
        &lines,
        "What the signal follows is how far the answers move. Whether that is the error depends on the regressor: a \
         network that extrapolates the task well moves its answers without erring.",
    )?;
    let (least, mean) = (smallest(&found.with_change), average(&found.with_change));
    page.claim(
        "|S_f| follows |E_q f − E_p f| over the angles (correlation above .99)",
        Verdict::of(least > 0.99),
        format!("mean {mean:.4}, smallest of {} regressors {least:.4}", all.len()),
    );
    let within = found.distances.iter().filter(|d| d.abs() <= 2.0).count();
    let share = within as f64 / found.distances.len() as f64;
    let spread = average(&found.distances.iter().map(|d| d * d).collect::<Vec<_>>()).sqrt();
    page.claim(
        "S_f equals its closed form within error",
        Verdict::of(share >= 0.9 && spread < 1.3),
        format!(
            "{:.1} % of {} shifts within two standard errors (95 % expected), root mean square {spread:.2}",
            100.0 * share,
            found.distances.len()
        ),
    );
    let (error, ranks) = (average(&found.with_error), average(&found.ranks_with_error));
    let verdict = if smallest(&found.with_error) > 0.9 {
        Verdict::Holds
    } else if error > 0.5 {
        Verdict::Partly
    } else {
        Verdict::Fails
    };
    page.claim(
        "The Stein signal tracks the prediction error precisely (6.1)",
        verdict,
        format!(
            "correlation {error:.3} on average, {:.3} to {:.3} over {} regressors; rank correlation {ranks:.3} on average",
            smallest(&found.with_error),
            largest(&found.with_error),
            all.len()
        ),
    );
    let likelihoods: Vec<f64> = all[0].iter().map(|at| at.likelihood).collect();
    let range = largest(&likelihoods) - smallest(&likelihoods);
    page.claim(
        "The likelihood does not depend on the direction (6.1)",
        Verdict::of(range < 0.1 * average(&likelihoods).abs()),
        format!("{:.2} to {:.2} over the angles", smallest(&likelihoods), largest(&likelihoods)),
    );
    let why = "the paper shows a figure and no number";
    page.beside("correlation of |S_f| with the error, mean", None, error, why);
    page.beside("correlation of |S_f| with |E_q f − E_p f|, mean", None, mean, why);
    Ok(())
}

fn tables(page: &mut Page, all: &[Vec<At>]) {
    let head = [
        "seed",
        "angle",
        "error",
        "signal",
        "standard_error",
        "closed_form",
        "with_kinks",
        "change",
        "log_likelihood",
    ];
    let mut table = Table::new("shifts", "All regressors and angles", head).in_file();
    for (seed, found) in all.iter().enumerate() {
        for at in found {
            let numbers = [
                at.angle,
                at.error,
                at.signal.0,
                at.signal.1,
                at.expected,
                at.functional,
                at.change,
                at.likelihood,
            ];
            table.row(std::iter::once(seed.into()).chain(numbers.map(|number| (number, 3).into())));
        }
    }
    page.table(table);
}
