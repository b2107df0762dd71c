use std::path::{Path, PathBuf};

use taste_data::Options;
use taste_detector::{Error, Progress, Stage};

use super::{Folder, Key, fingerprint};
use crate::{
    corruptions::{Recipe, Source, write},
    evaluation::Truth,
};

/// A set that was made of clean samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its name, with the mark of its group in front: `C/fog`.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
}

/// Corrupts clean samples, at most `most` of them, and keeps what comes out in the folder. What is there already is not
/// made again. `options` are those that the samples are read with.
pub fn corrupted(
    folder: &Folder,
    clean: &Path,
    options: &Options,
    recipes: &[Recipe],
    most: Option<usize>,
    progress: &Progress<'_>,
) -> Result<Vec<Made>, Error> {
    if recipes.is_empty() {
        return Ok(Vec::new());
    }
    // The shape that the model wants is a matter of reading what was written.
    let source = Source::open(clean, &Options { sample_shape: None, ..options.clone() })?;
    let data = fingerprint(source.data(), Truth::Unknown)?;
    let make = |recipe: &Recipe| -> Result<Made, Error> {
        let (text, corruption) = (recipe.text(), recipe.corruption());
        let key = Key::of(&(env!("CARGO_PKG_VERSION"), &data, &text, recipe.seed(), most))?;
        let path = folder.set_path(&text, &key);
        if !path.is_file() {
            let purpose = format!("samples with {text}");
            let hear = |stage: Stage<'_>| progress(Stage { purpose: &purpose, ..stage });
            write(&source, recipe, most, &path, &hear)?;
        }
        let plain = corruption.choice.name.trim_start_matches("p-");
        let strength = text.strip_prefix(corruption.choice.name).unwrap_or_default();
        let strength = if strength == ":mixed" { "" } else { strength };
        Ok(Made { name: format!("{}/{plain}{strength}", corruption.suite.mark()), path })
    };
    recipes.iter().map(make).collect()
}
