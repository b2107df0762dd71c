use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use taste_data::Options;
use taste_detector::{Error, refused};

/// A whole benchmark as a file holds it. Paths are relative to the file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Plan {
    /// The model.
    pub model: Option<PathBuf>,
    /// Training data.
    pub train: Option<PathBuf>,
    /// Labels of the training data: a file, or a column of a table.
    pub labels: Option<String>,
    /// Samples that calibrate.
    pub calibration: Option<PathBuf>,
    /// Clean samples.
    pub id: Option<PathBuf>,
    /// Labels of the clean samples: a file, a column of a table, or `own`.
    pub id_labels: Option<String>,
    /// Shifted sets by name.
    pub ood: BTreeMap<String, PathBuf>,
    /// Corruptions of the clean samples, or whole suites of them.
    pub corruptions: Vec<String>,
    /// Attacks on the clean samples.
    pub attacks: Vec<String>,
    /// Methods; `all` are all.
    pub methods: Vec<String>,
    /// The most samples of a set.
    pub samples: Option<usize>,
    /// The false-positive rate.
    pub alpha: Option<f64>,
    /// The most samples that are held out.
    pub held_out: Option<usize>,
    /// The tensor that methods on features look at.
    pub features: Option<String>,
    /// The seed of every draw.
    pub seed: Option<u64>,
    /// How files become samples.
    pub reading: Option<Options>,
}

impl Plan {
    /// Reads a file in TOML.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let name = path.display();
        let text = std::fs::read_to_string(path).map_err(|e| refused(format!("{name}: {e}")))?;
        let plan: Self = toml::from_str(&text).map_err(|e| {
            let line = e.span().map(|span| 1 + text[..span.start].matches('\n').count());
            let line = line.map_or_else(String::new, |line| format!("line {line}: "));
            refused(format!("{name}: {line}{}", e.message().replace('\n', " ")))
        })?;
        Ok(plan.beside(path.parent().unwrap_or(Path::new(""))))
    }

    /// With paths from a folder.
    fn beside(mut self, folder: &Path) -> Self {
        let paths = [&mut self.model, &mut self.train, &mut self.calibration, &mut self.id];
        for path in paths.into_iter().flatten() {
            *path = folder.join(&path);
        }
        for path in self.ood.values_mut() {
            *path = folder.join(&path);
        }
        for labels in [&mut self.labels, &mut self.id_labels] {
            if let Some(text) = labels
                && folder.join(&text).is_file()
            {
                *text = folder.join(&text).to_string_lossy().into_owned();
            }
        }
        self
    }
}
