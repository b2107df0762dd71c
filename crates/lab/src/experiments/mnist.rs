//! Digits that are moved and turned: does the Stein signal rise with the error alone?

use serde::{Deserialize, Serialize};
use taste_choice::Choice;
use taste_data::{Dataset, First, Samples};
use taste_report::{Lines, Series};
use taste_stats::rank::spearman;
use taste_zoo::{
    benchmark::{Folder, Made, corrupted},
    corruptions::recipes,
};

use super::{
    colours,
    digits::{self, Digits},
    signal::{self, Detectors},
};
use crate::{Cell, Error, Experiment, Page, Run, Table, Verdict, error::refused};

pub(super) const EXPERIMENT: Experiment = Experiment {
    choice: Choice {
        name: "mnist",
        usage: "mnist",
        about: "digits moved by up to 12 pixels and turned by −90° to 72°: accuracy, Stein signal, likelihood proxy",
    },
    section: "6.2, figure 3",
    data: &digits::DATA,
    models: &digits::MODELS,
    run,
};

/// What is computed of every set, and how the method `stein` is told.
const DETECTORS: [(&str, &[(&str, &str)]); 3] = [
    ("closed form", &[("target", "prob"), ("laplacian-method", "closed-form")]),
    ("Hutchinson, 5 probes", &[("target", "prob"), ("laplacian-method", "hutchinson:5")]),
    ("length of the score", &[("operator", "score-only")]),
];

const COLOURS: [usize; 3] = [colours::SIGNAL, colours::OTHERWISE, colours::LIKELIHOOD];

/// A set of digits.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Found {
    kind: Kind,
    /// Pixels or degrees.
    size: f64,
    accuracy: f64,
    /// By detector, the mean less its baseline, its standard error with that of the baseline, and the standard deviation.
    signals: Vec<Signal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    Moved,
    Turned,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Signal {
    mean: f64,
    error: f64,
    deviation: f64,
}

impl Signal {
    /// The interval at 95 %.
    fn interval(self) -> (f64, f64) {
        (self.mean - 1.96 * self.error, self.mean + 1.96 * self.error)
    }

    fn holds_zero(self) -> bool {
        self.mean.abs() <= 1.96 * self.error
    }
}

impl Found {
    fn name(&self) -> String {
        match self.kind {
            Kind::Moved => format!("moved by up to {} px", self.size),
            Kind::Turned => format!("turned by {}°", self.size),
        }
    }
}

/// The sets: pixels, then degrees.
fn sizes(run: &Run<'_>) -> Vec<(Kind, f64)> {
    let pixels: &[i32] = run.pick(&[0, 2, 4, 6, 8, 10, 12], &[0, 2, 4, 6, 8, 10, 12], &[0, 4]);
    let degrees: &[i32] = run.pick(
        &[-90, -72, -54, -36, -18, 0, 18, 36, 54, 72],
        &[-90, -72, -54, -36, -18, 0, 18, 36, 54, 72],
        &[-90, 0],
    );
    let moved = pixels.iter().map(|p| (Kind::Moved, f64::from(*p)));
    moved.chain(degrees.iter().map(|d| (Kind::Turned, f64::from(*d)))).collect()
}

fn run(run: &Run<'_>) -> Result<Page, Error> {
    let (count, held_out) = (run.pick(2000, 100, 8), run.pick(1500, 300, 60));
    let sizes = sizes(run);
    run.plan(2 + DETECTORS.len() + sizes.len());
    let digits = Digits::open(run)?;
    let score = digits.score_model();
    let (learnt, part) = (digits.learnt(run), digits.held_out(run));
    let (learnt, calibration) =
        (First::new(&learnt, held_out), First::new(&part, digits::reach(held_out)));
    let detectors =
        Detectors::fit(run, &digits.model, &score, &DETECTORS, [&learnt, &calibration])?;
    let folder = Folder::open(run.kept())?;
    let mut found = Vec::new();
    for (kind, size) in sizes {
        let name = Found { kind, size, accuracy: 0.0, signals: Vec::new() }.name();
        let facts = (count, held_out, detectors.digest());
        found.push(run.step(&name, &facts, || {
            let set = made(run, &folder, kind, size, count)?;
            measure(run, &detectors, &set, kind, size)
        })?);
    }
    let mut page = Page::new(run, "Digits that are moved and turned");
    page.lead(
        "The paper's classifier of digits on 64 × 64 pixels, and its score network. Test digits are moved by whole pixels, \
         each by its own draw up to a limit, or all turned by the same angle. The signal is the mean adjusted residual of \
         the probability of the predicted class.",
    );
    figures(&mut page, &found)?;
    judge(&mut page, &found);
    table(&mut page, &found);
    page.fact("networks", digits.origin.clone());
    page.fact("images", format!("the first {count} test digits for every set"));
    page.fact(
        "baseline",
        format!("a third of about {held_out} training digits that no network here has learnt from"),
    );
    Ok(page)
}

fn made(
    run: &Run<'_>,
    folder: &Folder,
    kind: Kind,
    size: f64,
    count: usize,
) -> Result<Dataset, Error> {
    let text = match kind {
        Kind::Moved => format!("translate:pixels={size}"),
        Kind::Turned => format!("rotate:degrees={size}"),
    };
    let recipes: Vec<_> =
        recipes(&[text])?.into_iter().map(|r| r.with_seed(run.seed_value())).collect();
    let (path, options) = (run.data_path(digits::TEST)?, digits::options());
    let made = corrupted(folder, &path, &options, &recipes, Some(count), &run.progress())?;
    let Made { path, .. } = made.first().ok_or_else(|| refused("no set was made"))?;
    Ok(Dataset::open(path, &options)?)
}

fn measure(
    run: &Run<'_>,
    detectors: &Detectors,
    set: &dyn Samples,
    kind: Kind,
    size: f64,
) -> Result<Found, Error> {
    let mut signals = Vec::new();
    let mut accuracy = f64::NAN;
    for detector in detectors.iter() {
        let found = signal::of(run, detector, set)?;
        let summary = found.summary()?;
        let (_, baseline) = signal::baseline(detector).unwrap_or_default();
        let error = summary.standard_error().hypot(baseline);
        signals.push(Signal { mean: summary.mean, error, deviation: summary.variance.sqrt() });
        accuracy = found.accuracy(set)?;
    }
    Ok(Found { kind, size, accuracy, signals })
}

fn of_kind(found: &[Found], kind: Kind) -> Vec<&Found> {
    found.iter().filter(|f| f.kind == kind).collect()
}

fn figures(page: &mut Page, found: &[Found]) -> Result<(), Error> {
    for (kind, name, label) in
        [(Kind::Moved, "moved", "pixels, at most"), (Kind::Turned, "turned", "degrees")]
    {
        let own = of_kind(found, kind);
        let series = |k: usize| {
            let points = own.iter().map(move |f| (f.size, f.signals[k].mean));
            let band = own.iter().map(move |f| f.signals[k].interval());
            Series::new(DETECTORS[k].0, points).colour(COLOURS[k]).markers().band(band)
        };
        let accuracy = own.iter().map(|f| (f.size, f.accuracy));
        let lines = Lines::new(format!("Digits {name}: Stein signal and accuracy"))
            .axes(label, "Stein signal, 95 % interval")
            .right_axis("accuracy")
            .series(series(0))
            .series(series(1))
            .series(
                Series::new("accuracy", accuracy)
                    .colour(colours::ERROR)
                    .markers()
                    .dashed()
                    .on_right(),
            )
            .level(0.0, "");
        let caption = match kind {
            Kind::Moved => "Bands are intervals of the mean, the error of the baseline included.",
            Kind::Turned => {
                "The same for angles. If the signal rose with the error, the lines would mirror each other."
            }
        };
        page.figure(name, &lines, caption)?;
    }
    let series = |kind: Kind, name: &str| {
        let points: Vec<_> = of_kind(found, kind)
            .into_iter()
            .map(|f| (1.0 - f.accuracy, f.signals[2].mean))
            .collect();
        Series::new(name, points).dots()
    };
    let lines = Lines::new("Likelihood proxy against error")
        .axes("share of wrong answers", "mean length of the score, less its baseline")
        .series(series(Kind::Moved, "moved"))
        .series(series(Kind::Turned, "turned"));
    page.figure(
        "likelihood",
        &lines,
        "The length of the score is large where the data are unlikely, and looks at no classifier.",
    )
}

fn judge(page: &mut Page, found: &[Found]) {
    let (moved, turned) = (of_kind(found, Kind::Moved), of_kind(found, Kind::Turned));
    let inside = moved.iter().filter(|f| f.signals[0].holds_zero()).count();
    let worst = moved.iter().max_by(|a, b| {
        let z = |f: &Found| (f.signals[0].mean / f.signals[0].error).abs();
        z(a).total_cmp(&z(b))
    });
    let lost = moved.first().zip(moved.last()).map_or(f64::NAN, |(a, b)| a.accuracy - b.accuracy);
    let far = worst.map_or_else(String::new, |f| {
        format!("; furthest: {}, {:+.3} ± {:.3}", f.name(), f.signals[0].mean, f.signals[0].error)
    });
    let verdict = match inside {
        n if n == moved.len() => Verdict::Holds,
        0 => Verdict::Fails,
        _ => Verdict::Partly,
    };
    page.claim(
        "Translations up to 12 px leave the signal within its interval of zero (6.2)",
        verdict,
        format!(
            "{inside} of {} intervals hold zero{far}; accuracy falls by {lost:.3}",
            moved.len()
        ),
    );
    let sizes: Vec<f64> = turned.iter().map(|f| f.signals[0].mean.abs()).collect();
    let signed: Vec<f64> = turned.iter().map(|f| f.signals[0].mean).collect();
    let errors: Vec<f64> = turned.iter().map(|f| 1.0 - f.accuracy).collect();
    let rank = spearman(&sizes, &errors).unwrap_or(f64::NAN);
    let signed_rank = spearman(&signed, &errors).unwrap_or(f64::NAN);
    let verdict = if rank >= 0.95 {
        Verdict::Holds
    } else if rank >= 0.6 {
        Verdict::Partly
    } else {
        Verdict::Fails
    };
    page.claim(
        "Rotations raise the signal monotonically with the error (6.2)",
        verdict,
        format!(
            "rank correlation of |S_f| with the error over {} angles {rank:.2} (of S_f {signed_rank:.2})",
            turned.len()
        ),
    );
    let proxy: Vec<f64> = found.iter().map(|f| f.signals[2].mean).collect();
    let all: Vec<f64> = found.iter().map(|f| 1.0 - f.accuracy).collect();
    let (proxy, own) = (
        spearman(&proxy, &all).unwrap_or(f64::NAN),
        spearman(&found.iter().map(|f| f.signals[0].mean.abs()).collect::<Vec<_>>(), &all)
            .unwrap_or(f64::NAN),
    );
    page.claim(
        "Likelihood does not tell translations from rotations, the signal does (6.2)",
        Verdict::of(own > proxy),
        format!("rank correlation with the error over all sets: |S_f| {own:.2}, length of the score {proxy:.2}"),
    );
    let far = found
        .iter()
        .map(|f| {
            let (a, b) = (f.signals[0], f.signals[1]);
            ((a.mean - b.mean) / a.error.hypot(b.error)).abs()
        })
        .fold(0.0, f64::max);
    let spread = found.iter().map(|f| f.signals[1].deviation / f.signals[0].deviation);
    let spread = spread.sum::<f64>() / found.len() as f64;
    page.claim(
        "Five probes of Hutchinson give the same signal as the closed form",
        Verdict::of(far < 3.0),
        format!(
            "at most {far:.1} standard errors apart; residuals of single digits spread {spread:.2} times as much with probes"
        ),
    );
    page.beside("figure 3", None, rank, "the paper shows curves and no numbers");
}

fn table(page: &mut Page, found: &[Found]) {
    let mut head = vec!["set".to_owned(), "accuracy".to_owned()];
    for (name, _) in DETECTORS {
        head.extend([name.to_owned(), format!("± ({name})")]);
    }
    let mut table =
        Table::new("sets", "All sets: means less their baselines, and standard errors", head);
    for f in found {
        let signals =
            f.signals.iter().flat_map(|s| [Cell::Number(s.mean, 4), Cell::Number(s.error, 4)]);
        table.row([f.name().into(), (f.accuracy, 3).into()].into_iter().chain(signals));
    }
    page.heading("All numbers");
    page.table(table);
}
