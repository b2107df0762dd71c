//! `taste score`: how many samples are flagged, why, and which.

mod gather;
mod worst;

pub(crate) use gather::Scored;

use std::path::Path;

use taste_detector::Remark;
use taste_report::{Bars, Histogram, Page, Scatter, Section, Table, Tone};
use taste_stats::conformal::{Calibration, Rule};

use super::{
    beside_training, file_name, histogram, is_task_aware, larger_means, meanings, percent,
    usual_count,
};
use crate::table::{count, grouped};
use gather::{Quarter, Seen};

/// The furthest that points are drawn, in thresholds.
const FURTHEST: f64 = 5.0;

impl Scored<'_> {
    /// The page.
    pub(crate) fn page(mut self, path: &Path, data: &Path, remarks: &[Remark]) -> Page {
        let worst = self.take_worst();
        let (tone, headline, detail) = self.verdict();
        let mut page = Page::new(format!("Scores of {}", file_name(data)))
            .lead(format!("By the detector {}.", path.display()))
            .verdict(tone, headline, detail)
            .section(self.scores(data));
        if let Some(section) = beside_training(remarks) {
            page = page.section(section);
        }
        if self.detector.manifest().has_novelty {
            page = page.section(self.quarters());
        }
        if self.evidence.is_some() {
            page = page.section(self.reasons());
        }
        page.section(worst::section(&self, &worst))
    }

    fn verdict(&self) -> (Tone, String, String) {
        let share = self.flagged as f64 / self.samples.max(1) as f64;
        let headline = format!(
            "{} of {} are flagged ({})",
            grouped(self.flagged as u64),
            count(self.samples, "sample"),
            percent(share)
        );
        let decision = &self.detector.manifest().decision;
        let usual = usual_count(decision, self.detector.calibration().len(), self.samples);
        let (Some((low, high)), Some(alpha)) = (usual, decision.alpha) else {
            let words = "The threshold was set by hand, so no share is to be expected.";
            return (Tone::Ok, headline, self.with_bad(words));
        };
        let expected = format!(
            "Without a shift it would be {low} to {high} (alpha {}, with a chance of 95 %).",
            percent(alpha)
        );
        let (tone, comment) = if self.flagged > high {
            let tone = if share > 2.0 * alpha { Tone::Alarm } else { Tone::Warning };
            let aware = is_task_aware(self.detector.manifest());
            let way = if aware { " in a way that matters to the model" } else { "" };
            let comment = format!(
                "That is more than chance explains: these data differ from the calibration data{way}, or the model knows \
                 the calibration data better than new data."
            );
            (tone, comment)
        } else if self.detector.flags_too_few(self.flagged, self.samples) {
            (
                Tone::Warning,
                "That is far fewer than chance explains: samples look more ordinary than calibration samples, as training \
                 data, copies, stuck sensors and saturated outputs do."
                    .to_owned(),
            )
        } else {
            (Tone::Ok, "That is as usual.".to_owned())
        };
        (tone, headline, self.with_bad(&format!("{expected} {comment}")))
    }

    /// Words, and how many samples have no score.
    fn with_bad(&self, words: &str) -> String {
        match self.not_finite {
            0 => words.to_owned(),
            n => format!(
                "{words} {} no finite score (NaN or infinite entries, ids that the model does not know, or a model that overflows) and count as flagged.",
                if n == 1 { "1 sample has".to_owned() } else { format!("{n} samples have") }
            ),
        }
    }

    fn scores(&self, data: &Path) -> Section {
        let manifest = self.detector.manifest();
        let (name, decision) = (file_name(data), &manifest.decision);
        let values = |of: &dyn Fn(&Seen) -> f64| self.drawn().map(of).collect::<Vec<f64>>();
        let mut section = Section::new("Scores").figure(
            &histogram(
                "Scores over those of calibration samples",
                "score",
                self.detector.calibration(),
                decision.threshold,
                &[(&name, values(&|s| s.score))],
            ),
            self.caption(&format!("The further to the right, {}.", larger_means(manifest))),
        );
        if let (Some(calibration), Some(_)) =
            (self.detector.novelty_calibration(), decision.novelty_threshold)
        {
            section = section.figure(
                &histogram(
                    "Novelty over that of calibration samples",
                    "novelty",
                    calibration,
                    decision.novelty_threshold,
                    &[(&name, values(&|s| s.novelty.map_or(f64::NAN, |n| n.0)))],
                ),
                self.caption(
                    "The further to the right, the less a sample is like the training data.",
                ),
            );
        }
        let p_values = Histogram::new("p-values")
            .axis("p-value of the score")
            .bins(20)
            .ends(0.0, 1.0)
            .group(name, values(&|s| s.p_value))
            .threshold(self.alpha, format!("alpha {}", percent(self.alpha)));
        section.figure(
            &p_values,
            "Without a shift all bars are about equally tall. A tall bar at the left: many samples further out than \
             calibration samples; one at the right: many more ordinary ones.",
        )
    }

    /// With a word where not all samples are drawn.
    fn caption(&self, words: &str) -> String {
        let drawn = self.drawn().count();
        if drawn == self.samples {
            return words.to_owned();
        }
        format!(
            "{words} Drawn from {} of {}.",
            grouped(drawn as u64),
            count(self.samples, "sample")
        )
    }

    fn quarters(&self) -> Section {
        let mut table = Table::new(["", "samples", "share", "what it means"]).right(&[1, 2]);
        for quarter in [Quarter::Both, Quarter::Harmful, Quarter::New, Quarter::Neither] {
            let found = self.quarters[quarter as usize];
            table.row([
                quarter.words().to_owned(),
                grouped(found as u64),
                percent(found as f64 / self.samples.max(1) as f64),
                meaning(quarter).to_owned(),
            ]);
        }
        let detector = self.detector;
        let scores = Scale::of(detector.calibration(), self.alpha);
        let novelty = Scale::of(detector.novelty_calibration().unwrap_or_default(), self.alpha);
        let mut figure = Scatter::new("Harm against novelty")
            .axes("novelty, in thresholds", "score, in thresholds")
            .limits((1.0, "new"), (1.0, "harmful"));
        for quarter in Quarter::ALL {
            let own = self.drawn().filter(|s| self.quarter(s) == quarter);
            let points: Vec<(f64, f64)> = own
                .filter_map(|s| Some((novelty.place(s.novelty?.0), scores.place(s.score))))
                .collect();
            if !points.is_empty() {
                let found = self.quarters[quarter as usize];
                figure = figure.class(format!("{} ({found})", quarter.words()), points);
            }
        }
        Section::new("Harmful or merely new")
            .paragraph(format!(
                "Harmful: the p-value of the score is at most {}; new: that of the novelty is.",
                percent(self.alpha)
            ))
            .table(&table)
            .figure(
                &figure,
                self.caption(&format!(
                    "A dot is a sample. At 1 its p-value is alpha; beyond {FURTHEST} it is drawn at {FURTHEST}."
                )),
            )
    }

    fn reasons(&self) -> Section {
        let names = self.evidence.map_or(&[][..], |part| &part.columns);
        let bars = names.iter().cloned().zip(self.means());
        let figure = Bars::new("Mean evidence by term", bars)
            .label("mean evidence")
            .marks("mean of calibration samples", self.calibration_means());
        Section::new("Reasons")
            .paragraph(
                "The score is the sum of these terms. A bar far beyond its mark is what sets these data apart.",
            )
            .figure(&figure, "")
            .table(&meanings(self.detector.manifest(), names))
    }
}

fn meaning(quarter: Quarter) -> &'static str {
    match quarter {
        Quarter::Both => "unlike the training data, and the model is affected: look at these first",
        Quarter::Harmful => "looks like the training data, but the model's answer is in doubt",
        Quarter::New => "unlike the training data, but the model takes it as usual",
        Quarter::Neither => "as usual",
    }
}

/// Values in multiples of what they have where the p-value is alpha.
struct Scale {
    zero: f64,
    threshold: f64,
}

impl Scale {
    fn of(calibration: &[f32], alpha: f64) -> Self {
        let calibration = Calibration::new(calibration.iter().map(|&s| f64::from(s)));
        let sorted = calibration.scores();
        let threshold = calibration.threshold(alpha, Rule::Quantile).unwrap_or(1.0);
        let positive = sorted.first().is_some_and(|&s| s >= 0.0) && threshold > 0.0;
        let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        Self { zero: if positive { 0.0 } else { middle }, threshold }
    }

    fn place(&self, value: f64) -> f64 {
        let length = self.threshold - self.zero;
        let place = (value - self.zero) / if length > 0.0 { length } else { 1.0 };
        if place.is_nan() { FURTHEST } else { place.clamp(-FURTHEST, FURTHEST) }
    }
}
