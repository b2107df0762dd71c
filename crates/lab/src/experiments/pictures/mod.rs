//! Pictures with marked places, maps of them, and how well the maps find the places.

mod category;
mod defects;
mod measure;
mod planes;
mod ways;

use ndarray::{Array2, ArrayD, ArrayView3, Axis, Ix3};
use taste_report::{Heatmap, Image, Panel, Scale};

use crate::{Error, error::refused};

pub(super) use category::{Category, categories};
pub(super) use defects::{DEFECTS, marked};
pub(super) use measure::{Located, columns, measure};
pub(super) use planes::{blurred, resized};
pub(super) use ways::{Way, detector, maps};

/// A picture: what kind it is, and where it is marked.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    pub(super) kind: String,
    /// None for a good one.
    pub(super) mask: Option<Array2<bool>>,
}

/// Pictures as a model takes them.
#[derive(Clone, Debug)]
pub(super) struct Pictures {
    /// N × channels × height × width.
    pub(super) values: ArrayD<f32>,
    pub(super) of: Vec<Picture>,
}

impl Pictures {
    /// One picture: channels × height × width.
    pub(super) fn picture(&self, at: usize) -> Option<ArrayView3<'_, f32>> {
        self.values.index_axis(Axis(0), at).into_dimensionality::<Ix3>().ok()
    }

    /// The first picture of every kind.
    pub(super) fn one_of_each(&self) -> Vec<usize> {
        let is_first = |&i: &usize| !self.of[..i].iter().any(|p| p.kind == self.of[i].kind);
        (0..self.of.len()).filter(is_first).collect()
    }

    /// Some pictures, each with its map of a size, row by row, what lies above a threshold, and the marked places.
    pub(super) fn panels(
        &self,
        shown: &[(usize, Vec<f32>)],
        size: (usize, usize),
        threshold: f64,
        title: &str,
    ) -> Result<Heatmap, Error> {
        let all = shown.iter().flat_map(|s| s.1.iter().map(|&v| f64::from(v)));
        let scale = Scale::sequential_for(all.collect::<Vec<_>>(), 0.995);
        let mut panels = Vec::new();
        for (at, map) in shown {
            let Some(view) = self.picture(*at) else { continue };
            let map = Array2::from_shape_vec(size, map.clone());
            let map = map.map_err(|e| refused(e.to_string()))?;
            let image = Image::from_sample(&view, 0.0, 1.0)?;
            let Picture { kind, mask } = &self.of[*at];
            let outlined = |values: Array2<f32>, threshold: f64| {
                Panel::map(values).outline(threshold).over(image.clone()).unshaded()
            };
            // An outline above all values draws nothing, on the same scale as the others.
            let marked = match mask {
                Some(mask) => mask.mapv(|m| if m { f32::MAX } else { f32::MIN }),
                None => Array2::from_elem(map.dim(), f32::MIN),
            };
            panels.push(Panel::image(image.clone()).caption(kind.clone()));
            panels.push(Panel::map(map.clone()).caption("map"));
            panels.push(outlined(map.clone(), threshold).caption("above the threshold"));
            panels.push(outlined(marked, 0.0).caption("marked"));
        }
        Ok(Heatmap::grid(panels, 4, scale).title(title).label("map"))
    }
}
