//! What other front ends show of detectors and tests: the words and the pages of the command.

use std::path::Path;

use ndarray::{Array2, ArrayD, Ix2};
use taste_detector::{
    Detector,
    shift::{TestSettings, Tests},
};
use taste_monitor::View;
use taste_report::{Heatmap, Page, Panel, Scale, Section, Tone};

use crate::{
    explain::as_image,
    monitor::{Report, text},
    pages, sheet, shift,
    table::count,
};

/// Something in words, and as a page for a browser.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Lines of plain text.
    pub text: String,
    /// A self-contained HTML file.
    pub page: String,
}

/// A detector, by the name of its file.
pub fn detector(detector: &Detector, name: &str) -> Shown {
    let page = pages::fit(detector, Path::new(name), &[]);
    Shown { text: sheet::render(detector.manifest()), page: html(page) }
}

/// Tests of batches.
pub fn tests(detector: &Detector, name: &str, settings: &TestSettings, tests: Tests) -> Shown {
    const TOP: usize = 5;
    let report = shift::Report::new(Path::new(name), settings, tests);
    Shown { text: report.render(detector, TOP), page: html(pages::test(&report, detector, TOP)) }
}

/// A stream that a detector watches, of which so many samples were counted now, with the folder of its state.
pub fn monitor(view: View, counted: u64, file: &Path, state: &Path) -> Shown {
    let report = Report::new(view, counted, file, state);
    Shown { text: text::render(&report), page: html(pages::monitor(&report)) }
}

/// Scores beside those of calibration samples.
pub fn scores(
    detector: &Detector,
    score: &[f32],
    novelty: Option<&[f32]>,
    flagged: usize,
) -> Shown {
    let decision = &detector.manifest().decision;
    let expected = decision.alpha.map(|alpha| alpha * score.len() as f64);
    let much = expected.is_some_and(|n| flagged as f64 > 2.0 * n + 3.0);
    let tone = if much { Tone::Warning } else { Tone::Ok };
    let headline = format!("{flagged} of {} flagged", count(score.len(), "sample"));
    let detail = expected.map_or_else(String::new, |n| {
        format!("About {n:.0} are expected of samples like the calibration samples.")
    });
    let mut section = Section::new("Scores");
    let both = [
        ("score", score, detector.calibration(), decision.threshold),
        (
            "novelty",
            novelty.unwrap_or_default(),
            detector.novelty_calibration().unwrap_or_default(),
            decision.novelty_threshold,
        ),
    ];
    for (what, own, calibration, threshold) in both.into_iter().filter(|b| !b.2.is_empty()) {
        let own = own.iter().map(|&v| f64::from(v)).collect();
        let figure =
            pages::histogram(what, what, calibration, threshold, &[("these samples", own)]);
        section = section.figure(&figure, "");
    }
    let text = format!("{headline}. {detail}\n");
    Shown { text, page: html(Page::new("Scores").verdict(tone, headline, detail).section(section)) }
}

/// A sample and where it differs.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// Its number.
    pub index: usize,
    /// How far out it is.
    pub p_value: f32,
    /// The sample as the model takes it.
    pub values: ArrayD<f32>,
    /// Its map, summed over channels.
    pub map: ArrayD<f32>,
}

/// Maps of samples; those that are no images are left to tables.
pub fn maps(detector: &Detector, samples: &[Mapped]) -> Shown {
    let manifest = detector.manifest();
    let (threshold, limit) = manifest.map.as_ref().map_or((0.0, 1.0), |m| (m.threshold, m.scale));
    let panel = |sample: &Mapped| -> Option<Panel> {
        let map: Array2<f32> = sample.map.clone().into_dimensionality::<Ix2>().ok()?;
        let panel = Panel::map(map).outline(threshold);
        let image = as_image(&sample.values, &manifest.data.reading);
        let panel = image.map_or(panel.clone(), |image| panel.over(image.in_grey()));
        Some(panel.caption(format!("sample {}: p = {:.4}", sample.index, sample.p_value)))
    };
    let panels: Vec<Panel> = samples.iter().filter_map(panel).collect();
    let headline = format!("Where {} differ", count(samples.len(), "sample"));
    let mut section = Section::new("Maps");
    if !panels.is_empty() {
        let figure = Heatmap::grid(panels, 4, Scale::diverging(limit)).label("contribution");
        section = section.figure(&figure, "Outlined: beyond what calibration samples have.");
    }
    let page = Page::new("Maps").verdict(Tone::Ok, headline.clone(), "").section(section);
    Shown { text: headline + "\n", page: html(page) }
}

fn html(page: Page) -> String {
    page.footer(format!("taste {}", env!("CARGO_PKG_VERSION"))).to_html()
}
