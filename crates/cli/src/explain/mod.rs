//! `taste explain`.

mod columns;
mod folder;
mod maps;
mod pictures;

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use ndarray::{ArrayD, Axis, IxDyn};
use serde::Serialize;
use taste_data::{Dataset, Samples};
use taste_report::Scale;
use taste_stein::{Detector, channel_axis, over_channels};

use crate::{
    Outcome,
    args::ExplainArgs,
    detect::Detection,
    files, print, print_json,
    table::{Table, count, number},
    tell,
};
use columns::in_deviations;
use folder::{Folder, MAPS, OVERVIEW, REPORT};
use maps::Maps;

/// Columns or places that are named.
const NAMED: usize = 12;

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
    #[serde(rename = "part")]
    value: f32,
    /// The same in standard deviations of calibration samples, for tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    deviations: Option<f32>,
}

/// Sizes of the parts of all samples.
struct Overall {
    samples: usize,
    /// Their means.
    sizes: ArrayD<f32>,
    /// Their root mean squares, in standard deviations of calibration samples.
    deviations: ArrayD<f32>,
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
    /// Mean sizes of the parts of all samples, the largest first: in deviations for tables.
    overall: Vec<Part>,
    /// What was written to the folder.
    files: Vec<String>,
}

pub(crate) fn run(args: &ExplainArgs) -> Result<Outcome> {
    let with = &args.with;
    let detector = Detector::open(&with.detector)?;
    let facts = detector.manifest().map.clone();
    let (facts, reference) = facts.zip(detector.maps()).with_context(|| {
        format!(
            "{}: this detector has no maps: fit it again with --map to see where a sample differs",
            with.detector.display()
        )
    })?;
    let shape = detector.manifest().model.sample_shape.clone();
    if reference.deviations.len() != shape.iter().product::<usize>() {
        bail!(
            "{}: this detector is damaged: the deviations of its maps are not those of its samples",
            with.detector.display()
        );
    }
    let mut flat_shape = shape.clone();
    channel_axis(&shape).map(|axis| flat_shape.remove(axis));
    let is_picture = flat_shape.len() == 2;
    let deviations = (!is_picture).then_some(&reference.deviations[..]);
    let mut detection = Detection::start(&detector, with, true)?;
    let data = detection.open(&args.data)?;
    let total = data.len()? + data.skipped().len();
    if let Some(missing) = args.samples.iter().find(|&&i| i >= total) {
        bail!("--samples {missing}: {} has {}", data.name(), count(total, "sample"));
    }
    let folder = Folder::open(&args.out, &args.data)?;
    let maps_path = args.out.join(MAPS);
    let mut maps = Maps::create(&maps_path, total, &flat_shape)?;
    let mut chosen = Chosen::new(args)?;
    let mut sums = Sums::new(&flat_shape);
    let samples = detection.each(&data, |chunk, scores| {
        let map = scores.map.as_ref().context("the detector gave no map")?;
        let map = over_channels(map);
        let places: Vec<usize> = chunk.index.iter().map(|&i| data.place(i)).collect();
        maps.append(&map, &places)?;
        for (i, &index) in places.iter().enumerate() {
            let own = map.index_axis(Axis(0), i).to_owned();
            sums.add(&own, deviations);
            let beyond = own.iter().filter(|v| f64::from(v.abs()) > facts.threshold).count();
            chosen.offer(index, scores.score[i], || Explained {
                index,
                file: data.row_name(chunk.index[i]),
                score: scores.score[i],
                p_value: scores.p_value[i],
                flag: scores.flag[i],
                residual: scores.residual[i],
                beyond,
                top: Vec::new(),
                picture: args.out.join(folder::picture(index)),
                values: chunk.values.index_axis(Axis(0), i).to_owned(),
                map: own,
            });
        }
        Ok(())
    })?;
    let mut explained = chosen.finish(&data)?;
    let names = names(data.columns().or(detector.manifest().data.columns.as_deref()), &flat_shape);
    for sample in &mut explained {
        let own = deviations.map(|d| in_deviations(&sample.map, d));
        sample.top = largest(&sample.map, own.as_ref(), &names);
    }
    let overall = sums.finish();
    let mut written = vec![MAPS.to_owned(), OVERVIEW.to_owned(), REPORT.to_owned()];
    written.extend(explained.iter().map(|sample| folder::picture(sample.index)));
    let report = Report {
        detector: &with.detector,
        data: &args.data,
        samples,
        threshold: facts.threshold,
        maps: maps_path,
        overall: largest(&overall.sizes, deviations.map(|_| &overall.deviations), &names),
        explained,
        files: written,
    };
    maps.finish()?;
    folder.keep(&report.files)?;
    files::write(
        &args.out.join(REPORT),
        (serde_json::to_string_pretty(&report)? + "\n").as_bytes(),
    )?;
    let drawn = if let Some(deviations) = deviations {
        columns::bars(args, &report.explained, &names, &overall, &facts, deviations)?
    } else {
        let scale = Scale::diverging(facts.scale.max(facts.threshold));
        let options = serde_json::from_value(detector.manifest().data.reading.clone());
        let options = options.unwrap_or_default();
        pictures::pictures(args, &report.explained, &scale, facts.threshold, &options)?
    };
    if with.json {
        print_json(&report)?;
    } else {
        print(&render(&report, is_picture))?;
    }
    if !with.run.quiet() {
        tell(&format!(
            "wrote {} and {} in {}",
            report.maps.display(),
            count(drawn, "picture"),
            args.out.display()
        ));
    }
    Ok(Outcome::Fine)
}

/// The samples that are drawn: those that are named, or those with the largest scores.
struct Chosen<'a> {
    named: &'a [usize],
    most: usize,
    samples: BTreeMap<(Reverse<u32>, usize), Explained>,
}

impl<'a> Chosen<'a> {
    fn new(args: &'a ExplainArgs) -> Result<Self> {
        let most = usize::try_from(args.most)?;
        Ok(Self { named: &args.samples, most, samples: BTreeMap::new() })
    }

    fn offer(&mut self, index: usize, score: f32, sample: impl FnOnce() -> Explained) {
        let by_score = self.named.is_empty();
        if !by_score && !self.named.contains(&index) {
            return;
        }
        let key = (Reverse(if by_score { rank(score) } else { 0 }), index);
        if by_score && self.samples.len() == self.most {
            if self.samples.last_key_value().is_some_and(|(last, _)| *last < key) {
                return;
            }
            self.samples.pop_last();
        }
        self.samples.insert(key, sample());
    }

    fn finish(self, data: &Dataset) -> Result<Vec<Explained>> {
        let samples: Vec<Explained> = self.samples.into_values().collect();
        if let Some(missing) = self.named.iter().find(|n| samples.iter().all(|s| s.index != **n)) {
            bail!("--samples {missing}: {} has it, but it can't be read", data.name());
        }
        Ok(samples)
    }
}

/// Sums over all samples with finite maps.
struct Sums {
    samples: usize,
    sizes: ArrayD<f64>,
    squares: ArrayD<f64>,
}

impl Sums {
    fn new(shape: &[usize]) -> Self {
        let zeros = ArrayD::zeros(IxDyn(shape));
        Self { samples: 0, sizes: zeros.clone(), squares: zeros }
    }

    fn add(&mut self, map: &ArrayD<f32>, deviations: Option<&[f32]>) {
        if !map.iter().all(|v| v.is_finite()) {
            return;
        }
        self.samples += 1;
        self.sizes.zip_mut_with(map, |s, v| *s += f64::from(v.abs()));
        if let Some(deviations) = deviations {
            let scaled = in_deviations(map, deviations);
            self.squares.zip_mut_with(&scaled, |s, v| *s += f64::from(*v).powi(2));
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "shown with five digits")]
    fn finish(self) -> Overall {
        let samples = self.samples.max(1) as f64;
        Overall {
            samples: self.samples,
            sizes: self.sizes.mapv(|s| (s / samples) as f32),
            deviations: self.squares.mapv(|s| (s / samples).sqrt() as f32),
        }
    }
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

/// The entries of a map with the largest sizes, in deviations where there are such.
fn largest(map: &ArrayD<f32>, deviations: Option<&ArrayD<f32>>, names: &[String]) -> Vec<Part> {
    let mut parts: Vec<Part> = names
        .iter()
        .zip(map)
        .map(|(name, &value)| Part { name: name.clone(), value, deviations: None })
        .collect();
    if let Some(deviations) = deviations {
        parts.iter_mut().zip(deviations).for_each(|(part, &d)| part.deviations = Some(d));
    }
    let size = |p: &Part| p.deviations.unwrap_or(p.value).abs();
    parts.sort_by(|a, b| size(b).total_cmp(&size(a)));
    parts.truncate(NAMED);
    parts
}

fn render(report: &Report<'_>, is_picture: bool) -> String {
    let mut text = String::new();
    if !is_picture {
        let mut overall = Table::default().right(&[1, 2]);
        overall.row(["column", "part (SD)", "mean size"]);
        for part in &report.overall {
            let deviations = part.deviations.map_or_else(String::new, |d| format!("{d:.2}"));
            overall.row([part.name.clone(), deviations, number(f64::from(part.value))]);
        }
        text += &overall.render(0);
        text += "SD: root mean square in standard deviations of calibration samples, for which it is 1\n\n";
    }
    let mut samples = Table::default().right(&[0, 1, 2, 4]);
    let beyond = format!("beyond {}", number(report.threshold));
    samples.row(["sample", "score", "p", "flag", &beyond, "largest parts"]);
    for sample in &report.explained {
        let shown = |p: &Part| {
            let part =
                format!("{}{}", if p.value > 0.0 { "+" } else { "" }, number(p.value.into()));
            match p.deviations {
                Some(d) => format!("{} {d:+.2} SD ({part})", p.name),
                None => format!("{} {part}", p.name),
            }
        };
        let parts: Vec<String> = sample.top.iter().take(3).map(shown).collect();
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
