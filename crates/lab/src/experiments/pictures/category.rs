//! Categories of `MVTec` AD: good pictures to train on, test pictures of several kinds, and masks.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ndarray::{Array2, ArrayD, Axis};
use taste_data::{Dataset, Options, Resize, Samples as _};

use super::{Picture, Pictures};
use crate::{
    Error,
    error::{at, refused},
};

/// The folders of categories: those with good pictures to train on and pictures to test.
pub(crate) fn categories(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = subfolders(folder)?;
    found.retain(|f| f.join("train/good").is_dir() && f.join("test").is_dir());
    if found.is_empty() {
        return Err(refused(format!(
            "{}: no folder in it has train/good and test, as those of MVTec AD have",
            folder.display()
        )));
    }
    Ok(found)
}

fn subfolders(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        found.extend(path.is_dir().then_some(path));
    }
    found.sort();
    Ok(found)
}

/// The pictures of a category.
pub(crate) struct Category {
    pub(crate) train: ArrayD<f32>,
    pub(crate) test: Pictures,
}

impl Category {
    /// At most so many pictures of each kind to test, and twelve times as many to train on.
    pub(crate) fn open(folder: &Path, shape: &[usize], most: usize) -> Result<Self, Error> {
        let train = pictures(&folder.join("train/good"), shape, most.saturating_mul(12))?;
        let (mut values, mut of) = (Vec::new(), Vec::new());
        for kind_folder in subfolders(&folder.join("test"))? {
            let kind = kind_folder
                .file_name()
                .map_or_else(String::new, |n| n.to_string_lossy().into_owned());
            let own = pictures(&kind_folder, shape, most)?;
            let count = own.shape()[0];
            values.push(own);
            let truth = folder.join("ground_truth").join(&kind);
            if kind == "good" {
                of.extend((0..count).map(|_| Picture { kind: kind.clone(), mask: None }));
                continue;
            }
            let masks = masks(&truth, most)?;
            if masks.len() != count {
                return Err(refused(format!(
                    "{}: {} masks for the {count} pictures of {}",
                    truth.display(),
                    masks.len(),
                    kind_folder.display()
                )));
            }
            of.extend(
                masks.into_iter().map(|mask| Picture { kind: kind.clone(), mask: Some(mask) }),
            );
        }
        let views: Vec<_> = values.iter().map(|part| part.view()).collect();
        let values = ndarray::concatenate(Axis(0), &views).map_err(|e| refused(e.to_string()))?;
        Ok(Self { train, test: Pictures { values, of } })
    }

    /// What results depend on.
    pub(crate) fn facts(&self) -> (usize, usize, f64) {
        let sum = |a: &ArrayD<f32>| a.iter().map(|&v| f64::from(v)).sum::<f64>();
        (self.train.shape()[0], self.test.of.len(), sum(&self.train) + 2.0 * sum(&self.test.values))
    }
}

/// The pictures of a folder by name, as the model takes them.
fn pictures(folder: &Path, shape: &[usize], most: usize) -> Result<ArrayD<f32>, Error> {
    let resize = match *shape {
        [_, height, width] => Some(Resize::To(height, width)),
        _ => return Err(refused("the model takes no pictures with channels")),
    };
    let options = Options { sample_shape: Some(shape.to_vec()), resize, ..Options::default() };
    all_of(folder, &options, most)
}

fn all_of(folder: &Path, options: &Options, most: usize) -> Result<ArrayD<f32>, Error> {
    let data = Dataset::open(folder, options)?;
    let mut parts = Vec::new();
    for chunk in data.chunks(64)? {
        parts.push(chunk?.values);
        if parts.len() * 64 >= most {
            break;
        }
    }
    let views: Vec<_> = parts.iter().map(|p| p.view()).collect();
    let mut all = ndarray::concatenate(Axis(0), &views).map_err(|e| refused(e.to_string()))?;
    let count = all.shape()[0].min(most);
    all.slice_axis_inplace(Axis(0), ndarray::Slice::from(..count));
    Ok(all)
}

/// The masks of a folder: white is marked.
fn masks(folder: &Path, most: usize) -> Result<Vec<Array2<bool>>, Error> {
    let all = all_of(folder, &Options::default(), most)?;
    let planes = taste_detector::over_channels(&all);
    let plane = |mask: ndarray::ArrayViewD<'_, f32>| {
        let mask =
            mask.into_dimensionality::<ndarray::Ix2>().map_err(|e| refused(e.to_string()))?;
        Ok(mask.mapv(|v| v > 0.5))
    };
    planes.axis_iter(Axis(0)).map(plane).collect()
}
