//! `taste fit`: what the detector is and how far it can be trusted.

use std::path::Path;

use taste_detector::{Detector, Level, Manifest, Role};
use taste_report::{Page, Section, Table, Tone};

use super::{commands, decision_in_words, facts, file_name, histogram, larger_means, meanings};
use crate::{
    sheet,
    table::{count, grouped},
};

/// The page of a fit; `steps` are commands to go on with and what they are for.
pub(crate) fn fit(detector: &Detector, out: &Path, steps: &[(String, String)]) -> Page {
    let manifest = detector.manifest();
    let warnings = manifest.findings.iter().filter(|f| f.level == Level::Warning).count();
    let (tone, headline) = match warnings {
        0 => (Tone::Ok, "The detector is ready".to_owned()),
        n => (Tone::Warning, format!("The detector works, with {}", count(n, "warning"))),
    };
    let words = decision_in_words(detector);
    Page::new(format!("Detector {}", file_name(out)))
        .lead(lead(manifest))
        .verdict(tone, headline, words[..2].join(" "))
        .section(health(manifest))
        .section(what(manifest))
        .section(division(manifest))
        .section(decision(detector, &words))
        .section(commands("What to do next", steps))
}

/// The model, what it was taken for, and the method.
fn lead(manifest: &Manifest) -> String {
    let taken = match manifest.model.taken_for.as_str() {
        "" => String::new(),
        taken => format!(", which was taken for {taken}"),
    };
    format!("Made of {}{taken}. The method: {}.", manifest.model.file, manifest.method.written)
}

fn health(manifest: &Manifest) -> Section {
    let section = Section::new("Health");
    if manifest.findings.is_empty() {
        return section.paragraph("Nothing was found that needs attention.");
    }
    let mut table = Table::new(["", "what was found"]);
    let mut findings: Vec<_> = manifest.findings.iter().collect();
    findings.sort_by_key(|f| match f.level {
        Level::Warning => 0,
        Level::Note => 1,
        Level::Good => 2,
    });
    for finding in findings {
        let level = match finding.level {
            Level::Good => "✓ fine",
            Level::Note => "note",
            Level::Warning => "! warning",
        };
        let advice = sheet::advice(finding);
        table.row([level.to_owned(), format!("{}{advice}", finding.message)]);
    }
    section.table(&table)
}

fn what(manifest: &Manifest) -> Section {
    let rows = sheet::facts(manifest);
    let own = rows.rows().iter().filter(|r| !["data", "decision", "kept rows"].contains(&&*r[0]));
    let mut section = Section::new("What it computes")
        .table(&facts(own.map(|r| (r[0].clone(), r[1..].join(" ")))));
    for (role, what) in [
        (
            Role::Evidence,
            "The score is a sum of terms. Each is evidence: minus the logarithm of the share of held-out samples that reach its value. 3 is one in twenty, 7 one in \
             a thousand.",
        ),
        (
            Role::Novelty,
            "Novelty is a sum of other terms: how unlike the training data a sample is, whether that matters to the model \
             or not.",
        ),
    ] {
        if let Some(part) = manifest.parts.iter().find(|p| p.role == role) {
            section = section.paragraph(what).table(&meanings(manifest, &part.columns));
        }
    }
    section
}

fn division(manifest: &Manifest) -> Section {
    let data = &manifest.data;
    let number = |n: usize| grouped(n as u64);
    let held_out = data.calibration.as_deref().unwrap_or("held out from the training data");
    let mut table = Table::new(["samples", "from", "what for"]).right(&[0]);
    table.row([number(data.fitted), data.train.clone(), "to learn from".to_owned()]);
    if data.tails > 0 {
        let what = "the spread of every value: how rare is what".to_owned();
        table.row([number(data.tails), held_out.to_owned(), what]);
    }
    let what = "the calibration: thresholds and p-values".to_owned();
    table.row([number(data.calibrated), held_out.to_owned(), what]);
    let mut section = Section::new("Data").table(&table);
    for rows in &manifest.rows {
        section = section.paragraph(format!(
            "The file keeps {} × {} {} of the training data: whoever has the file has them.",
            number(rows.count),
            rows.width,
            rows.what
        ));
    }
    section
}

fn decision(detector: &Detector, words: &[String]) -> Section {
    let decision = &detector.manifest().decision;
    let section = Section::new("The decision").paragraph(words.join(" ")).figure(
        &histogram(
            "Scores of calibration samples",
            "score",
            detector.calibration(),
            decision.threshold,
            &[],
        ),
        format!("The further to the right, {}.", larger_means(detector.manifest())),
    );
    match detector.novelty_calibration() {
        Some(novelty) => section.figure(
            &histogram(
                "Novelty of calibration samples",
                "novelty",
                novelty,
                decision.novelty_threshold,
                &[],
            ),
            "How unlike the training data a sample is. What samples are flagged for is a choice: taste edit --goal harm, \
             novelty or both.",
        ),
        None => section,
    }
}
