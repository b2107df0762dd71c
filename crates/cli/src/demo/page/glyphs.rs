//! The glyphs, for the report.

use ndarray::{Array2, Axis, Ix2};
use taste_detector::over_channels;
use taste_report::{Bars, Heatmap, Histogram, Image, Panel, Scale, Section, Table};

use crate::demo::{
    change::Change,
    glyph::Shape,
    glyphs::{Found, Row},
    judge::{Answer, Harm, LOSS, reason},
};

/// How many times a pixel of a glyph is enlarged.
const PIXEL: u32 = 6;
/// The same where there is more to say below.
const LARGE: u32 = 9;
/// Changes whose maps are shown.
const MAPPED: [Change; 5] =
    [Change::Nothing, Change::Rim, Change::Covered, Change::Struck, Change::Unseen];
/// Changes whose scores are shown.
const COUNTED: [Change; 4] = [Change::Nothing, Change::Rim, Change::Struck, Change::Unseen];

pub(super) fn data(found: &Found) -> Section {
    let usual = 100.0 * found.usual();
    Section::new("Glyphs: a classifier and eleven batches")
        .paragraph(format!(
            "The program draws small images of six shapes. No two are alike: place, size, slant, thickness and ink vary, \
             and every pixel has some noise. A convolutional network has learnt to tell the shapes apart; on fresh ones \
             it is right in {usual:.1} % of cases.",
        ))
        .figure(&classes(found), "The six classes.")
        .paragraph(
            "Then things happen to the images. Some should not matter to such a classifier, others should. The last is \
             made with the classifier at hand: one step of the fast gradient sign method, a third of the noise that every pixel has anyway.",
        )
        .figure(&changes(found), "One glyph under every change.")
}

pub(super) fn results(found: &Found) -> Section {
    let alpha = found.alpha();
    let batch = found.rows.first().map_or(0, |row| row.shift().samples);
    Section::new("What the detector says of each batch")
        .paragraph(format!(
            "The detector sees images only, never their labels. Accuracy is shown for us to judge it by: a batch counts \
             as harmful if the classifier loses more than {:.0} points. Every batch has {batch} images.",
            100.0 * LOSS
        ))
        .table(&table(found))
        .list([
            "Estimated: the accuracy that the detector expects from the scores of the batch, without its labels. It learnt \
             from labelled calibration images how often the classifier errs at which score, and is wrong where a change \
             breaks that."
                .to_owned(),
            "Harm: how much further out the batch lies than calibration images, in their standard deviations: the mean \
             of its images' evidence, which is minus the log of the share of images at least as far out."
                .to_owned(),
            "Novelty: the same for how much the images themselves and the first layers' features differ from the training \
             data, whether the answer depends on that or not."
                .to_owned(),
            format!(
                "Either counts if chance makes it as large in at most {alpha} of cases, after a correction for the number \
                 of batches, and if it is {} standard deviations or more; for harm the nearer end of its 95 % interval. \
                 These are the program's defaults.",
                found.settings.least_effect
            ),
        ])
        .figure(
            &lost(found),
            "What each change does to the classifier, which needs labels to be known.",
        )
        .figure(&effects(found), "What the detector says, which does not.")
        .paragraph("The reasons, in words: the term that adds most, to the harm if there is any, else to the novelty.")
        .table(&reasons(found))
}

pub(super) fn scores(found: &Found) -> Section {
    Section::new("Single images")
        .paragraph(
            "Each image gets a score for harm, and a p-value: the share of calibration images that are at least as far \
             out. Those above the threshold are flagged. Novelty has a score and a p-value of its own.",
        )
        .figure(&histogram(found), "Scores of some of the batches. To the right of the line an image is flagged.")
}

pub(super) fn maps(found: &Found) -> Section {
    Section::new("Where").paragraph(
        "What would go away if the image were moved toward the training data? The maps show each pixel's share of it. All \
         have one colour scale, taken from calibration images: a map of an image like the training data stays pale. An \
         outline surrounds pixels beyond what 95 % of calibration images reach anywhere.",
    )
    .figure(&mapped(found), "The first image of some batches, the same glyph each time, and its map below.")
}

fn grey(image: &ndarray::ArrayViewD<'_, f32>) -> Option<Image> {
    let flat = image.index_axis(Axis(0), 0).into_dimensionality::<Ix2>().ok()?;
    Some(Image::grey(&flat, 0.0, 1.0))
}

/// A grid of images alone.
fn images(panels: Vec<Panel>, columns: usize, pixel: u32) -> Heatmap {
    Heatmap::grid(panels, columns, Scale::diverging(1.0)).pixel(pixel)
}

fn image(row: &Row, number: usize) -> Option<Panel> {
    grey(&row.glyphs.images.index_axis(Axis(0), number)).map(Panel::image)
}

fn classes(found: &Found) -> Heatmap {
    let row = found.row(Change::Nothing);
    let panels = Shape::KNOWN.into_iter().filter_map(|shape| {
        let row = row?;
        let drawn = (0..row.glyphs.labels.len()).filter(|&i| row.glyphs.labels[i] == shape.label());
        // The brightest, as some are faint.
        let light = |&i: &usize| row.glyphs.images.index_axis(Axis(0), i).sum();
        let number = drawn.max_by(|a, b| light(a).total_cmp(&light(b)))?;
        Some(image(row, number)?.caption(shape.name()))
    });
    images(panels.collect(), Shape::KNOWN.len(), PIXEL)
}

fn changes(found: &Found) -> Heatmap {
    let panels = found.rows.iter().filter_map(|row| {
        let caption = format!("{}: {}", row.change.name(), row.change.words());
        Some(image(row, found.shown())?.caption(caption))
    });
    images(panels.collect(), 4, LARGE)
}

fn table(found: &Found) -> Table {
    let head =
        ["batch", "accuracy", "so it is", "estimated", "harm", "novelty", "the detector says"];
    let mut table = Table::new(head).right(&[1, 3, 4, 5]);
    let percent = |share: Option<f64>| {
        share.map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", 100.0 * share))
    };
    for row in &found.rows {
        table.row([
            row.change.name().to_owned(),
            percent(row.accuracy),
            Harm::of(row, found.usual()).words().to_owned(),
            percent(row.estimated()),
            super::signed(row.shift().effect, 2),
            super::signed(row.novelty.effect, 2),
            Answer::of(row).words().to_owned(),
        ]);
    }
    table
}

fn reasons(found: &Found) -> Table {
    let mut table = Table::new(["batch", "it is", "mainly because"]);
    for row in &found.rows {
        if let Some(reason) = reason(row, &found.detector) {
            let answer = Answer::of(row).words();
            table.row([row.change.name().to_owned(), answer.to_owned(), reason]);
        }
    }
    table
}

fn lost(found: &Found) -> Bars {
    let rows = found.rows.iter().filter_map(|row| {
        Some((row.change.name().to_owned(), 100.0 * (found.usual() - row.accuracy?)))
    });
    Bars::new("Accuracy lost", rows).label("percentage points")
}

fn effects(found: &Found) -> Bars {
    let rounded = |effect: f64| (100.0 * effect).round() / 100.0;
    let rows =
        found.rows.iter().map(|row| (row.change.name().to_owned(), rounded(row.shift().effect)));
    Bars::new("Harm", rows)
        .label("standard deviations of calibration images")
        .level(found.settings.least_effect, "smaller effects do not count")
}

fn histogram(found: &Found) -> Histogram {
    let log = |score: f64| score.max(1e-12).log10();
    let start = Histogram::new("Scores, and the threshold")
        .axis("logarithm (base 10) of the score")
        .threshold(
            log(found.detector.manifest().decision.threshold.unwrap_or(f64::MAX)),
            "flagged from here on",
        );
    COUNTED.into_iter().filter_map(|change| found.row(change)).fold(start, |figure, row| {
        figure.group(row.change.name(), row.scores.score.iter().map(|&s| log(f64::from(s))))
    })
}

fn mapped(found: &Found) -> Heatmap {
    let facts = found.detector.manifest().map.as_ref();
    let (threshold, limit) = facts.map_or((1.0, 1.0), |f| (f.threshold, f.scale.max(f.threshold)));
    let rows: Vec<&Row> = MAPPED.into_iter().filter_map(|change| found.row(change)).collect();
    let number = found.shown();
    let above = rows.iter().filter_map(|row| {
        let seen = Shape::KNOWN[row.predicted[number]].name();
        Some(image(row, number)?.caption(format!("{}: taken for a {seen}", row.change.name())))
    });
    let below = rows.iter().filter_map(|row| {
        let map: Array2<f32> = over_channels(row.scores.map.as_ref()?)
            .index_axis(Axis(0), number)
            .into_dimensionality()
            .ok()?
            .to_owned();
        let flag = if row.scores.flag[number] { "flagged" } else { "not flagged" };
        let caption =
            format!("{flag}, p = {}", super::p_value(f64::from(row.scores.p_value[number])));
        Some(Panel::map(map).outline(threshold).caption(caption))
    });
    let panels: Vec<Panel> = above.chain(below).collect();
    Heatmap::grid(panels, rows.len(), Scale::diverging(limit))
        .pixel(PIXEL)
        .label("part of the evidence")
}
