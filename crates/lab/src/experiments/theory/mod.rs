//! The propositions of the paper, each with error bars.

mod density;
mod measure;
mod smooth;

use taste_choice::Choice;
use taste_report::{Lines, Series};

use super::numbers::largest;
use crate::{Cell, Error, Experiment, Page, Run, Table, Verdict};
use density::Mixture;
use measure::{Bounded, Compared, Identity, Mean, Theory, Tilted, measure};

pub(super) const EXPERIMENT: Experiment = Experiment {
    choice: Choice {
        name: "theory",
        usage: "theory",
        about: "the paper's six propositions, and the identity coordinate by coordinate, as figures with error bars",
    },
    section: "section 4, appendix A",
    data: &[],
    models: &[],
    run,
};

fn run(run: &Run<'_>) -> Result<Page, Error> {
    run.plan(2);
    let p = Mixture::p();
    let model = smooth::trained(run, &p)?;
    let count = run.pick(400_000, 100_000, 4000);
    let found: Theory = run.step("propositions", &count, || measure(run, &model, &p, count))?;
    let mut page = Page::new(run, "The propositions, measured");
    page.lead(
        "p is a mixture of two Gaussians of the plane, whose score is known; f is a network with two layers of 32 tanh \
         units that was trained here; its second derivatives come from the engine. Every mean has its standard error. \
         What the propositions say is exact, so that what is seen has to lie within the errors.",
    );
    identity(&mut page, &found.identity)?;
    projection(&mut page, &found.projection)?;
    tilt(&mut page, &found.tilt)?;
    decomposition(&mut page, &found.decomposition)?;
    bound(&mut page, &found.bound)?;
    page.fact("draws", format!("{count} of each distribution"));
    page.fact("f", "2-32-32-1, tanh, trained on sin(1.5 x₁) + x₁x₂/2".to_owned());
    Ok(page)
}

/// Whether most distances are what errors allow, and in words.
fn within(distances: &[f64]) -> (bool, String) {
    let sizes: Vec<f64> = distances.iter().map(|d| d.abs()).collect();
    let close = sizes.iter().filter(|d| **d <= 2.0).count();
    let most = largest(&sizes);
    let fine = most < 4.0 && close as f64 >= 0.8 * sizes.len() as f64;
    (
        fine,
        format!("{close} of {} within two standard errors, the largest at {most:.1}", sizes.len()),
    )
}

fn identity(page: &mut Page, found: &[Identity]) -> Result<(), Error> {
    page.heading("1. The Stein identity, and that of each coordinate");
    let series = |name: &str, of: fn(&Identity) -> Mean| {
        let points = found.iter().map(move |i| ((i.count as f64).log10(), of(i).mean));
        let band = found.iter().map(move |i| of(i).reach());
        Series::new(name, points).markers().band(band)
    };
    let lines = Lines::new("Means of residuals under p")
        .axes("draws, as a power of ten", "mean ± 2 standard errors")
        .series(series("Δf + s·∇f", |i| i.whole))
        .series(series("coordinate 1", |i| i.entries[0]))
        .series(series("coordinate 2", |i| i.entries[1]))
        .level(0.0, "");
    page.figure(
        "identity",
        &lines,
        "E_p[Δf + s·∇f] = 0, and so has every coordinate: the means close in on zero.",
    )?;
    let Some(last) = found.last() else { return Ok(()) };
    let all = [last.whole, last.entries[0], last.entries[1]];
    let (fine, words) = within(&all.map(|mean| mean.mean / mean.error));
    let seen = format!(
        "mean {:+.5} ± {:.5} over {} draws; with both coordinates {words}",
        last.whole.mean, last.whole.error, last.count
    );
    page.claim(
        "E_p[L_p f] = 0 (Stein identity), coordinate by coordinate too",
        Verdict::of(fine),
        seen,
    );
    Ok(())
}

fn projection(page: &mut Page, found: &[Compared]) -> Result<(), Error> {
    page.heading("2. The projection identity");
    let lines = Lines::new("S_f and its projection, for shifts and stretches of p")
        .axes("−E_q[∇f · ∇log(q/p)]", "E_q[L_p f]")
        .series(Series::new("equal", ends(found).map(|v| (v, v))).dashed())
        .series(pairs("one q", found));
    page.figure(
        "projection",
        &lines,
        "Every point is a q. Both sides were estimated on the same draws of q.",
    )?;
    let distances: Vec<f64> = found.iter().flat_map(|c| c.distances.clone()).collect();
    let (fine, words) = within(&distances);
    page.claim(
        "S_f(p, q) = −E_q[∇f · ∇log(q/p)] (projection identity), coordinate by coordinate too",
        Verdict::of(fine),
        format!("{words}; {} q, the whole and both coordinates", found.len()),
    );
    page.table(compared("projection", "Both sides, by q", found));
    Ok(())
}

/// The smallest and the largest value of either side.
fn ends(found: &[Compared]) -> impl Iterator<Item = f64> {
    let values: Vec<f64> = found.iter().flat_map(|c| [c.left.mean, c.right.mean]).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    [low, largest(&values)].into_iter()
}

fn pairs(name: &str, found: &[Compared]) -> Series {
    Series::new(name, found.iter().map(|c| (c.right.mean, c.left.mean))).dots()
}

fn compared(name: &str, caption: &str, found: &[Compared]) -> Table {
    let head = ["q", "left", "its error", "right", "its error", "difference in errors"];
    let mut table = Table::new(name, caption, head);
    for c in found {
        let numbers = [c.left.mean, c.left.error, c.right.mean, c.right.error];
        let cells = numbers.map(|n| Cell::from((n, 4)));
        let difference = (c.distances[0], 2).into();
        table.row(std::iter::once(c.name.as_str().into()).chain(cells).chain([difference]));
    }
    table
}

fn tilt(page: &mut Page, found: &[Tilted]) -> Result<(), Error> {
    page.heading("3 and 4. Small changes: tilts of p");
    let lines = Lines::new("Mean and variance of the residual under a tilt, by ε")
        .axes("ε", "change from ε = 0")
        .series(Series::new("mean", found.iter().map(|t| (t.size, t.mean.0))).markers())
        .series(Series::new("mean, first order", found.iter().map(|t| (t.size, t.mean.1))).dashed())
        .series(Series::new("variance", found.iter().map(|t| (t.size, t.variance.0))).markers())
        .series(
            Series::new("variance, first order", found.iter().map(|t| (t.size, t.variance.1)))
                .dashed(),
        );
    page.figure(
        "tilt",
        &lines,
        "q ∝ p exp(ε h) with h = sin x₁ + ½ tanh x₂, by weights on the draws of p. First order: ε Cov_p(L_p f, h) and \
         ε Cov_p((L_p f)², h).",
    )?;
    let lines = Lines::new("What the first order leaves, against ε")
        .axes("log₁₀ ε", "log₁₀ of the remainder")
        .series(remainders("mean", found, |t| t.mean))
        .series(remainders("variance", found, |t| t.variance))
        .series(Series::new("slope 2", slope(found)).dashed());
    page.figure("remainder", &lines, "A remainder of second order falls with slope 2.")?;
    for (what, of) in [
        (
            "S_f(p, q_ε) = ε Cov_p(L_p f, h) + O(ε²)",
            (|t: &Tilted| t.mean) as fn(&Tilted) -> (f64, f64),
        ),
        ("Var_qε[L_p f] = Var_p[L_p f] + ε Cov_p((L_p f)², h) + O(ε²)", |t: &Tilted| {
            t.variance
        }),
    ] {
        let slope = measured_slope(found, of);
        page.claim(
            what,
            Verdict::of((1.7..2.6).contains(&slope)),
            format!(
                "the remainder falls with slope {slope:.2} between the two smallest ε (2 expected)"
            ),
        );
    }
    let head = ["ε", "mean", "first order", "variance, change", "first order "];
    let mut table = Table::new("tilt", "Tilts", head);
    for t in found {
        let numbers = [t.mean.0, t.mean.1, t.variance.0, t.variance.1];
        table.row(std::iter::once((t.size, 3).into()).chain(numbers.map(|n| (n, 5).into())));
    }
    page.table(table);
    Ok(())
}

fn remainder(t: &Tilted, of: fn(&Tilted) -> (f64, f64)) -> f64 {
    let (exact, first) = of(t);
    (exact - first).abs().log10()
}

fn remainders(name: &str, found: &[Tilted], of: fn(&Tilted) -> (f64, f64)) -> Series {
    Series::new(name, found.iter().map(move |t| (t.size.log10(), remainder(t, of)))).markers()
}

fn slope(found: &[Tilted]) -> Vec<(f64, f64)> {
    let Some(first) = found.first() else { return Vec::new() };
    let start = remainder(first, |t| t.mean) + 0.3;
    let at = |t: &Tilted| (t.size.log10(), start + 2.0 * (t.size / first.size).log10());
    found.iter().map(at).collect()
}

fn measured_slope(found: &[Tilted], of: fn(&Tilted) -> (f64, f64)) -> f64 {
    match found {
        [a, b, ..] => (remainder(b, of) - remainder(a, of)) / (b.size / a.size).log10(),
        _ => f64::NAN,
    }
}

fn decomposition(page: &mut Page, found: &[Compared]) -> Result<(), Error> {
    page.heading("5. A score model that is wrong");
    let lines = Lines::new("Both sides of the decomposition")
        .axes("E_p[L_p̃ f] + S_f + ⟨g, l − 1⟩", "E_q[L_p̃ f]")
        .series(Series::new("equal", ends(found).map(|v| (v, v))).dashed())
        .series(pairs("one q", found));
    page.figure(
        "decomposition",
        &lines,
        "p̃ is one Gaussian with the moments of p. g = (s̃ − s)·∇f, l = q/p; the two sides come from different draws.",
    )?;
    let (fine, words) = within(&found.iter().map(|c| c.distances[0]).collect::<Vec<_>>());
    page.claim(
        "E_q[L_p̃ f] = E_p[L_p̃ f] + S_f(p, q) + ⟨g, l − 1⟩ (directional decomposition)",
        Verdict::of(fine),
        words,
    );
    page.table(compared("decomposition", "Both sides, by q", found));
    Ok(())
}

fn bound(page: &mut Page, found: &[Bounded]) -> Result<(), Error> {
    page.heading("6. How much a wrong score model can do");
    let line = |name: &str, of: fn(&Bounded) -> f64| {
        Series::new(name, found.iter().map(move |b| (b.share, of(b)))).markers()
    };
    let lines = Lines::new("The error of the functional, and its bound")
        .axes("share of the wrong score in s̃", "")
        .series(line("|⟨g, l − 1⟩|", |b| b.value.abs()))
        .series(line("√J ‖∇f‖₄ ‖l − 1‖₄", |b| b.bound));
    page.figure(
        "bound",
        &lines,
        "s̃ goes from the score of p to that of one Gaussian with its moments; q is p moved by 0.5.",
    )?;
    let ratio = largest(&found.iter().map(|b| b.value.abs() / b.bound).collect::<Vec<_>>());
    page.claim(
        "|⟨g, l − 1⟩| ≤ √J(p‖p̃) ‖∇f‖₄ ‖l − 1‖₄ (Fisher-controlled stability)",
        Verdict::of(ratio <= 1.0),
        format!("at most {ratio:.3} of the bound, which is far from tight here"),
    );
    Ok(())
}
