//! Parts of the paper's residual, one by one.

use taste_choice::Choice;
use taste_report::Bars;

use super::{
    cifar::{self, Cifar, Tried},
    cifar10::{counts, lists, score_model},
    scored::{GROUPS, Rule, Scored},
};
use crate::{Cell, Error, Experiment, Page, Run, Table, Verdict};

pub(super) const EXPERIMENT: Experiment = Experiment {
    choice: Choice {
        name: "ablation",
        usage: "ablation",
        about: "the paper's residual without its Laplacian, without the model, with other operators, aggregates, targets, layers",
    },
    section: "appendix on ablations, table 6",
    data: &cifar::DATA,
    models: &cifar::MODELS,
    run,
};

const FULL: &str = "full operator, L2";
const NO_LAPLACIAN: &str = "no Laplacian";
const SCORE_ONLY: &str = "score only";

/// What is tried: a name, and options of the method `stein`.
const VARIANTS: [(&str, &[(&str, &str)]); 12] = [
    (FULL, &[("target", "probs"), ("aggregate", "l2")]),
    (NO_LAPLACIAN, &[("target", "probs"), ("aggregate", "l2"), ("operator", "no-laplacian")]),
    (SCORE_ONLY, &[("operator", "score-only")]),
    ("first order, v = 1", &[("target", "prob"), ("operator", "first-order:ones")]),
    ("first order, squared length", &[("target", "prob"), ("operator", "first-order-norm")]),
    ("aggregate: largest", &[("target", "probs"), ("aggregate", "max")]),
    ("aggregate: predicted class", &[("target", "probs"), ("aggregate", "predicted")]),
    ("aggregate: profile", &[("target", "probs"), ("aggregate", "profile")]),
    ("target: energy", &[("target", "energy")]),
    ("target: logit", &[("target", "logit")]),
    ("target: entropy", &[("target", "entropy")]),
    ("layer: features", &[("target", "probs"), ("aggregate", "l2"), ("at", "features")]),
];

/// Table 6 of the paper: AUROC and FPR95 by group and overall.
const PAPER: [(&str, [f64; 10]); 3] = [
    (FULL, [0.6144, 0.865, 0.6193, 0.8691, 0.5954, 0.8611, 0.7647, 0.5677, 0.6285, 0.8263]),
    (
        NO_LAPLACIAN,
        [0.6264, 0.8711, 0.6098, 0.8708, 0.5902, 0.8657, 0.7597, 0.5751, 0.6253, 0.8367],
    ),
    (SCORE_ONLY, [0.5337, 0.9437, 0.6364, 0.787, 0.5789, 0.8756, 0.4452, 0.8623, 0.5783, 0.8518]),
];

fn methods(run: &Run<'_>) -> Result<Vec<Tried>, Error> {
    let score = score_model(run);
    let tried = |(name, options): &(&str, &[(&str, &str)])| {
        // Features are no pictures.
        let score = if name.starts_with("layer") { "gaussian" } else { score.as_str() };
        let mut all = vec![("score-model", score), ("baseline", "none")];
        all.extend(options.iter().copied());
        cifar::method(name, "stein", &all)
    };
    let count = run.pick(VARIANTS.len(), VARIANTS.len(), 4);
    VARIANTS[..count].iter().map(tried).collect()
}

fn run(run: &Run<'_>) -> Result<Page, Error> {
    let methods = methods(run)?;
    run.plan(1 + methods.len());
    let cifar = Cifar::open(run, counts(run), lists(run))?;
    let found = cifar.judge(run, &methods)?;
    let mut page = Page::new(run, "The paper's residual, part by part");
    page.lead(
        "The sets of [cifar10](cifar10.md), and the method `stein` with parts left out or exchanged. One tail for all sets; \
         beside it the paper's own rule, two tails on attacks.",
    );
    let bars = Bars::new(
        "Mean AUROC over all sets, by variant",
        found.iter().map(|s| (s.method.clone(), s.mean_auroc(None, Rule::Fixed))),
    )
    .level(0.5, "chance");
    page.figure("variants", &bars, "Fixed rule.")?;
    table(&mut page, &found);
    judge(&mut page, &found);
    beside(&mut page, run, &cifar, &found);
    for (name, fact) in cifar.facts() {
        page.fact(name, fact);
    }
    let score = score_model(run);
    page.fact(
        "score model",
        if score.starts_with("ddpm") { "the diffusion model, t = 50".to_owned() } else { score },
    );
    Ok(page)
}

fn marks() -> impl Iterator<Item = (Option<&'static str>, &'static str)> {
    GROUPS.into_iter().map(|(mark, name)| (Some(mark), name)).chain([(None, "all")])
}

fn table(page: &mut Page, found: &[Scored]) {
    let head = std::iter::once("variant".to_owned())
        .chain(marks().map(|(_, name)| name.to_owned()))
        .chain([
            "all, FPR95 (clean positive)".to_owned(),
            "all, the paper's rule (tail by set)".to_owned(),
        ]);
    let mut table = Table::new("variants", "AUROC by group", head);
    for scored in found {
        let areas = marks().map(|(mark, _)| scored.mean_auroc(mark, Rule::Fixed));
        let more = [
            scored.mean(None, |set| scored.fpr95(set, Rule::Fixed)[0]),
            scored.mean_auroc(None, Rule::Paper),
        ];
        let cells = areas.chain(more).map(|n| Cell::Number(n, 3));
        table.row(std::iter::once(scored.method.as_str().into()).chain(cells));
    }
    page.table(table);
}

fn judge(page: &mut Page, found: &[Scored]) {
    let of = |name: &str, rule: Rule| {
        let scored = found.iter().find(|s| s.method == name);
        scored.map_or(f64::NAN, |s| s.mean_auroc(None, rule))
    };
    let [full, no, only] = [FULL, NO_LAPLACIAN, SCORE_ONLY].map(|name| of(name, Rule::Fixed));
    page.claim(
        "The full operator and the one without Laplacian do nearly the same",
        Verdict::of((full - no).abs() < 0.02),
        format!(
            "mean AUROC {full:.3} and {no:.3}; with the paper's rule {:.3} and {:.3}",
            of(FULL, Rule::Paper),
            of(NO_LAPLACIAN, Rule::Paper)
        ),
    );
    page.claim(
        "The score alone does substantially worse",
        Verdict::of(only < full - 0.02),
        format!("mean AUROC {only:.3} against {full:.3} of the full operator"),
    );
}

fn beside(page: &mut Page, run: &Run<'_>, cifar: &Cifar, found: &[Scored]) {
    let why = format!("{}, sets made here; the paper's rule for the tail", cifar.differences(run));
    for (name, paper) in PAPER {
        let Some(scored) = found.iter().find(|s| s.method == name) else { continue };
        for (k, (mark, words)) in marks().enumerate() {
            let here = scored.mean_auroc(mark, Rule::Paper);
            page.beside(format!("AUROC, {name}, {words}"), paper[2 * k], here, &why);
        }
    }
}
