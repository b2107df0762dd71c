use std::path::{Path, PathBuf};

use taste_data::{Options, Samples};
use taste_detector::{Error, Progress, Stage};

use super::{Folder, Key, fingerprint};
use crate::{
    attacks::{self, Attacker, Ball, Bounds, Victim},
    corruptions::{Recipe, Source, write},
    evaluation::Truth,
};

/// A set that was made of clean samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// Its name, with the mark of its group in front: `C/fog`.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// How it is read.
    pub options: Options,
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
        let name = format!("{}/{plain}{strength}", corruption.suite.mark());
        Ok(Made { name, path, options: options.clone() })
    };
    recipes.iter().map(make).collect()
}

/// The mark of the group of attacks.
const ATTACKED: &str = "A";

/// Attacks clean samples and keeps what comes out in the folder. What is there already is not made again, and an attack that
/// was stopped goes on. They are led away from the labels that they carry, or from the model's own answers. `options` are
/// those that the outcome is read with, which has the model's shape.
pub fn attacked(
    folder: &Folder,
    victim: &Victim,
    clean: &dyn Samples,
    bounds: &Bounds,
    (recipes, seed): (&[attacks::Recipe], u64),
    options: &Options,
    progress: &Progress<'_>,
) -> Result<Vec<Made>, Error> {
    if recipes.is_empty() {
        return Ok(Vec::new());
    }
    let data = fingerprint(clean, Truth::Own)?;
    let facts = (env!("CARGO_PKG_VERSION"), victim.fingerprint(), victim.normalisation());
    let about = Key::of(&(facts, bounds, seed))?.with(&data);
    let make = |recipe: &attacks::Recipe| -> Result<Made, Error> {
        let how = (recipe.attack().written(), recipe.norm(), recipe.eps().to_bits());
        let text = recipe.to_string();
        let path = folder.set_path(&text, &about.with(&Key::of(&how)?));
        if !path.is_file() {
            let purpose = format!("samples under {text}");
            let hear = |stage: Stage<'_>| progress(Stage { purpose: &purpose, ..stage });
            let ball = Ball::new(recipe.norm(), recipe.eps(), bounds.clone())?;
            let attack = recipe.attack().clone();
            Attacker::new(victim, attack, ball, seed)?.write(clean, &path, &hear)?;
        }
        Ok(Made { name: format!("{ATTACKED}/{text}"), path, options: options.clone() })
    };
    recipes.iter().map(make).collect()
}
