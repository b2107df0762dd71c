//! Images: maps beside and over the input.

use anyhow::Result;
use ndarray::{Array2, ArrayD, ArrayView2, Axis, Ix2, Ix3};
use taste_data::Options;
use taste_detector::{MapFacts, channel_axis};
use taste_report::{Figure, Heatmap, Image, Panel, Scale};

use super::{Explained, folder::OVERVIEW};
use crate::{
    args::ExplainArgs,
    files,
    table::{count, number},
};

/// An image for every sample, and one of all.
pub(super) fn images(
    args: &ExplainArgs,
    explained: &[Explained],
    facts: &MapFacts,
    options: &Options,
) -> Result<usize> {
    let (scale, threshold) = (scale(facts), facts.threshold);
    let label = if facts.one_sided { "evidence" } else { "contribution" };
    let mut panels = Vec::new();
    for sample in explained {
        let map: Array2<f32> = sample.map.clone().into_dimensionality::<Ix2>()?;
        let image = as_image(&sample.values, options);
        let caption = format!("sample {}: p = {:.4}", sample.index, sample.p_value);
        let over = |map: Array2<f32>| {
            let panel = Panel::map(map).outline(threshold);
            match &image {
                Some(image) if facts.one_sided => panel.over(image.clone()).unshaded(),
                Some(image) => panel.over(image.clone().in_grey()),
                None => panel,
            }
        };
        let mut own = Vec::new();
        own.extend(image.clone().map(|p| Panel::image(p).caption("input")));
        own.push(Panel::map(map.clone()).outline(threshold).caption("map"));
        own.push(over(map.clone()).caption(if facts.one_sided { "outline" } else { "overlay" }));
        let columns = own.len();
        let name = sample.file.clone().unwrap_or_else(|| format!("sample {}", sample.index));
        let verdict = if sample.flag { "flagged" } else { "not flagged" };
        let figure = Heatmap::grid(own, columns, scale)
            .title(format!("{name}: {verdict}, p = {:.4}", sample.p_value))
            .label(label);
        files::write(&sample.image, &figure.to_png()?)?;
        panels.push(over(map).caption(caption));
    }
    let grid = Heatmap::grid(panels, 4, scale)
        .title(format!(
            "Where {} differ; outlined: beyond {}",
            count(explained.len(), "sample"),
            number(threshold)
        ))
        .label(label);
    files::write(&args.out.join(OVERVIEW), &grid.to_png()?)?;
    Ok(explained.len() + 1)
}

/// Colours of maps: from the least evidence on, or from negative contributions to positive ones.
pub(crate) fn scale(facts: &MapFacts) -> Scale {
    let limit = facts.scale.max(facts.threshold);
    if facts.one_sided { Scale::sequential(0.0, limit) } else { Scale::diverging(limit) }
}

/// The sample as an image in [0, 1], if it has one channel or three.
pub(crate) fn as_image(values: &ArrayD<f32>, options: &Options) -> Option<Image> {
    let at = |list: &[f32], c: usize, default: f32| {
        list.get(c).or(list.first()).copied().unwrap_or(default)
    };
    if let Ok(grey) = values.view().into_dimensionality::<Ix2>() {
        let (low, high) = limits(&grey);
        return Some(Image::grey(&grey, low, high));
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
    Image::from_sample(&sample.view(), low, high).ok()
}

/// 0 and 1 for what lies within, else the smallest and the largest value.
fn limits(values: &ArrayView2<'_, f32>) -> (f32, f32) {
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let (low, high) =
        (finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max));
    if low >= -0.01 && high <= 1.01 { (0.0, 1.0) } else { (low, high) }
}
