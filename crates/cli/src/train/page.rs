//! The report of a run: one self-contained page.

use anyhow::Result;
use ndarray::{ArrayD, Axis, Ix3};
use taste_report::{
    Heatmap, Histogram, Image, Lines, Page, Panel, Scale, Scatter, Section, Series, Table, Tone,
};
use taste_train::Fitted;

use super::{outcome::Outcome, run::Run};

/// Images that are drawn, and how many stand side by side.
const IMAGES: (usize, usize) = (32, 8);
/// Points that are drawn of tables.
const POINTS: usize = 400;

/// Of a score network: curves, noise levels and samples.
pub(super) fn of_score(fitted: &Fitted, outcome: &Outcome, run: &Run<'_>) -> Result<String> {
    let mut page = opening(outcome);
    if outcome.levels.len() > 1 {
        page = page.section(levels(outcome));
    }
    let images = fitted.trained().network().sample_shape().len() == 3;
    let count = if images { IMAGES.0 } else { POINTS };
    let drawn = fitted.draw(count, run.args.seed, &run.backend, run.threads)?;
    let real = fitted.some_held_out(count);
    Ok(page.section(samples(fitted, &drawn, &real)).footer(footer(run.args.seed)).to_html())
}

/// Of a classifier or regressor.
pub(super) fn of_task(outcome: &Outcome) -> String {
    let page = opening(outcome);
    let Some(found) = outcome.by_class() else { return page.to_html() };
    let mut table = Table::new(found.head).right(&[0, 1, 2, 3, 4]);
    for row in found.rows {
        table.row(row);
    }
    let mut section = Section::new("By class");
    if let Some(remark) = found.remark {
        section = section.paragraph(format!("{remark}."));
    }
    page.section(section.table(&table)).to_html()
}

fn footer(seed: u64) -> String {
    format!("taste {}, seed {seed}", env!("CARGO_PKG_VERSION"))
}

fn opening(outcome: &Outcome) -> Page {
    let mut table = Table::new(["", ""]);
    for (name, value) in outcome.facts() {
        table.row([name.to_owned(), value]);
    }
    let (tone, headline) = if outcome.is_good() {
        (Tone::Ok, "The network has learned something")
    } else {
        (Tone::Warning, "The network needs more")
    };
    let points = |held_out: bool| {
        let pairs = outcome.curve.iter().filter_map(move |p| {
            let y = if held_out { p.held_out? } else { p.loss };
            Some((p.step as f64, y))
        });
        pairs.collect::<Vec<_>>()
    };
    let mut chart =
        Lines::new("Loss").axes("step", "loss").series(Series::new("training", points(false)));
    if !points(true).is_empty() {
        chart = chart.series(Series::new("held out", points(true)));
    }
    if let Some(gaussian) = outcome.gaussian_loss {
        chart = chart.level(gaussian, "best Gaussian");
    }
    Page::new("How a network was trained").verdict(tone, headline, outcome.verdict.clone()).section(
        Section::new("The run").table(&table).figure(
            &chart,
            "The loss of the samples that the network learns from, and of those that it does not.",
        ),
    )
}

fn levels(outcome: &Outcome) -> Section {
    let log = |sigma: f64| sigma.max(1e-12).log10();
    let of = |y: &dyn Fn(&taste_train::Level) -> Option<f64>| {
        let pairs = outcome.levels.iter().filter_map(|l| Some((log(l.sigma), y(l)?)));
        pairs.collect::<Vec<_>>()
    };
    let band = outcome.levels.iter().map(|l| (l.loss - 2.0 * l.error, l.loss + 2.0 * l.error));
    let mut chart = Lines::new("Held-out loss by noise level")
        .axes("deviation of the noise, log₁₀", "loss")
        .series(Series::new("network", of(&|l| Some(l.loss))).markers().band(band));
    let gaussian = of(&|l| l.gaussian);
    if !gaussian.is_empty() {
        chart = chart.series(Series::new("best Gaussian", gaussian).dashed());
    }
    Section::new("By noise level")
        .paragraph(
            "A loss of 1 means that nothing of the noise was found, 0 that all of it was. Where the network does not beat \
             the best Gaussian, it needs more steps, or that noise is not worth learning from.",
        )
        .figure(&chart, "The band is two standard errors wide on either side.")
}

fn samples(fitted: &Fitted, drawn: &ArrayD<f32>, real: &ArrayD<f32>) -> Section {
    let section = Section::new("Samples").paragraph(
        "Drawn from what the network has learned: from noise, along its score. With a single noise level, the walk starts at \
         held-out samples, as the network knows nothing far from the data. Where drawn samples do not look like real \
         ones, neither does the density that a detector would rest on.",
    );
    match fitted.trained().network().sample_shape() {
        [1 | 3, _, _] => section
            .figure(&grid(drawn, real), "Drawn samples.")
            .figure(&grid(real, real), "Held-out samples."),
        [1] => {
            let first = |of: &ArrayD<f32>| of.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
            let chart = Histogram::new("Drawn and held-out samples")
                .group("held out", first(real))
                .group("drawn", first(drawn));
            section.figure(&chart, "All entries.")
        }
        _ => {
            let chart = Scatter::new("Drawn and held-out samples")
                .axes("first entry", "second entry")
                .class("held out", pairs(real))
                .class("drawn", pairs(drawn));
            section.figure(&chart, "The first two entries of every sample.")
        }
    }
}

/// Images side by side, as dark and bright as real ones are.
fn grid(of: &ArrayD<f32>, real: &ArrayD<f32>) -> Heatmap {
    let range = if real.is_empty() { of } else { real };
    let low = range.iter().copied().fold(f32::INFINITY, f32::min);
    let high = range.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let panels = of.axis_iter(Axis(0)).take(IMAGES.0).filter_map(|sample| {
        let sample = sample.into_dimensionality::<Ix3>().ok()?;
        Image::from_sample(&sample, low, high).ok().map(Panel::image)
    });
    Heatmap::grid(panels.collect(), IMAGES.1, Scale::diverging(1.0)).pixel(3)
}

fn pairs(of: &ArrayD<f32>) -> Vec<(f64, f64)> {
    let pair = |row: ndarray::ArrayViewD<'_, f32>| {
        let mut entries = row.into_iter().map(|&v| f64::from(v));
        Some((entries.next()?, entries.next()?))
    };
    of.axis_iter(Axis(0)).filter_map(pair).collect()
}
