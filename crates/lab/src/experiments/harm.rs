//! Detection against harm: which method sees the shifts that cost accuracy, and what one pays for it.

use taste_choice::Choice;
use taste_report::{Lines, Series};
use taste_stats::{evidence::Evidence, random::Random};

use super::{
    cifar::{self, Cifar, Tried},
    cifar10::{counts, lists, score_model},
    numbers::average,
    scored::{One, Rule, Scored},
};
use crate::{Cell, Error, Experiment, Page, Run, Table, Verdict};

pub(super) const EXPERIMENT: Experiment = Experiment {
    choice: Choice {
        name: "harm",
        usage: "harm",
        about: "detection against accuracy lost over all shifted sets of CIFAR-10, by sample and by batch",
    },
    section: "ours",
    data: &cifar::DATA,
    models: &cifar::MODELS,
    run,
};

/// A set that costs at most this much accuracy does no harm.
const HARMLESS: f64 = 0.04;
/// One that costs more than this does.
const HARMFUL: f64 = 0.10;
const BATCH: usize = 50;
const ALPHA: f64 = 0.05;

fn methods(run: &Run<'_>) -> Result<Vec<Tried>, Error> {
    let score = score_model(run);
    let stein = [
        ("score-model", score.as_str()),
        ("target", "probs"),
        ("aggregate", "l2"),
        ("baseline", "none"),
    ];
    Ok(vec![
        cifar::method("taste, task", "taste:set=task", &[])?,
        cifar::method("taste, full", "taste:set=full", &[])?,
        cifar::method("MSP", "msp", &[])?,
        cifar::method("Energy", "energy", &[])?,
        cifar::method("Mahalanobis", "mahalanobis-odin", &[])?,
        cifar::method("kNN", "knn:k=1", &[])?,
        cifar::method("TASTE of the paper", "stein", &stein)?,
    ])
}

/// How a method does, by harm.
struct Harm<'a> {
    of: &'a Scored,
    awareness: f64,
    /// AUROC for mistakes: over corruptions and perturbations, and with attacks.
    failures: [f64; 2],
    /// Mean AUROC of harmful and of harmless sets.
    areas: [f64; 2],
    /// Images flagged one by one, likewise.
    flagged: [f64; 2],
    /// Batches that are called shifted, likewise, and clean ones.
    batches: [f64; 3],
}

fn run(run: &Run<'_>) -> Result<Page, Error> {
    let methods = methods(run)?;
    run.plan(1 + methods.len());
    let cifar = Cifar::open(run, counts(run), lists(run))?;
    let found = cifar.judge(run, &methods)?;
    let judged =
        found.iter().map(|scored| Harm::of(scored, run)).collect::<Result<Vec<_>, Error>>()?;
    let mut page = Page::new(run, "Detection against harm");
    page.lead(
        "The sets of [cifar10](cifar10.md) whose labels are known: attacks, corruptions, perturbations. What does a shift \
         cost the network in accuracy, and who notices? A task-aware method rises with the cost and stays quiet where there \
         is none.",
    );
    figure(&mut page, &found)?;
    table(&mut page, &judged);
    judge(&mut page, &judged);
    for (name, fact) in cifar.facts() {
        page.fact(name, fact);
    }
    page.fact(
        "harmless",
        format!("sets that cost at most {HARMLESS} of accuracy; harmful: more than {HARMFUL}"),
    );
    page.fact(
        "batches",
        format!("{BATCH} images, permutation test of the mean evidence at {ALPHA}"),
    );
    Ok(page)
}

impl<'a> Harm<'a> {
    fn of(of: &'a Scored, run: &Run<'_>) -> Result<Self, Error> {
        let clean = of.clean.accuracy().unwrap_or(f64::NAN);
        let known: Vec<(&One, f64)> =
            of.sets.iter().filter_map(|set| Some((set, clean - set.accuracy()?))).collect();
        let harmful: Vec<&One> = known.iter().filter(|k| k.1 > HARMFUL).map(|k| k.0).collect();
        let harmless: Vec<&One> = known.iter().filter(|k| k.1 <= HARMLESS).map(|k| k.0).collect();
        let mean = |sets: &[&One], f: &dyn Fn(&One) -> f64| {
            average(&sets.iter().map(|set| f(set)).collect::<Vec<_>>())
        };
        let shares = |sets: &[&One]| -> Result<f64, Error> {
            let found: Vec<f64> =
                sets.iter().map(|set| called(of, set, run)).collect::<Result<_, _>>()?;
            Ok(average(&found))
        };
        Ok(Self {
            awareness: of.awareness().unwrap_or(f64::NAN),
            failures: [&["C", "P"][..], &["A", "C", "P"]]
                .map(|marks| of.failures(marks).unwrap_or(f64::NAN)),
            areas: [&harmful, &harmless].map(|sets| mean(sets, &|set| of.auroc(set, Rule::Fixed))),
            flagged: [&harmful, &harmless].map(|sets| mean(sets, &|set| set.flagged)),
            batches: [shares(&harmful)?, shares(&harmless)?, shares(&[&of.clean])?],
            of,
        })
    }
}

/// The share of batches of a set that the test calls shifted.
fn called(of: &Scored, set: &One, run: &Run<'_>) -> Result<f64, Error> {
    let (rounds, permutations) = (run.pick(50, 20, 4), run.pick(199, 99, 19));
    let mut shifted = 0;
    for round in 0..rounds {
        let mut random = Random::stream(run.seed_value(), round);
        let mut places: Vec<usize> = (0..set.scores.len()).collect();
        let size = BATCH.min(places.len());
        random.shuffle_front(&mut places, size);
        let batch: Vec<f64> = places[..size].iter().map(|i| set.scores[*i]).collect();
        let test = Evidence::of(&of.calibration, &batch, 1e-4)?.test(permutations, round)?;
        shifted += usize::from(test.upper <= ALPHA);
    }
    Ok(shifted as f64 / rounds as f64)
}

fn figure(page: &mut Page, found: &[Scored]) -> Result<(), Error> {
    for scored in
        found.iter().filter(|s| ["taste, task", "taste, full", "MSP"].contains(&s.method.as_str()))
    {
        let mut lines = Lines::new(format!("AUROC against accuracy lost: {}", scored.method))
            .axes("accuracy lost", "AUROC against clean images")
            .level(0.5, "chance");
        let clean = scored.clean.accuracy().unwrap_or(f64::NAN);
        for (mark, name) in [("A", "attacks"), ("C", "corruptions"), ("P", "perturbations")] {
            let own = scored.in_group(Some(mark));
            let points: Vec<_> = own
                .filter_map(|set| Some((clean - set.accuracy()?, scored.auroc(set, Rule::Fixed))))
                .collect();
            lines = lines.series(Series::new(name, points).dots());
        }
        let name = scored.method.replace(", ", "-").to_lowercase();
        page.figure(name, &lines, "One dot a set. A task-aware method has dots from chance at the left to 1 at the right.")?;
    }
    Ok(())
}

fn table(page: &mut Page, judged: &[Harm<'_>]) {
    let head = [
        "method",
        "Spearman with accuracy lost",
        "failures, C + P",
        "failures, A + C + P",
        "AUROC, harmful sets",
        "AUROC, harmless sets",
        "flagged, harmful",
        "flagged, harmless",
        "batches called, harmful",
        "batches called, harmless",
        "batches called, clean",
        "ms a sample",
    ];
    let mut table = Table::new("methods", "By harm", head);
    for harm in judged {
        let numbers = [harm.awareness]
            .into_iter()
            .chain(harm.failures)
            .chain(harm.areas)
            .chain(harm.flagged)
            .chain(harm.batches)
            .chain([1000.0 * harm.of.seconds_per_sample]);
        let cells = numbers.map(|n| Cell::Number(n, 3));
        table.row(std::iter::once(harm.of.method.as_str().into()).chain(cells));
    }
    page.heading("By method");
    page.table(table);
}

fn judge(page: &mut Page, judged: &[Harm<'_>]) {
    let task = &judged[0];
    let best = judged.iter().max_by(|a, b| a.awareness.total_cmp(&b.awareness));
    page.claim(
        "taste with the set task follows harm best of all methods, with a Spearman of .90 or more",
        match (task.awareness >= 0.9, best.is_some_and(|b| b.of.method == task.of.method)) {
            (true, true) => Verdict::Holds,
            (false, false) => Verdict::Fails,
            _ => Verdict::Partly,
        },
        format!(
            "{:.3}; the highest is {:.3} ({})",
            task.awareness,
            best.map_or(f64::NAN, |b| b.awareness),
            best.map_or("none", |b| &b.of.method)
        ),
    );
    page.claim(
        "taste with the set task predicts failures with .84 or more over attacks, corruptions and perturbations",
        Verdict::of(task.failures[1] >= 0.84),
        format!("{:.3}; without attacks {:.3}", task.failures[1], task.failures[0]),
    );
    let quiet = judged.iter().map(|h| format!("{} {:.3}", h.of.method, h.areas[1]));
    page.claim(
        "Harmless shifts stay near chance for the task-aware method",
        Verdict::of((task.areas[1] - 0.5).abs() < 0.1),
        format!("mean AUROC of harmless sets: {}", quiet.collect::<Vec<_>>().join(", ")),
    );
}
