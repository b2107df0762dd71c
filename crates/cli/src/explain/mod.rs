//! `taste explain`.

mod columns;
mod folder;
mod images;
mod maps;

pub(crate) use images::{as_image, scale};

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};
use ndarray::{ArrayD, Axis};
use serde::Serialize;
use taste_data::{Dataset, Samples};
use taste_detector::{
    Detector, Error, MapFacts, PartFacts, Role, Scores, channel_axis,
    explain::{Chosen, EntryPart as Part, Sizes, entry_names, in_deviations, largest},
    over_channels,
};

use crate::{
    Outcome,
    args::ExplainArgs,
    detect::Detection,
    files, hints, print, print_json,
    table::{Table, count, number},
    tell,
};
use folder::{Folder, MAPS, OVERVIEW, REPORT};
use maps::Maps;

/// Columns or places that are named.
const NAMED: usize = 12;

/// A term of the score.
#[derive(Serialize)]
struct Reason {
    term: String,
    evidence: f32,
}

/// A sample that is drawn.
#[derive(Serialize)]
struct Explained {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    score: f32,
    p_value: f32,
    novelty_p_value: Option<f32>,
    flag: bool,
    /// Parts of the score with one column.
    #[serde(flatten)]
    parts: BTreeMap<String, f32>,
    /// The terms that add up to the score, the largest first.
    reasons: Vec<Reason>,
    /// Entries of the map beyond the threshold.
    beyond: usize,
    /// The columns or places with the largest parts.
    top: Vec<Part>,
    image: PathBuf,
    #[serde(skip)]
    values: ArrayD<f32>,
    #[serde(skip)]
    map: ArrayD<f32>,
}

#[derive(Serialize)]
struct Report<'a> {
    detector: &'a Path,
    data: &'a Path,
    samples: usize,
    /// Entries beyond this are unusual.
    threshold: f64,
    maps: PathBuf,
    explained: Vec<Explained>,
    /// Mean sizes of the parts of all samples, the largest first: in deviations where these make them comparable.
    overall: Vec<Part>,
    /// What was written to the folder.
    files: Vec<String>,
}

/// What maps are drawn with.
struct Drawing<'a> {
    args: &'a ExplainArgs,
    detector: &'a Detector,
    facts: &'a MapFacts,
    /// The sizes of a map summed over channels.
    shape: Vec<usize>,
    /// Standard deviations of the entries, where these make them comparable.
    deviations: Option<&'a [f32]>,
}

pub(crate) fn run(args: &ExplainArgs) -> Result<Outcome> {
    let with = &args.with;
    let detector = Detector::open(&with.detector)?;
    let Some(facts) = &detector.manifest().map else {
        return Err(hints::about(&with.detector, &Error::NoMaps));
    };
    let mut shape = detector.manifest().model.sample_shape.clone();
    channel_axis(&shape.clone()).map(|axis| shape.remove(axis));
    let is_image = shape.len() == 2;
    let deviations = detector.map_units();
    let drawing = Drawing { args, detector: &detector, facts, shape, deviations };
    let detection = Detection::start(&detector, with, true)?;
    let data = detection.open(&args.data)?;
    let folder = Folder::open(&args.out, &args.data)?;
    let (report, sizes, names) = drawing.gather(&detection, &data)?;
    folder.keep(&report.files)?;
    files::write(
        &args.out.join(REPORT),
        (serde_json::to_string_pretty(&report)? + "\n").as_bytes(),
    )?;
    let drawn = if is_image {
        let options = detector.reading();
        images::images(args, &report.explained, facts, &options)?
    } else {
        columns::bars(args, &report.explained, &names, &sizes, facts, deviations)?
    };
    if with.json {
        print_json(&report)?;
    } else {
        print(&render(&report, is_image))?;
    }
    if !with.run.quiet() {
        tell(&format!(
            "wrote {} and {} in {}",
            report.maps.display(),
            count(drawn, "image"),
            args.out.display()
        ));
    }
    Ok(Outcome::Fine)
}

impl<'a> Drawing<'a> {
    /// Goes through the data: writes all maps, and picks the samples to draw.
    fn gather(
        &self,
        detection: &Detection<'_>,
        data: &Dataset,
    ) -> Result<(Report<'a>, Sizes, Vec<String>)> {
        let Self { args, facts, deviations, .. } = *self;
        let total = data.len()? + data.skipped().len();
        if let Some(missing) = args.samples.iter().find(|&&i| i >= total) {
            bail!("--samples {missing}: {} has {}", data.name(), count(total, "sample"));
        }
        let maps_path = args.out.join(MAPS);
        let mut maps = Maps::create(&maps_path, total, &self.shape)?;
        let mut chosen = Chosen::new(&args.samples, usize::try_from(args.most)?);
        let mut sizes = Sizes::new(&self.shape);
        let samples = detection.each(data, |chunk, scores| {
            let map = scores.map.as_ref().context("the detector gave no map")?;
            let map = over_channels(map);
            let places: Vec<usize> = chunk.index.iter().map(|&i| data.place(i)).collect();
            maps.append(&map, &places)?;
            for (i, &index) in places.iter().enumerate() {
                let own = map.index_axis(Axis(0), i).to_owned();
                sizes.add(&own, deviations);
                let beyond = own.iter().filter(|v| facts.is_beyond(**v)).count();
                chosen.offer(index, scores.score[i], || Explained {
                    index,
                    file: data.row_name(chunk.index[i]),
                    score: scores.score[i],
                    p_value: scores.p_value[i],
                    flag: scores.flag[i],
                    novelty_p_value: scores.novelty.as_ref().map(|n| n.p_value[i]),
                    parts: single_parts(scores, i),
                    reasons: self.reasons(scores, i),
                    beyond,
                    top: Vec::new(),
                    image: args.out.join(folder::image(index)),
                    values: chunk.values.index_axis(Axis(0), i).to_owned(),
                    map: own,
                });
            }
            Ok(())
        })?;
        maps.finish()?;
        let mut explained = chosen.finish().map_err(|missing| {
            anyhow!("--samples {missing}: {} has it, but it can't be read", data.name())
        })?;
        let columns = data.columns().or(self.detector.manifest().data.columns.as_deref());
        let names = entry_names(columns, &self.shape);
        for sample in &mut explained {
            let own = deviations.map(|d| in_deviations(&sample.map, d));
            sample.top = largest(&sample.map, own.as_ref(), &names, NAMED);
        }
        let mut files = vec![MAPS.to_owned(), OVERVIEW.to_owned(), REPORT.to_owned()];
        files.extend(explained.iter().map(|sample| folder::image(sample.index)));
        let in_sd = deviations.map(|_| sizes.deviations());
        let report = Report {
            detector: &args.with.detector,
            data: &args.data,
            samples,
            threshold: facts.threshold,
            maps: maps_path,
            overall: largest(&sizes.means(), in_sd.as_ref(), &names, NAMED),
            explained,
            files,
        };
        Ok((report, sizes, names))
    }
}

impl Drawing<'_> {
    /// The terms that add up to the score of a sample, the largest first.
    fn reasons(&self, scores: &Scores, sample: usize) -> Vec<Reason> {
        let evidence = |p: &&PartFacts| p.role == Role::Evidence;
        let Some(part) = self.detector.manifest().parts.iter().find(evidence) else {
            return Vec::new();
        };
        let Some(values) = scores.part(&part.name) else { return Vec::new() };
        let row = part.columns.iter().zip(values.row(sample));
        let mut reasons: Vec<Reason> = row
            .map(|(term, &evidence)| Reason { term: term.clone(), evidence })
            .filter(|reason| reason.evidence > 0.0)
            .collect();
        reasons.sort_by(|a, b| b.evidence.total_cmp(&a.evidence));
        reasons
    }
}

/// The parts of the score of a sample that are one number.
fn single_parts(scores: &Scores, sample: usize) -> BTreeMap<String, f32> {
    let single = scores.parts.iter().filter(|(_, values)| values.ncols() == 1);
    single.map(|(name, values)| (name.clone(), values[[sample, 0]])).collect()
}

/// Columns by what they contribute in all samples.
fn ranking(overall: &[Part]) -> String {
    let in_sd = overall.iter().any(|part| part.deviations.is_some());
    let mut table = Table::default().right(&[1, 2]);
    let mut head = vec!["column"];
    head.extend(in_sd.then_some("contribution (SD)"));
    head.push("mean size");
    table.row(head);
    for part in overall {
        let mut row = vec![part.name.clone()];
        row.extend(part.deviations.map(|d| format!("{d:.2}")));
        row.push(number(f64::from(part.value)));
        table.row(row);
    }
    let unit = if in_sd {
        "SD: root mean square in standard deviations of calibration samples, for which it is 1\n"
    } else {
        "mean size: how much of the score goes up or down with this column, on average\n"
    };
    table.render(0) + unit
}

fn render(report: &Report<'_>, is_image: bool) -> String {
    let mut text = String::new();
    if !is_image {
        text += &ranking(&report.overall);
        text += "\n";
    }
    let mut samples = Table::default().right(&[0, 1, 2, 4]);
    let beyond = format!("beyond {}", number(report.threshold));
    let with_reasons = report.explained.iter().any(|s| !s.reasons.is_empty());
    let mut head = vec!["sample", "score", "p", "flag", &beyond];
    head.extend(with_reasons.then_some("reasons"));
    head.push("largest contributions");
    samples.row(head);
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
        let mut row = vec![
            sample.index.to_string(),
            number(f64::from(sample.score)),
            format!("{:.4}", sample.p_value),
            if sample.flag { "yes" } else { "-" }.to_owned(),
            sample.beyond.to_string(),
        ];
        let reasons = sample.reasons.iter().take(3);
        let reasons: Vec<String> =
            reasons.map(|r| format!("{} {:.1}", r.term, r.evidence)).collect();
        row.extend(with_reasons.then(|| reasons.join(", ")));
        row.push(parts.join("; "));
        samples.row(row);
    }
    text + &samples.render(0)
}
