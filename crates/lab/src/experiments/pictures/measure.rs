//! How well maps find marked places, at the size of the masks.

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use taste_stats::rank::{Grid, Pixels, Ranked};

use super::{Picture, resized};
use crate::{Cell, Error};

/// The largest share of wrongly found pixels that truncated metrics look at.
const LIMIT: f64 = 0.3;

/// What maps are worth.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Located {
    pub(crate) pixel_auroc: f64,
    pub(crate) pixel_precision: f64,
    /// The per-region overlap up to [`LIMIT`].
    pub(crate) overlap: f64,
    /// Up to [`LIMIT`], divided by it.
    pub(crate) pixel_auroc_truncated: f64,
    pub(crate) pixel_precision_truncated: f64,
    /// The per-region overlap over all shares.
    pub(crate) overlap_whole: f64,
    pub(crate) image_auroc: f64,
    pub(crate) image_precision: f64,
}

impl Located {
    /// The means of several.
    pub(crate) fn mean(all: &[Self]) -> Self {
        let of = |number: fn(&Self) -> f64| all.iter().map(number).sum::<f64>() / all.len() as f64;
        Self {
            pixel_auroc: of(|l| l.pixel_auroc),
            pixel_precision: of(|l| l.pixel_precision),
            overlap: of(|l| l.overlap),
            pixel_auroc_truncated: of(|l| l.pixel_auroc_truncated),
            pixel_precision_truncated: of(|l| l.pixel_precision_truncated),
            overlap_whole: of(|l| l.overlap_whole),
            image_auroc: of(|l| l.image_auroc),
            image_precision: of(|l| l.image_precision),
        }
    }

    /// A row of a table with the heading of [`columns`].
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let all = [
            self.pixel_auroc,
            self.pixel_precision,
            self.overlap,
            self.pixel_auroc_truncated,
            self.pixel_precision_truncated,
            self.image_auroc,
            self.image_precision,
        ];
        all.iter().map(|&v| Cell::from((v, 3))).collect()
    }
}

/// The headings of [`Located::cells`].
pub(crate) fn columns() -> [&'static str; 7] {
    [
        "pixel AUROC",
        "pixel AP",
        "AUPRO",
        "pixel AUROC, FPR ≤ .3",
        "pixel AP, FPR ≤ .3",
        "image AUROC",
        "image AP",
    ]
}

/// Of maps of pictures; the score of a picture is the largest value of its map.
pub(crate) fn measure(maps: &[Array2<f32>], pictures: &[Picture]) -> Result<Located, Error> {
    let mut grids = Vec::new();
    for (map, picture) in maps.iter().zip(pictures) {
        let size = pictures.iter().find_map(|p| p.mask.as_ref()).map_or(map.dim(), Array2::dim);
        let size = picture.mask.as_ref().map_or(size, Array2::dim);
        let marked = picture.mask.as_ref().map(|m| m.iter().copied().collect::<Vec<bool>>());
        let scores: Vec<f32> = resized(map, size).into_iter().collect();
        grids.push((size.1, scores, marked.unwrap_or_default()));
    }
    let views: Vec<Grid<'_>> = grids
        .iter()
        .map(|(width, scores, marked)| Grid { width: *width, scores, marked })
        .collect();
    let pixels = Pixels::new(&views)?;
    let largest = |map: &Array2<f32>| map.iter().fold(f64::NEG_INFINITY, |m, v| m.max((*v).into()));
    let scores: Vec<f64> = maps.iter().map(largest).collect();
    let is_marked: Vec<bool> = pictures.iter().map(|p| p.mask.is_some()).collect();
    let ranked = Ranked::of(&scores, &is_marked);
    let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
    Ok(Located {
        pixel_auroc: or_nan(pixels.auroc(1.0)),
        pixel_precision: or_nan(pixels.average_precision(1.0)),
        overlap: or_nan(pixels.region_overlap(LIMIT)),
        pixel_auroc_truncated: or_nan(pixels.auroc(LIMIT)),
        pixel_precision_truncated: or_nan(pixels.average_precision(LIMIT)),
        overlap_whole: or_nan(pixels.region_overlap(1.0)),
        image_auroc: or_nan(ranked.auroc()),
        image_precision: or_nan(ranked.average_precision()),
    })
}
