//! `taste explain`.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use ndarray::{Array2, ArrayD, ArrayView2, Axis, Ix2, Ix3, IxDyn};
use serde::Serialize;
use taste_data::{Options, Samples, npy::Writer};
use taste_report::{Bars, Figure, Heatmap, Panel, Picture, Scale};
use taste_stein::{Detector, channel_axis, over_channels};

use crate::{
    Outcome,
    args::ExplainArgs,
    detect::Detection,
    files::{self, NewFolder},
    print, print_json,
    table::{Table, count, number},
    tell,
};

/// Columns of a table that a sample's bars show.
const SHOWN: usize = 12;

/// A sample that is drawn.
#[derive(Serialize)]
struct Explained {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    score: f32,
    p_value: f32,
    flag: bool,
    residual: f32,
    /// Entries of the map beyond the threshold.
    beyond: usize,
    /// The columns or places with the largest parts.
    top: Vec<Part>,
    picture: PathBuf,
    #[serde(skip)]
    values: ArrayD<f32>,
    #[serde(skip)]
    map: ArrayD<f32>,
}

/// A part of the residual.
#[derive(Clone, Serialize)]
struct Part {
    name: String,
    part: f32,
}

#[derive(Serialize)]
struct Report<'a> {
    detector: &'a Path,
    data: &'a Path,
    samples: usize,
    /// Entries beyond this stand out.
    threshold: f64,
    maps: PathBuf,
    explained: Vec<Explained>,
    /// Mean sizes of the parts of all samples, the largest first.
    overall: Vec<Part>,
}

pub(crate) fn run(args: &ExplainArgs) -> Result<Outcome> {
    let with = &args.with;
    let detector = Detector::open(&with.detector)?;
    let facts = detector.manifest().map.clone();
    let facts = facts.with_context(|| {
        format!(
            "{}: this detector has no maps: fit it again with --map to see where a sample differs",
            with.detector.display()
        )
    })?;
    let mut detection = Detection::start(&detector, with, true)?;
    let data = detection.open(&args.data)?;
    let total = files::count(&data)?;
    if let Some(missing) = args.samples.iter().find(|&&i| i >= total) {
        bail!("--samples {missing}: {} has {}", data.name(), count(total, "sample"));
    }
    let folder = NewFolder::make("-o", &args.out)?;
    let maps_path = args.out.join("maps.npy");
    let mut writer = None::<Writer<f32>>;
    let mut chosen: BTreeMap<(Reverse<u32>, usize), Explained> = BTreeMap::new();
    let most = usize::try_from(args.most)?;
    let shape = detector.manifest().model.sample_shape.clone();
    let mut flat_shape = shape.clone();
    channel_axis(&shape).map(|axis| flat_shape.remove(axis));
    let mut sizes = ArrayD::<f64>::zeros(IxDyn(&flat_shape));
    let samples = detection.each(&data, |chunk, scores| {
        let map = scores.map.as_ref().context("the detector gave no map")?;
        let map = over_channels(map);
        let writer = if let Some(writer) = &mut writer {
            writer
        } else {
            let mut whole = map.shape().to_vec();
            whole[0] = total;
            writer.insert(Writer::create(&maps_path, &whole)?)
        };
        writer.append(&map.view())?;
        for (i, &index) in chunk.index.iter().enumerate() {
            let own = map.index_axis(Axis(0), i);
            if own.iter().all(|v| v.is_finite()) {
                sizes.zip_mut_with(&own, |s, v| *s += f64::from(v.abs()));
            }
            let wanted = args.samples.is_empty() || args.samples.contains(&index);
            if !wanted {
                continue;
            }
            let score = scores.score[i];
            let rank = Reverse(if args.samples.is_empty() { rank(score) } else { 0 });
            let beyond = own.iter().filter(|v| f64::from(v.abs()) > facts.threshold).count();
            let explained = Explained {
                index,
                file: data.row_name(index),
                score,
                p_value: scores.p_value[i],
                flag: scores.flag[i],
                residual: scores.residual[i],
                beyond,
                top: Vec::new(),
                picture: args.out.join(format!("sample-{index:06}.png")),
                values: chunk.values.index_axis(Axis(0), i).to_owned(),
                map: own.to_owned(),
            };
            chosen.insert((rank, index), explained);
            if args.samples.is_empty() && chosen.len() > most {
                chosen.pop_last();
            }
        }
        Ok(())
    })?;
    if let Some(writer) = writer {
        writer.finish()?;
    }
    folder.keep();
    let mut explained: Vec<Explained> = chosen.into_values().collect();
    let columns = data.columns().or(detector.manifest().data.columns.as_deref());
    let names = names(columns, &flat_shape);
    for sample in &mut explained {
        sample.top = largest(&sample.map, &names);
    }
    let mean = sizes.mapv(|s| {
        #[expect(clippy::cast_possible_truncation, reason = "shown with five digits")]
        let mean = (s / samples as f64) as f32;
        mean
    });
    let overall = largest(&mean, &names);
    let scale = Scale::diverging(facts.scale.max(facts.threshold));
    let drawn = if flat_shape.len() == 2 {
        let options = serde_json::from_value(detector.manifest().data.reading.clone());
        pictures(args, &explained, &scale, facts.threshold, &options.unwrap_or_default())?
    } else {
        bars(args, &explained, &names, &mean)?
    };
    if !with.run.quiet() {
        tell(&format!(
            "wrote {} and {} in {}",
            maps_path.display(),
            count(drawn, "picture"),
            args.out.display()
        ));
    }
    let report = Report {
        detector: &with.detector,
        data: &args.data,
        samples,
        threshold: facts.threshold,
        maps: maps_path,
        explained,
        overall,
    };
    if with.json {
        print_json(&report)?;
    } else {
        print(&render(&report, flat_shape.len() == 2))?;
    }
    Ok(Outcome::Fine)
}

/// A number that orders scores; what is no number comes last.
fn rank(score: f32) -> u32 {
    let bits = score.to_bits();
    match (score.is_nan(), score.is_sign_negative()) {
        (true, _) => u32::MAX,
        (false, true) => !bits,
        (false, false) => bits | (1 << 31),
    }
}

/// Names of the entries of a map summed over channels.
fn names(columns: Option<&[String]>, shape: &[usize]) -> Vec<String> {
    match (columns, shape) {
        (Some(columns), [size]) if columns.len() == *size => columns.to_vec(),
        (_, [height, width]) => (0..height * width)
            .map(|i| format!("row {}, column {}", i / width.max(&1), i % width.max(&1)))
            .collect(),
        _ => (0..shape.iter().product()).map(|i| format!("entry {i}")).collect(),
    }
}

/// The entries of a map with the largest sizes.
fn largest(map: &ArrayD<f32>, names: &[String]) -> Vec<Part> {
    let mut parts: Vec<Part> =
        names.iter().zip(map).map(|(name, &part)| Part { name: name.clone(), part }).collect();
    parts.sort_by(|a, b| b.part.abs().total_cmp(&a.part.abs()));
    parts.truncate(SHOWN);
    parts
}

/// A picture for every sample, and one of all.
fn pictures(
    args: &ExplainArgs,
    explained: &[Explained],
    scale: &Scale,
    threshold: f64,
    options: &Options,
) -> Result<usize> {
    const LABEL: &str = "part of the residual";
    let mut panels = Vec::new();
    for sample in explained {
        let map: Array2<f32> = sample.map.clone().into_dimensionality::<Ix2>()?;
        let picture = picture(&sample.values, options);
        let caption = format!("sample {}: p = {:.4}", sample.index, sample.p_value);
        let over = |map: Array2<f32>| {
            let panel = Panel::map(map).outline(threshold);
            match &picture {
                Some(picture) => panel.over(picture.clone().in_grey()),
                None => panel,
            }
        };
        let mut own = Vec::new();
        own.extend(picture.clone().map(|p| Panel::picture(p).caption("input")));
        own.push(Panel::map(map.clone()).outline(threshold).caption("map"));
        own.push(over(map.clone()).caption("overlay"));
        let columns = own.len();
        let name = sample.file.clone().unwrap_or_else(|| format!("sample {}", sample.index));
        let verdict = if sample.flag { "flagged" } else { "not flagged" };
        let figure = Heatmap::grid(own, columns, *scale)
            .title(format!("{name}: {verdict}, p = {:.4}", sample.p_value))
            .label(LABEL);
        files::write(&sample.picture, &figure.to_png()?)?;
        panels.push(over(map).caption(caption));
    }
    let grid = Heatmap::grid(panels, 4, *scale)
        .title(format!(
            "Where {} differ; outlined: beyond {}",
            count(explained.len(), "sample"),
            number(threshold)
        ))
        .label(LABEL);
    files::write(&args.out.join("overview.png"), &grid.to_png()?)?;
    Ok(explained.len() + 1)
}

/// The sample as a picture in [0, 1], if it has one channel or three.
fn picture(values: &ArrayD<f32>, options: &Options) -> Option<Picture> {
    let at = |list: &[f32], c: usize, default: f32| {
        list.get(c).or(list.first()).copied().unwrap_or(default)
    };
    if let Ok(grey) = values.view().into_dimensionality::<Ix2>() {
        let (low, high) = limits(&grey);
        return Some(Picture::grey(&grey, low, high));
    }
    let mut sample = values.view().into_dimensionality::<Ix3>().ok()?.to_owned();
    if channel_axis(values.shape()) == Some(2) {
        sample = sample.permuted_axes([2, 0, 1]).as_standard_layout().into_owned();
    }
    for (c, mut channel) in sample.axis_iter_mut(Axis(0)).enumerate() {
        let (mean, std) = (at(&options.mean, c, 0.0), at(&options.std, c, 1.0));
        channel.mapv_inplace(|v| v * std + mean);
    }
    let size = sample.len();
    let flat = sample.view().into_shape_with_order((1, size)).ok()?;
    let (low, high) = limits(&flat);
    Picture::from_sample(&sample.view(), low, high).ok()
}

/// 0 and 1 for what lies within, else the smallest and the largest value.
fn limits(values: &ArrayView2<'_, f32>) -> (f32, f32) {
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let (low, high) =
        (finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max));
    if low >= -0.01 && high <= 1.01 { (0.0, 1.0) } else { (low, high) }
}

/// Bars for every sample, and for all.
fn bars(
    args: &ExplainArgs,
    explained: &[Explained],
    names: &[String],
    mean: &ArrayD<f32>,
) -> Result<usize> {
    let ranked = |title: String, label: &str, values: &ArrayD<f32>| {
        let parts = names.iter().cloned().zip(values.iter().map(|&v| f64::from(v)));
        Bars::new(title, parts).label(label).ranked(SHOWN)
    };
    for sample in explained {
        let name = sample.file.clone().unwrap_or_else(|| format!("sample {}", sample.index));
        let verdict = if sample.flag { "flagged" } else { "not flagged" };
        let title = format!("{name}: {verdict}, p = {:.4}", sample.p_value);
        let figure = ranked(title, "part of the residual", &sample.map);
        files::write(&sample.picture, &figure.to_png()?)?;
    }
    let figure = ranked("Columns by their mean part".to_owned(), "mean size of the part", mean);
    files::write(&args.out.join("overview.png"), &figure.to_png()?)?;
    Ok(explained.len() + 1)
}

fn render(report: &Report<'_>, is_picture: bool) -> String {
    let mut text = String::new();
    if !is_picture {
        let mut overall = Table::default().right(&[1]);
        overall.row(["column", "mean size of its part"]);
        for part in &report.overall {
            overall.row([part.name.clone(), number(f64::from(part.part))]);
        }
        text += &overall.render(0);
        text.push('\n');
    }
    let mut samples = Table::default().right(&[0, 1, 2, 4]);
    let beyond = format!("beyond {}", number(report.threshold));
    samples.row(["sample", "score", "p", "flag", &beyond, "largest parts"]);
    for sample in &report.explained {
        let parts: Vec<String> =
            sample.top.iter().take(3).map(|p| format!("{} {:+.3}", p.name, p.part)).collect();
        samples.row([
            sample.index.to_string(),
            number(f64::from(sample.score)),
            format!("{:.4}", sample.p_value),
            if sample.flag { "yes" } else { "-" }.to_owned(),
            sample.beyond.to_string(),
            parts.join("; "),
        ]);
    }
    text + &samples.render(0)
}
