//! The samples that are furthest out, with reasons and images.

use ndarray::Ix2;
use taste_detector::{
    Detector, channel_axis,
    explain::{entry_names, in_deviations, largest},
};
use taste_report::{Heatmap, Image, Panel, Scale, Section, Table};

use super::gather::{Scored, Worst};
use crate::{
    explain::{as_image, scale},
    pages::{p_value, percent, signed},
    sheet,
    table::{count, number},
};

/// Terms and columns that are named.
const NAMED: usize = 3;
/// How wide images are, about, and all of them together.
const PANEL: usize = 104;
const ROW: usize = 700;

pub(super) fn section(scored: &Scored<'_>, worst: &[Worst]) -> Section {
    let mut section = Section::new("The samples furthest out");
    if worst.is_empty() {
        return section.paragraph("There are none.");
    }
    let detector = scored.detector;
    let images: Vec<Option<Image>> = worst
        .iter()
        .map(|w| w.image.as_ref().and_then(|values| as_image(values, &detector.reading())))
        .collect();
    if images.iter().all(Option::is_some) {
        let images: Vec<Image> = images.into_iter().flatten().collect();
        section = section.figure(&thumbnails(detector, worst, &images), caption(detector, worst));
    }
    section.table(&table(scored, worst))
}

fn caption(detector: &Detector, worst: &[Worst]) -> String {
    let first = format!("The {} with the largest scores.", count(worst.len(), "sample"));
    match &detector.manifest().map {
        Some(map) if worst.iter().all(|w| w.map.is_some()) => format!(
            "{first} Below each, where it differs; outlined: beyond {}, which the largest entry of {} of calibration maps \
             stays below.",
            number(map.threshold),
            percent(1.0 - map.alpha)
        ),
        _ => first,
    }
}

/// Images in rows, each with its map below where there is one.
fn thumbnails(detector: &Detector, worst: &[Worst], images: &[Image]) -> Heatmap {
    let side = |w: &Worst| w.image.as_ref().map_or(1, longest_side);
    let longest = worst.iter().map(side).max().unwrap_or(1);
    let pixel = (PANEL / longest).clamp(1, 12);
    let columns = (ROW / (longest * pixel).max(90)).clamp(2, 6).min(worst.len());
    let facts = detector.manifest().map.as_ref();
    let scale = facts.map_or_else(|| Scale::diverging(1.0), scale);
    let mut panels = Vec::new();
    let pairs: Vec<(&Worst, &Image)> = worst.iter().zip(images).collect();
    // A row that is not full would have its maps beside its images.
    let with_maps = worst.iter().all(|w| w.map.is_some());
    for row in pairs.chunks(columns).filter(|row| !with_maps || row.len() == columns) {
        panels.extend(row.iter().map(|(w, image)| {
            let caption = format!("{} (p {})", short(&w.name), p_value(w.seen.p_value));
            Panel::image((*image).clone()).caption(caption)
        }));
        let maps: Vec<Panel> = row.iter().filter_map(|(w, image)| over(w, image, facts)).collect();
        panels.extend(maps);
    }
    Heatmap::grid(panels, columns, scale)
        .pixel(u32::try_from(pixel).unwrap_or(1))
        .label("part of the map")
}

fn over(w: &Worst, image: &Image, facts: Option<&taste_detector::MapFacts>) -> Option<Panel> {
    let map = w.map.as_ref()?.clone().into_dimensionality::<Ix2>().ok()?;
    Some(Panel::map(map).over(image.clone().in_grey()).outline(facts?.threshold))
}

fn longest_side(image: &ndarray::ArrayD<f32>) -> usize {
    let channels = channel_axis(image.shape());
    let sides = image.shape().iter().enumerate().filter(|(axis, _)| Some(*axis) != channels);
    sides.map(|s| *s.1).max().unwrap_or(1)
}

/// The end of a long name.
fn short(name: &str) -> String {
    const MOST: usize = 24;
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= MOST {
        return name.to_owned();
    }
    format!("…{}", letters[letters.len() - MOST..].iter().collect::<String>())
}

fn table(scored: &Scored<'_>, worst: &[Worst]) -> Table {
    let detector = scored.detector;
    let with_novelty = detector.manifest().has_novelty;
    let (with_reasons, columns) = (scored.evidence.is_some(), moved_columns(detector, worst));
    let mut head = vec!["sample", "score", "p"];
    head.extend(with_novelty.then_some("novelty p"));
    head.extend(with_reasons.then_some("why"));
    let unit = match detector.map_units() {
        Some(_) => "columns that differ most (SD)",
        None => "columns that add most to the score",
    };
    head.extend(columns.is_some().then_some(unit));
    let mut table = Table::new(head).right(if with_novelty { &[1, 2, 3] } else { &[1, 2] });
    for (i, w) in worst.iter().enumerate() {
        let mut row = vec![w.name.clone(), taste_report::number(w.seen.score)];
        row.push(p_value(w.seen.p_value));
        row.extend(w.seen.novelty.map(|n| p_value(n.1)));
        row.extend(with_reasons.then(|| reasons(scored, w)));
        row.extend(columns.as_ref().map(|c| c[i].clone()));
        table.row(row);
    }
    table
}

/// The largest terms of a score, in words.
fn reasons(scored: &Scored<'_>, w: &Worst) -> String {
    let names = scored.evidence.map_or(&[][..], |part| &part.columns);
    let mut terms: Vec<(&String, f32)> = names.iter().zip(w.terms.iter().copied()).collect();
    terms.retain(|t| t.1 > 0.0);
    terms.sort_by(|a, b| b.1.total_cmp(&a.1));
    let words = terms.iter().take(NAMED).map(|(name, value)| {
        let about = sheet::meaning(scored.detector.manifest(), name);
        let name = about.map_or_else(|| (*name).clone(), |about| format!("{about} ({name}"));
        let close = if name.contains('(') { ", " } else { " (" };
        format!("{name}{close}{value:.1})")
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { "no finite score".to_owned() } else { words.join("; ") }
}

/// For tables with maps: the columns whose part of the map is largest.
fn moved_columns(detector: &Detector, worst: &[Worst]) -> Option<Vec<String>> {
    detector.maps()?;
    let deviations = detector.map_units();
    let names = entry_names(
        detector.manifest().data.columns.as_deref(),
        &detector.manifest().model.sample_shape,
    );
    let of = |w: &Worst| {
        let map = w.map.as_ref().filter(|m| m.ndim() == 1)?;
        let own = deviations.map(|d| in_deviations(map, d));
        let parts = largest(map, own.as_ref(), &names, NAMED);
        let words = parts
            .iter()
            .map(|p| format!("{} {}", p.name, signed(p.deviations.unwrap_or(p.value).into())));
        Some(words.collect::<Vec<_>>().join(", "))
    };
    worst.iter().map(of).collect()
}
