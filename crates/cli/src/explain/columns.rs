//! Tables: columns ranked by their parts, as bars.

use anyhow::Result;
use ndarray::ArrayD;
use taste_detector::{
    MapFacts,
    explain::{Sizes, in_deviations},
};
use taste_report::{Bars, Figure};

use super::{Explained, folder::OVERVIEW};
use crate::{
    args::ExplainArgs,
    files,
    table::{count, number, percent},
};

/// Columns that a chart shows.
const SHOWN: usize = 12;

/// Bars for every sample, and for all.
pub(super) fn bars(
    args: &ExplainArgs,
    explained: &[Explained],
    names: &[String],
    overall: &Sizes,
    facts: &MapFacts,
    deviations: Option<&[f32]>,
) -> Result<usize> {
    let unit = if deviations.is_some() {
        ", in standard deviations of calibration samples"
    } else {
        ", in units of the score"
    };
    let ranked = |title: String, values: &ArrayD<f32>| {
        Bars::new(title, names.iter().cloned().zip(values.iter().map(|&v| f64::from(v))))
    };
    let thresholds =
        || (0..names.len()).map(|i| facts.threshold / deviations.map_or(1.0, |d| d[i].into()));
    for sample in explained {
        let name = sample.file.clone().unwrap_or_else(|| format!("sample {}", sample.index));
        let verdict = if sample.flag { "flagged" } else { "not flagged" };
        let figure = ranked(
            format!("{name}: {verdict}, p = {:.4}", sample.p_value),
            &deviations.map_or_else(|| sample.map.clone(), |d| in_deviations(&sample.map, d)),
        )
        .label(format!("contribution{unit}"))
        .marks(
            format!(
                "threshold: ±{}, which the largest contribution of {} % of calibration samples stays below",
                number(facts.threshold),
                percent(1.0 - facts.alpha)
            ),
            thresholds(),
        )
        .note(format!(
            "{}Beyond the threshold: {}.",
            sample.parts.get("residual").map_or_else(String::new, |residual| format!(
                "The contributions add up to the residual, {}. ",
                number(f64::from(*residual))
            )),
            beyond(&sample.map, names, facts.threshold)
        ))
        .ranked(SHOWN);
        files::write(&sample.image, &figure.to_png()?)?;
    }
    let title = "Columns by the size of their contribution".to_owned();
    let figure = match deviations {
        Some(_) => ranked(title, &overall.deviations())
            .label(format!("root mean square contribution{unit}"))
            .level(1.0, "calibration data"),
        None => {
            ranked(title, &overall.means()).label(format!("mean size of the contribution{unit}"))
        }
    };
    let figure = figure
        .note(format!("{} of {}.", count(overall.samples(), "sample"), args.data.display()))
        .ranked(SHOWN);
    files::write(&args.out.join(OVERVIEW), &figure.to_png()?)?;
    Ok(explained.len() + 1)
}

/// The columns whose parts are beyond the threshold, the largest first: not all need be among those with the most
/// deviations.
fn beyond(map: &ArrayD<f32>, names: &[String], threshold: f64) -> String {
    const NAMED: usize = 4;
    let sizes = map.iter().map(|v| f64::from(v.abs()));
    let mut found: Vec<(f64, &str)> = sizes
        .zip(names)
        .filter(|(size, _)| *size > threshold)
        .map(|(s, n)| (s, n.as_str()))
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let named: Vec<&str> = found.iter().take(NAMED).map(|f| f.1).collect();
    match found.len() {
        0 => "none".to_owned(),
        n if n > NAMED => format!("{} and {} more", named.join(", "), n - NAMED),
        _ => named.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn columns_beyond_the_threshold_are_named() {
        let names: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec();
        let map = array![1.0f32, -3.0, f32::NAN, 2.0, -1.5, 4.0].into_dyn();
        assert_eq!(beyond(&map, &names, 9.0), "none");
        assert_eq!(beyond(&map, &names, 2.5), "f, b");
        assert_eq!(beyond(&map, &names, 0.5), "f, b, d, e and 1 more");
    }

    #[test]
    fn a_part_that_never_varied_is_infinitely_far_off() {
        let map = array![3.0f32, 0.0, -1.0].into_dyn();
        let scaled = in_deviations(&map, &[2.0, 0.0, 0.0]);
        assert_eq!(scaled, array![1.5f32, 0.0, f32::NEG_INFINITY].into_dyn());
    }
}
