//! The files that stay.

use std::path::{Path, PathBuf};

use anyhow::Result;
use ndarray::{ArrayD, Axis};
use taste_data::npy::Writer;

use super::{Seeds, change::Change, glyphs::Found, plane::Plane};
use crate::files;

/// How many of the samples in `glyphs-new.npy` are fresh, and how many are struck out.
const NEW: usize = 100;

/// Writes everything but the report, each file as a whole, and tells what there is.
pub(super) fn all(
    plane: &Plane,
    found: &Found,
    folder: &Path,
    seeds: Seeds,
) -> Result<Vec<PathBuf>> {
    let path = |name: &str| folder.join(name);
    let new = seeds.of("glyphs, left");
    let (fresh, struck) = (Change::Nothing.batch(new, NEW), Change::Struck.batch(!new, NEW));
    let new = ndarray::concatenate(Axis(0), &[fresh.images.view(), struck.images.view()])?;
    plane.model.onnx().save(&path("plane.onnx"))?;
    plane.detector.save(&path("plane-detector.onnx"))?;
    found.model.onnx().save(&path("glyphs.onnx"))?;
    found.detector.save(&path("glyphs-detector.onnx"))?;
    array(&path("glyphs-train.npy"), &found.train)?;
    array(&path("glyphs-calibration.npy"), &found.calibration)?;
    array(&path("glyphs-new.npy"), &new)?;
    let names = [
        "plane.onnx",
        "plane-detector.onnx",
        "glyphs.onnx",
        "glyphs-detector.onnx",
        "glyphs-train.npy",
        "glyphs-calibration.npy",
        "glyphs-new.npy",
    ];
    Ok(names.map(path).into())
}

pub(super) fn report(path: &Path, html: &str) -> Result<()> {
    files::write(path, html.as_bytes())
}

fn array(path: &Path, values: &ArrayD<f32>) -> Result<()> {
    let mut writer = Writer::create(path, values.shape())?;
    writer.append(&values.view())?;
    Ok(writer.finish()?)
}
