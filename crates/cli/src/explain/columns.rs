//! Tables: columns ranked by their parts, as bars.

use anyhow::Result;
use ndarray::ArrayD;
use taste_report::{Bars, Figure};
use taste_stein::MapFacts;

use super::{Explained, Overall, folder::OVERVIEW};
use crate::{
    args::ExplainArgs,
    files,
    table::{count, number, percent},
};

/// Columns that a chart shows.
const SHOWN: usize = 12;

/// Parts in standard deviations of calibration samples. A part that never varied there and is not zero now is infinitely
/// many of them off.
pub(super) fn in_deviations(map: &ArrayD<f32>, deviations: &[f32]) -> ArrayD<f32> {
    let mut scaled = map.clone();
    for (part, &deviation) in scaled.iter_mut().zip(deviations) {
        *part = if *part == 0.0 { 0.0 } else { *part / deviation };
    }
    scaled
}

/// Bars for every sample, and for all.
pub(super) fn bars(
    args: &ExplainArgs,
    explained: &[Explained],
    names: &[String],
    overall: &Overall,
    facts: &MapFacts,
    deviations: &[f32],
) -> Result<usize> {
    let ranked = |title: String, values: &ArrayD<f32>| {
        Bars::new(title, names.iter().cloned().zip(values.iter().map(|&v| f64::from(v))))
    };
    let thresholds = || deviations.iter().map(|&d| facts.threshold / f64::from(d));
    for sample in explained {
        let name = sample.file.clone().unwrap_or_else(|| format!("sample {}", sample.index));
        let verdict = if sample.flag { "flagged" } else { "not flagged" };
        let beyond = match sample.beyond {
            0 => "no part is".to_owned(),
            1 => "one part is".to_owned(),
            n => format!("{n} parts are"),
        };
        let figure = ranked(
            format!("{name}: {verdict}, p = {:.4}", sample.p_value),
            &in_deviations(&sample.map, deviations),
        )
        .label("part of the residual, in standard deviations of calibration samples")
        .marks(
            format!(
                "threshold: a part of ±{}, which the largest part of {} % of calibration samples stays below",
                number(facts.threshold),
                percent(1.0 - facts.alpha)
            ),
            thresholds(),
        )
        .note(format!(
            "The parts add up to the residual, {}; {beyond} beyond the threshold.",
            number(f64::from(sample.residual))
        ))
        .ranked(SHOWN);
        files::write(&sample.picture, &figure.to_png()?)?;
    }
    let figure = ranked("Columns by the size of their part".to_owned(), &overall.deviations)
        .label("root mean square part, in standard deviations of calibration samples")
        .level(1.0, "calibration data")
        .note(format!("{} of {}.", count(overall.samples, "sample"), args.data.display()))
        .ranked(SHOWN);
    files::write(&args.out.join(OVERVIEW), &figure.to_png()?)?;
    Ok(explained.len() + 1)
}
