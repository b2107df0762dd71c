//! The worst samples.

use std::fmt::Write;

use ndarray::{Array2, ArrayD, ArrayView3, Axis, Ix2, Ix3};
use taste_detector::over_channels;
use taste_monitor::Worst;
use taste_report::{Figure, Heatmap, Image, Panel, Scale, escape};

use super::{
    layout::{Kind, Layout, table},
    words,
};
use crate::{
    app::{App, Served},
    model::Model,
    record::Watched,
};

pub(super) fn page(_app: &App, served: &Served, watched: &Watched) -> String {
    let view = watched.monitor().view();
    let kept = watched.kept().shown(&view);
    let keeps = watched.kept().keeps();
    let name = escape(&served.model.name);
    let mut main = format!(
        "<p class=\"crumbs\"><a href=\"/\">Monitors</a> <span aria-hidden=\"true\">/</span> \
         <a href=\"/monitors/{name}\">{name}</a> <span aria-hidden=\"true\">/</span></p>\n\
         <h1>Worst samples</h1>\n<p class=\"lead\">The samples that are furthest out since the last restart.</p>\n"
    );
    let cards: String = kept
        .iter()
        .filter_map(|(place, sample)| card(&served.model, &view.worst[*place], sample))
        .collect();
    if !keeps {
        main += "<p class=\"note\">Samples themselves are not kept, unless the service is started with \
                 <code>--keep-samples 12</code>.</p>\n";
    } else if cards.is_empty() {
        main += "<p class=\"note\">None of these came since the service started, or they are no images.</p>\n";
    }
    let _ = writeln!(main, "<div class=\"tiles\" id=\"tiles\" data-live>{cards}</div>");
    let row = |worst: &Worst| {
        vec![
            words::count(worst.at.sample),
            words::moment(worst.at.time),
            if worst.score.is_finite() { format!("{:.3}", worst.score) } else { "none".to_owned() },
            format!("{:.4}", worst.p_value),
            if worst.flagged { "yes" } else { "no" }.to_owned(),
            worst.name.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = view.worst.iter().map(row).collect();
    let head = ["sample", "time (UTC)", "score", "p-value", "flagged", "from"];
    let _ = writeln!(
        main,
        "<section id=\"worst\" data-live><h2>As a table</h2>{}</section>",
        table(&head, &rows)
    );
    let streams = vec![format!("/v1/monitors/{}/stream", served.model.name)];
    Layout { title: "Worst samples", at: "", kind: Kind::Live, streams }.page(&main)
}

/// A sample as a picture with its heat map, if it is an image.
fn card(model: &Model, worst: &Worst, sample: &ArrayD<f32>) -> Option<String> {
    let image = image(sample)?;
    let flagged = if worst.flagged { "flagged" } else { "not flagged" };
    let score =
        if worst.score.is_finite() { format!("{:.2}", worst.score) } else { "none".to_owned() };
    let title = format!("Sample {}", worst.at.sample);
    let mut panels = vec![Panel::image(image.clone()).caption("as it came")];
    let (mut scale, mut label) = (1.0, String::new());
    if let (Some(map), Some(facts)) = (map(model, sample), &model.detector.manifest().map) {
        panels.push(
            Panel::map(map)
                .over(image.in_grey())
                .outline(facts.threshold)
                .caption("where it differs"),
        );
        (scale, label) = (facts.scale, "residual".to_owned());
    }
    let count = panels.len();
    let figure = Heatmap::grid(panels, count, Scale::diverging(scale)).label(label);
    Some(format!(
        "<article class=\"card tile\"><h2>{}</h2><div class=\"scroll\" tabindex=\"0\" role=\"group\" \
         aria-label=\"{}\">{}</div>\
         <p>score {score}, p = {:.4}, {flagged}</p><p class=\"quiet\">{}</p></article>\n",
        escape(&title),
        escape(&title),
        figure.to_svg(),
        worst.p_value,
        escape(&worst.name)
    ))
}

/// A sample as channels × height × width, or as height × width × channels.
fn image(sample: &ArrayD<f32>) -> Option<Image> {
    let finite = || sample.iter().copied().filter(|v| v.is_finite());
    let (low, high) =
        finite().fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if low > high {
        return None;
    }
    if let Ok(grey) = sample.view().into_dimensionality::<Ix2>() {
        return Some(Image::grey(&grey, low, high));
    }
    let view: ArrayView3<'_, f32> = sample.view().into_dimensionality::<Ix3>().ok()?;
    let view = if matches!(view.dim().0, 1 | 3) { view } else { view.permuted_axes([2, 0, 1]) };
    Image::from_sample(&view, low, high).ok()
}

/// Where a sample differs, summed over channels.
fn map(model: &Model, sample: &ArrayD<f32>) -> Option<Array2<f32>> {
    if !model.detector.has_map() {
        return None;
    }
    let batch = sample.view().insert_axis(Axis(0));
    let map = model.score(batch, true).ok()?.map?;
    let map = over_channels(&map.index_axis(Axis(0), 0).to_owned());
    map.into_dimensionality::<Ix2>().ok()
}
