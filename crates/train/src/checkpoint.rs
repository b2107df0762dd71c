//! A run in a file, to go on from: weights, moments and counts as safetensors, with a checksum of them all.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ndarray::{ArrayD, IxDyn};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use taste_engine::Value;
use taste_files::AtomicFile;

use crate::{
    Error, Point,
    adam::Adam,
    state::{State, Weights},
    trained::HeldOut,
};

/// The version of the file's layout.
const FORMAT: u32 = 2;
/// The name of what is not a tensor.
const ENTRY: &str = "taste";
/// The name of the checksum.
const CHECKSUM: &str = "sha256";
/// Beside the tensors, a file holds less than this.
const REST: usize = 16 << 20;

/// Everything that the result of a run depends on, by name.
pub(crate) type Recipe = BTreeMap<String, String>;

#[derive(Serialize, Deserialize)]
struct Notes {
    format: u32,
    recipe: Recipe,
    step: usize,
    updates: u64,
    misses: usize,
    pending: (f64, usize),
    last: Option<HeldOut>,
    best: Option<HeldOut>,
    curve: Vec<Point>,
}

/// A file that a run is kept in.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    path: PathBuf,
    every: Duration,
    recipe: Recipe,
    saved: Instant,
    /// Why it could not be written the last time that it could not.
    unsaved: Option<String>,
}

impl Checkpoint {
    pub(crate) fn new(path: &Path, every: Duration, recipe: Recipe) -> Self {
        Self { path: path.to_owned(), every, recipe, saved: Instant::now(), unsaved: None }
    }

    fn fail(&self, message: impl Into<String>) -> Error {
        Error::Checkpoint { path: self.path.clone(), message: message.into() }
    }

    /// Whether it is time to save.
    pub(crate) fn is_due(&self) -> bool {
        self.saved.elapsed() >= self.every
    }

    /// Why it could not be written the last time that it could not.
    pub(crate) fn unsaved(&self) -> Option<&str> {
        self.unsaved.as_deref()
    }

    /// Fails if the file could not be written now.
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        // One that is started and dropped leaves nothing behind.
        AtomicFile::create(&self.path).map(|_| ()).map_err(|e| self.unwritable(&e))
    }

    fn unwritable(&self, error: &std::io::Error) -> Error {
        self.fail(format!("it can't be written: {error}"))
    }

    /// Writes the file if it can, and notes why if it can't: a run is worth more than its checkpoint.
    pub(crate) fn try_save(&mut self, state: &State) {
        if let Err(error) = self.save(state) {
            self.unsaved = Some(error.to_string());
            self.saved = Instant::now();
        }
    }

    /// Writes the file; the old one is there until the new one is whole.
    pub(crate) fn save(&mut self, state: &State) -> Result<(), Error> {
        let notes = Notes {
            format: FORMAT,
            recipe: self.recipe.clone(),
            step: state.step,
            updates: state.adam.updates,
            misses: state.misses,
            pending: state.pending,
            last: state.last.clone(),
            best: state.best.as_ref().map(|b| b.1.clone()),
            curve: state.curve.clone(),
        };
        let notes = serde_json::to_string(&notes).map_err(|e| self.fail(e.to_string()))?;
        let mut tensors: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
        let mut add =
            |kind: &str, name: &str, shape: &[usize], values: &mut dyn Iterator<Item = f32>| {
                let bytes = values.flat_map(f32::to_le_bytes).collect();
                tensors.push((format!("{kind}/{name}"), shape.to_vec(), bytes));
            };
        let sets = [
            ("weight", Some(&state.weights)),
            ("average", state.average.as_ref()),
            ("best", state.best.as_ref().map(|b| &b.0)),
        ];
        for (kind, weights) in sets {
            for (name, value) in weights.into_iter().flatten() {
                add(kind, name, value.shape(), &mut value.to_f32().into_iter());
            }
        }
        let moments = state.adam.means.iter().zip(&state.adam.squares);
        for ((name, value), (means, squares)) in state.weights.iter().zip(moments) {
            add("mean", name, value.shape(), &mut means.iter().copied());
            add("square", name, value.shape(), &mut squares.iter().copied());
        }
        let views = tensors.iter().map(|(name, shape, bytes)| {
            TensorView::new(Dtype::F32, shape.clone(), bytes).map(|view| (name.as_str(), view))
        });
        let views = views.collect::<Result<Vec<_>, _>>().map_err(|e| self.fail(e.to_string()))?;
        let checksum = checksum(&notes, &views);
        let entry = [(ENTRY.to_owned(), notes), (CHECKSUM.to_owned(), checksum)].into();
        let bytes =
            safetensors::serialize(views, Some(entry)).map_err(|e| self.fail(e.to_string()))?;
        self.replace(&bytes).map_err(|e| self.unwritable(&e))?;
        self.saved = Instant::now();
        Ok(())
    }

    fn replace(&self, bytes: &[u8]) -> std::io::Result<()> {
        let mut file = AtomicFile::create(&self.path)?;
        file.write_all(bytes)?;
        file.commit()
    }

    /// What the file holds, in the form of a state at the start of the same run; nothing if there is no file.
    pub(crate) fn load(&self, start: &State) -> Result<Option<State>, Error> {
        let count: usize =
            start.weights.iter().map(|w| w.1.shape().iter().product::<usize>()).sum();
        let most = count.saturating_mul(4 * 5).saturating_add(REST);
        let file = match fs::File::open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(self.fail(format!("it can't be read: {e}"))),
        };
        let mut bytes = Vec::new();
        file.take(most as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| self.fail(format!("it can't be read: {e}")))?;
        if bytes.len() > most {
            return Err(self.fail("it is larger than a checkpoint of this network can be"));
        }
        let broken =
            |e: safetensors::SafeTensorError| self.fail(format!("it is no checkpoint: {e}"));
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(broken)?;
        let entry = |name: &str| header.metadata().as_ref().and_then(|m| m.get(name));
        let text =
            entry(ENTRY).ok_or_else(|| self.fail("it is no checkpoint of a training run"))?;
        let notes: Notes = serde_json::from_str(text)
            .map_err(|e| self.fail(format!("it is no checkpoint that can be read: {e}")))?;
        self.check_format(&notes)?;
        let tensors = SafeTensors::deserialize(&bytes).map_err(broken)?;
        if entry(CHECKSUM) != Some(&checksum(text, &tensors.tensors())) {
            return Err(self.fail("it is damaged: its checksum is not that of what it holds"));
        }
        self.check_recipe(&notes)?;
        let read = |kind: &str| self.weights(&tensors, kind, &start.weights);
        let flat = |weights: Weights| -> Vec<Vec<f32>> {
            weights.into_iter().map(|(_, value)| value.to_f32().into_iter().collect()).collect()
        };
        Ok(Some(State {
            step: notes.step,
            weights: read("weight")?,
            average: start.average.as_ref().map(|_| read("average")).transpose()?,
            adam: Adam {
                means: flat(read("mean")?),
                squares: flat(read("square")?),
                updates: notes.updates,
            },
            best: notes.best.map(|best| Ok::<_, Error>((read("best")?, best))).transpose()?,
            curve: notes.curve,
            last: notes.last,
            misses: notes.misses,
            pending: notes.pending,
        }))
    }

    fn check_format(&self, notes: &Notes) -> Result<(), Error> {
        if notes.format == FORMAT {
            return Ok(());
        }
        Err(self.fail(format!(
            "its format is {}, and {FORMAT} is known; remove it to start anew",
            notes.format
        )))
    }

    /// Fails if the file was made by another run.
    fn check_recipe(&self, notes: &Notes) -> Result<(), Error> {
        let missing = String::new();
        let keys = self.recipe.keys().chain(notes.recipe.keys());
        for key in keys {
            let [here, there] =
                [&self.recipe, &notes.recipe].map(|r| r.get(key).unwrap_or(&missing));
            if here != there {
                return Err(self.fail(format!(
                    "it belongs to another run: its {key} is {there}, and here it is {here}; remove it to start anew"
                )));
            }
        }
        Ok(())
    }

    fn weights(
        &self,
        tensors: &SafeTensors<'_>,
        kind: &str,
        like: &Weights,
    ) -> Result<Weights, Error> {
        let read = |(name, value): &(String, Value)| {
            let full = format!("{kind}/{name}");
            let view = tensors.tensor(&full).ok();
            let view = view.filter(|v| v.dtype() == Dtype::F32 && v.shape() == value.shape());
            let view = view.ok_or_else(|| {
                self.fail(format!("it has no tensor {full} of shape {:?}", value.shape()))
            })?;
            let (words, _) = view.data().as_chunks::<4>();
            let values = words.iter().map(|w| f32::from_le_bytes(*w)).collect();
            let array = ArrayD::from_shape_vec(IxDyn(value.shape()), values);
            let array = array.map_err(|e| self.fail(format!("{full}: {e}")))?;
            Ok((name.clone(), array.into()))
        };
        like.iter().map(read).collect()
    }
}

/// The SHA-256 of the notes and of all tensors, in the order of their names.
fn checksum<N: AsRef<str>>(notes: &str, tensors: &[(N, TensorView<'_>)]) -> String {
    let mut tensors: Vec<(&str, &TensorView<'_>)> =
        tensors.iter().map(|(name, view)| (name.as_ref(), view)).collect();
    tensors.sort_unstable_by_key(|t| t.0);
    let mut hash = Sha256::new();
    hash.update(notes);
    for (name, view) in tensors {
        hash.update(format!("\n{name} {:?} {:?}\n", view.dtype(), view.shape()));
        hash.update(view.data());
    }
    format!("{:x}", hash.finalize())
}
