//! Pages for people: what a run found, as one self-contained HTML file.

mod bench;
mod evaluate;
mod fit;
mod monitor;
mod score;
mod test;

pub(crate) use bench::bench;
pub(crate) use evaluate::evaluate;
pub(crate) use fit::fit;
pub(crate) use monitor::monitor;
pub(crate) use score::Scored;
pub(crate) use test::test;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use taste_detector::{Decision, Detector, Manifest, Remark, Role};
use taste_report::{Histogram, Page, Section, Table};
use taste_stats::beta_binomial;

use crate::{files, look, sheet, tell};

/// The flag that asks for a page.
#[derive(Args)]
pub(crate) struct PageArgs {
    /// Also write what was found as a page for a browser
    #[arg(long, value_name = "PAGE.html")]
    pub(crate) report: Option<PathBuf>,
}

impl PageArgs {
    /// The page among the files of a run.
    pub(crate) fn target(&self) -> Option<(&'static str, &Path)> {
        self.report.as_deref().map(|path| ("--report", path))
    }

    /// Writes the page, if one was asked for.
    pub(crate) fn write(&self, quiet: bool, page: impl FnOnce() -> Page) -> Result<()> {
        let Some(path) = &self.report else { return Ok(()) };
        put(path, page())?;
        if !quiet {
            tell(&format!("wrote {}", path.display()));
        }
        Ok(())
    }
}

/// Writes a page.
pub(crate) fn put(path: &Path, page: Page) -> Result<()> {
    let footer = format!("taste {}", env!("CARGO_PKG_VERSION"));
    files::write(path, page.footer(footer).to_html().as_bytes())
}

/// A share in percent.
fn percent(share: f64) -> String {
    let digits = if share < 0.001 { 3 } else { 1 };
    let text = format!("{:.digits$}", 100.0 * share);
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

fn p_value(p: f64) -> String {
    match p {
        p if p.is_nan() => "–".to_owned(),
        p if p < 0.0001 => "< 0.0001".to_owned(),
        p if p < 0.001 => format!("{p:.4}"),
        p => format!("{p:.3}"),
    }
}

/// With a sign, and a real minus.
fn signed(value: f64) -> String {
    let text = if value.abs() < 1000.0 { format!("{value:+.2}") } else { format!("{value:+.1e}") };
    text.replace('-', "−")
}

/// The last part of a path.
fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Rows of names and values.
fn facts(rows: impl IntoIterator<Item = (String, String)>) -> Table {
    let mut table = Table::new(Vec::<String>::new());
    for (name, value) in rows {
        table.row([name, value]);
    }
    table
}

/// Whether the score asks what matters to the model, and not only how far out a sample is.
fn is_task_aware(manifest: &Manifest) -> bool {
    manifest.parts.iter().any(|p| matches!(p.role, Role::Evidence | Role::Residual))
}

/// What a larger score means.
fn larger_means(manifest: &Manifest) -> &'static str {
    if is_task_aware(manifest) {
        "the more a sample matters to the model"
    } else {
        "the further out a sample is"
    }
}

/// What the terms of the score say, where it has terms.
fn meanings(manifest: &Manifest, terms: &[String]) -> Table {
    let mut table = Table::new(["term", "what it says"]);
    for term in terms {
        table.row([term.clone(), sheet::meaning(manifest, term).unwrap_or_default()]);
    }
    table
}

/// When samples are flagged and what alpha promises, in sentences.
fn decision_in_words(detector: &Detector) -> Vec<String> {
    let decision = &detector.manifest().decision;
    let beyond = crate::edit::beyond(decision);
    let mut words = vec![if beyond == "nothing" {
        "No sample is flagged.".to_owned()
    } else {
        format!("A sample is flagged for {beyond}, and if it has no finite score.")
    }];
    let Some(alpha) = decision.alpha else {
        words.push(
            "The threshold was set by hand: no share of false alarms is promised.".to_owned(),
        );
        return words;
    };
    let promise = if decision.rule == "conformal" {
        format!(
            "Of new samples like the calibration samples, at most {} are flagged on average (alpha).",
            percent(alpha)
        )
    } else {
        format!(
            "Of new samples like the calibration samples, about {} are flagged (alpha), commonly a little more.",
            percent(alpha)
        )
    };
    words.push(promise);
    if let Some((low, high)) = usual_count(decision, detector.calibration().len(), 1000) {
        words.push(format!(
            "Of 1000 such samples it is {low} to {high}, with a chance of 95 %. The promise holds whatever the model and \
             the data are, as long as new samples and calibration samples come from the same source."
        ));
    }
    words
}

/// How many of some samples are flagged without a shift, in 95 % of cases.
fn usual_count(decision: &Decision, calibration: usize, samples: usize) -> Option<(usize, usize)> {
    const EXACT: usize = 20_000;
    let alpha = decision.alpha?;
    let (n, m) = (calibration as f64, samples as f64);
    let rank = (alpha * (n + 1.0)).floor();
    if rank < 1.0 || samples == 0 {
        return None;
    }
    if samples <= EXACT {
        return Some(beta_binomial::band(samples, rank, n + 1.0 - rank, 0.05));
    }
    let share = rank / (n + 1.0);
    let reach = 1.96 * (share * (1.0 - share) * (1.0 / n + 1.0 / m)).sqrt();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0..=m")]
    let counted = |share: f64| (share.clamp(0.0, 1.0) * m).round() as usize;
    Some((counted(share - reach), counted(share + reach)))
}

/// Scores over those of calibration samples, with the threshold. Where some are far out, their logarithm is shown.
pub(crate) fn histogram(
    title: &str,
    what: &str,
    calibration: &[f32],
    threshold: Option<f64>,
    groups: &[(&str, Vec<f64>)],
) -> Histogram {
    /// So many times further out than calibration scores, values would hide them.
    const FAR: f64 = 10.0;
    let reference: Vec<f64> = calibration.iter().map(|&s| f64::from(s)).collect();
    let at = |values: &[f64], share: f64| {
        let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        taste_stats::quantile::Quantile::Linear.of(&finite, share).unwrap_or(0.0)
    };
    let usual = at(&reference, 0.95);
    let is_far = groups.iter().any(|g| at(&g.1, 0.9) > FAR * usual);
    let all = || reference.iter().chain(groups.iter().flat_map(|g| &g.1));
    let logarithmic = is_far && usual > 0.0 && all().all(|v| *v > 0.0 || v.is_nan());
    let shown = |v: f64| if logarithmic { v.log10() } else { v };
    let label = if logarithmic { format!("{what}, logarithm (base 10)") } else { what.to_owned() };
    let mut figure = Histogram::new(title)
        .axis(label)
        .group("calibration samples", reference.iter().map(|&v| shown(v)));
    for (name, values) in groups {
        figure = figure.group(*name, values.iter().map(|&v| shown(v)));
    }
    match threshold {
        Some(threshold) => figure.threshold(shown(threshold), "flagged from here on"),
        None => figure,
    }
}

/// What a look at each column or channel beside the training data tells, if that is anything.
fn beside_training(remarks: &[Remark]) -> Option<Section> {
    if remarks.is_empty() {
        return None;
    }
    let lines = look::lines(remarks).into_iter().map(|line| (String::new(), line));
    Some(Section::new("The data beside the training data").table(&facts(lines)))
}

/// Commands, each with what it is for.
fn commands(heading: &str, steps: &[(String, String)]) -> Section {
    let lines: Vec<String> =
        steps.iter().map(|(command, purpose)| format!("# {purpose}\n{command}")).collect();
    Section::new(heading).code(lines.join("\n\n"))
}
