//! The files that stay.

use std::path::{Path, PathBuf};

use anyhow::Result;
use ndarray::{ArrayD, Axis};
use taste_data::npy::{Element, Writer};

use super::{
    Seeds,
    change::{Change, Glyphs},
    glyphs::Found,
    plane::Plane,
};
use crate::files::{self, NewFolder};

/// How many of the samples in `glyphs-new.npy` are fresh, and how many are struck out.
const NEW: usize = 100;
/// The folder of the batches that were changed and have labels.
pub(super) const SHIFTS: &str = "shifts";

/// Writes everything but the report, each file as a whole, and tells what there is.
pub(super) fn all(
    plane: &Plane,
    found: &Found,
    folder: &Path,
    seeds: Seeds,
) -> Result<Vec<PathBuf>> {
    let new = seeds.of("glyphs, left");
    let (fresh, struck) = (Change::Nothing.batch(new, NEW), Change::Struck.batch(!new, NEW));
    let new = ndarray::concatenate(Axis(0), &[fresh.images.view(), struck.images.view()])?;
    let models = ["plane.onnx", "plane-detector.onnx", "glyphs.onnx", "glyphs-detector.onnx"]
        .map(|name| folder.join(name));
    plane.model.onnx().save(&models[0])?;
    plane.detector.save(&models[1])?;
    found.model.onnx().save(&models[2])?;
    found.detector.save(&models[3])?;
    let mut files = Vec::from(models);
    files.extend(glyphs(folder, "glyphs-train", &found.train)?);
    files.extend(glyphs(folder, "glyphs-calibration", &found.calibration)?);
    files.push(array(folder.join("glyphs-new.npy"), &new)?);
    let shifts = folder.join(SHIFTS);
    let made = NewFolder::make("--out", &shifts)?;
    for row in &found.rows {
        files.extend(match row.change {
            Change::Nothing => glyphs(folder, "glyphs-fresh", &row.glyphs)?,
            Change::Unseen => glyphs(folder, "glyphs-unseen", &row.glyphs)?,
            change => glyphs(&shifts, &change.name().replace(' ', "-"), &row.glyphs)?,
        });
    }
    made.keep();
    Ok(files)
}

pub(super) fn report(path: &Path, html: &str) -> Result<()> {
    files::write(path, html.as_bytes())
}

/// Images, with their classes beside them if they have any.
fn glyphs(folder: &Path, name: &str, glyphs: &Glyphs) -> Result<Vec<PathBuf>> {
    let images = array(folder.join(format!("{name}.npy")), &glyphs.images)?;
    let Some(classes) = glyphs.classes() else { return Ok(vec![images]) };
    let labels = folder.join(format!("{name}-labels.npy"));
    Ok(vec![images, array(labels, &ArrayD::from_shape_vec(vec![classes.len()], classes)?)?])
}

fn array<T: Element>(path: PathBuf, values: &ArrayD<T>) -> Result<PathBuf> {
    let mut writer = Writer::create(&path, values.shape())?;
    writer.append(&values.view())?;
    writer.finish()?;
    Ok(path)
}
