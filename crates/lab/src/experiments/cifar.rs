//! What experiments on CIFAR-10 share: the network, clean images, shifted sets, and methods that are judged on them.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use ndarray::{Axis, concatenate};
use taste_data::{Dataset, First, InMemory, Labels, Options, Resize, Samples};
use taste_detector::{Method, Named, Settings};
use taste_engine::{Model, Request};
use taste_zoo::{
    attacks::{self, Bounds, Victim},
    benchmark::{Benchmark, Folder, Judged, Made, attacked, corrupted},
    corruptions,
    evaluation::{Set, Truth},
};

use super::{published, scored::Scored};
use crate::{Error, Run, Wanted, error::refused};

pub(super) const DATA: [Wanted; 7] = [
    Wanted::needed("cifar10", "CIFAR-10 in its binary form, test_batch.bin and data_batch_*.bin"),
    Wanted::optional("svhn", "house numbers of 32 × 32 pixels"),
    Wanted::optional("textures", "textures of 32 × 32 pixels"),
    Wanted::optional("scenes", "outdoor scenes of 32 × 32 pixels, in place of the three below"),
    Wanted::optional("lsun", "LSUN, a folder of images"),
    Wanted::optional("isun", "iSUN, a folder of images"),
    Wanted::optional("places365", "Places365, a folder of images"),
];
/// Networks and diffusion models; the first of each that is there is taken.
const NETWORKS: [&str; 4] =
    ["resnet18.onnx", published::RESNET18.path, "cifar10_resnet20.onnx", "classifier.onnx"];
const DIFFUSION: [&str; 2] = [published::DDPM_32.path, "cifar10_ddpm_small.onnx"];
pub(super) const MODELS: [Wanted; 6] = [
    Wanted::optional(
        NETWORKS[0],
        "a classifier of CIFAR-10; the first of these four that is there is taken",
    ),
    published::RESNET18,
    Wanted::optional(NETWORKS[2], "a ResNet-20 for CIFAR-10"),
    Wanted::optional(NETWORKS[3], "any other classifier of CIFAR-10"),
    published::DDPM_32,
    Wanted::optional(DIFFUSION[1], "a noise predictor for CIFAR-10, for the full run"),
];
const SHAPE: [usize; 3] = [3, 32, 32];
const CLASSES: usize = 10;
/// The first test image that calibrates; those before it are clean samples, and shifted sets are made of them.
const CALIBRATION_FROM: usize = 5000;
/// Other data, which are read as they lie in their folders.
const OTHERS: [&str; 6] = ["svhn", "textures", "scenes", "lsun", "isun", "places365"];

/// How many images of each kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    /// Of every set, the clean one included.
    pub(super) images: usize,
    pub(super) calibration: usize,
    pub(super) training: usize,
}

/// Clean images, shifted sets and the network.
pub(super) struct Cifar {
    pub(super) model: Model,
    /// Where the network comes from.
    origin: String,
    pub(super) counts: Counts,
    train: InMemory,
    calibration: InMemory,
    clean: InMemory,
    labels: Labels,
    made: Vec<(Made, Dataset)>,
    others: Vec<(String, Dataset)>,
    folder: Folder,
}

/// A method under the name that pages give it.
pub(super) struct Tried {
    pub(super) name: String,
    pub(super) method: Arc<dyn Method>,
}

/// A method by how it is written and the options of `stein`.
pub(super) fn method(name: &str, written: &str, options: &[(&str, &str)]) -> Result<Tried, Error> {
    let named = options.iter().fold(Named::new(), |named, (key, value)| named.with(key, *value));
    Ok(Tried { name: name.to_owned(), method: taste_catalog::method(written, &named)? })
}

impl Cifar {
    /// Opens the data, and makes the sets that are not there yet: attacks, corruptions and perturbations by their lists.
    pub(super) fn open(
        run: &Run<'_>,
        counts: Counts,
        (attack_list, corruption_list): (&[&str], &[&str]),
    ) -> Result<Self, Error> {
        let data = run.data_path("cifar10")?;
        let (network, origin) = network(run, &data, counts.training)?;
        let model = Model::open(&network)?;
        let shape = model.sample_shape()?.unwrap_or_else(|| SHAPE.to_vec());
        let options = Options { sample_shape: Some(shape), labels: true, ..Options::default() };
        let test = Dataset::open(&file(&data, "test_batch")?, &options)?;
        let total = test.len()?;
        let from = CALIBRATION_FROM.min(total / 2);
        let clean = rows("clean test images", &test, 0, counts.images.min(from))?;
        let calibration = rows("calibration images", &test, from, from + counts.calibration)?;
        let train = training(&data, &options, counts.training)?;
        let labels = labels_of(&clean)?;
        let folder = Folder::open(&run.out().join("kept").join("cifar10"))?;
        let started = run.begin("shifted sets", false)?;
        let recipes = corruptions::recipes(corruption_list)?;
        let recipes: Vec<_> = recipes.into_iter().map(|r| r.with_seed(run.seed_value())).collect();
        let progress = run.progress();
        let path = file(&data, "test_batch")?;
        let most = Some(clean.len()?);
        let mut made = corrupted(&folder, &path, &options, &recipes, most, &progress)?;
        let victim = Victim::new(&model, &Request::default(), run.engine_used())?;
        let plain = Options { sample_shape: options.sample_shape.clone(), ..Options::default() };
        let recipes = attacks::recipes(attack_list)?;
        let attacks = (&recipes[..], run.seed_value());
        made.extend(attacked(
            &folder,
            &victim,
            &clean,
            &Bounds::default(),
            attacks,
            &plain,
            &progress,
        )?);
        let open = |made: Made| -> Result<(Made, Dataset), Error> {
            let data = Dataset::open(&made.path, &made.options)?;
            Ok((made, data))
        };
        let made = made.into_iter().map(open).collect::<Result<_, _>>()?;
        run.end(started);
        let others = others(run, &plain)?;
        Ok(Self { model, origin, counts, train, calibration, clean, labels, made, others, folder })
    }

    /// Fits each method and scores all sets; what an earlier run left is taken.
    pub(super) fn judge(&self, run: &Run<'_>, methods: &[Tried]) -> Result<Vec<Scored>, Error> {
        let firsts: Vec<(String, First<'_>)> = self
            .others
            .iter()
            .map(|(name, data)| (name.clone(), First::new(data, self.counts.images)))
            .collect();
        let mut all = Vec::new();
        for named in methods {
            let started = run.begin(&format!("method {}", named.name), false)?;
            let judged = self.judge_one(run, named, &firsts)?;
            all.push(Scored::of(&named.name, &judged)?);
            run.end(started);
        }
        Ok(all)
    }

    fn judge_one(
        &self,
        run: &Run<'_>,
        named: &Tried,
        firsts: &[(String, First<'_>)],
    ) -> Result<Judged, Error> {
        let known = Truth::Given(&self.labels);
        let set = |name: &str, data, truth| Set { name: name.to_owned(), data, truth };
        let mut sets: Vec<Set<'_>> =
            self.made.iter().map(|(made, data)| set(&made.name, data, known)).collect();
        sets.extend(
            firsts.iter().map(|(name, data)| set(name, data as &dyn Samples, Truth::Unknown)),
        );
        let settings = Settings { map: Some(false), seed: run.seed_value(), ..Settings::default() };
        let benchmark = Benchmark {
            model: &self.model,
            settings,
            engine: run.engine_used().clone(),
            reading: (Options::default(), true),
            train: &self.train,
            calibration: Some(&self.calibration),
            id: set("clean", &self.clean, known),
            sets,
        };
        let methods = [Arc::clone(&named.method)];
        let mut found = benchmark.run(&methods, Some(&self.folder), &run.progress())?;
        match (found.methods.pop(), found.failed.pop()) {
            (Some(judged), _) => Ok(judged),
            (None, Some(failed)) => Err(refused(format!("{}: {}", named.name, failed.reason))),
            (None, None) => Err(refused(format!("{}: nothing came of it", named.name))),
        }
    }

    /// In what networks and score model are not the paper's.
    pub(super) fn differences(&self, run: &Run<'_>) -> String {
        let paper = [published::RESNET18.path, published::DDPM_32.path];
        let network = if self.origin.starts_with(paper[0]) {
            "its network, tuned here"
        } else {
            "another network (the paper fine-tunes an ImageNet ResNet-18 with a stem for large pictures)"
        };
        let score = match diffusion(run) {
            Some(path) if path.ends_with(paper[1]) => "its score model",
            _ => "another score model",
        };
        format!("{network}, {score}")
    }

    /// What was run, for a page.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let sha = self.model.onnx().sha256().unwrap_or_default();
        let short = &sha[..sha.len().min(12)];
        vec![
            ("network", format!("{}, SHA-256 {short}…", self.origin)),
            ("clean images", format!("the first {} test images", self.labels.values().len())),
            (
                "calibration",
                format!(
                    "{} test images from number {CALIBRATION_FROM} on",
                    self.counts.calibration
                ),
            ),
            ("fitted to", format!("{} training images", self.counts.training)),
            (
                "shifted sets",
                format!(
                    "{} of {} images at most",
                    self.made.len() + self.others.len(),
                    self.counts.images
                ),
            ),
        ]
    }
}

/// The network, and where it comes from: one that was trained on CIFAR-10, or a published one that goes on learning here.
fn network(run: &Run<'_>, data: &Path, images: usize) -> Result<(PathBuf, String), Error> {
    let Some(name) = NETWORKS.iter().find(|name| run.model_if(name).is_some()) else {
        return Ok((run.model_path(NETWORKS[2])?, NETWORKS[2].to_owned()));
    };
    let path = run.model_path(name)?;
    if *name != published::RESNET18.path {
        return Ok((path, (*name).to_owned()));
    }
    let options =
        Options { sample_shape: Some(SHAPE.to_vec()), labels: true, ..Options::default() };
    let train = training(data, &options, images)?;
    let network = published::fine_tuned(run, &path, &train, (images, CLASSES))?;
    Ok((network, format!("{name}, {}", published::tuning(images))))
}

/// The diffusion model of the paper's residual, for the full run.
pub(super) fn diffusion(run: &Run<'_>) -> Option<PathBuf> {
    DIFFUSION.iter().find_map(|name| run.model_if(name)).filter(|_| run.pick(true, false, true))
}

/// A file of a folder by how its name starts.
fn file(folder: &Path, start: &str) -> Result<PathBuf, Error> {
    files(folder, start)?.into_iter().next().ok_or_else(|| {
        refused(format!("{}: no file in it is called {start}.bin", folder.display()))
    })
}

/// Files of a folder whose names start so, in order.
fn files(folder: &Path, start: &str) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).map_err(crate::error::at(folder))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(start)))
        .filter(|path| !path.to_string_lossy().contains("meta"))
        .collect();
    found.sort();
    Ok(found)
}

/// Rows of a data set, in memory with their labels.
fn rows(name: &str, of: &dyn Samples, from: usize, to: usize) -> Result<InMemory, Error> {
    let chunks = of.chunks_where(1024, Box::new(move |i| (from..to).contains(&i)))?;
    gathered(name, of, chunks)
}

fn gathered(
    name: &str,
    of: &dyn Samples,
    chunks: taste_data::Chunks<'_>,
) -> Result<InMemory, Error> {
    let (mut parts, mut labels) = (Vec::new(), Vec::new());
    for chunk in chunks {
        let chunk = chunk?;
        let own = chunk.labels.ok_or_else(|| refused(format!("{}: no labels", of.name())))?;
        labels.extend(own);
        parts.push(chunk.values);
    }
    let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
    let values = concatenate(Axis(0), &views)
        .map_err(|_| refused(format!("{}: too few images for {name}", of.name())))?;
    Ok(InMemory::new(name, values).with_labels(labels))
}

/// The first training images, over all files of them.
fn training(data: &Path, options: &Options, count: usize) -> Result<InMemory, Error> {
    let paths = files(data, "data_batch")?;
    if paths.is_empty() {
        return Err(refused(format!(
            "{}: no file in it is called data_batch_1.bin",
            data.display()
        )));
    }
    let train = Dataset::open_all(&paths, options)?;
    rows("training images", &train, 0, count)
}

fn labels_of(set: &InMemory) -> Result<Labels, Error> {
    let mut values = Vec::new();
    for chunk in set.chunks(4096)? {
        values.extend(chunk?.labels.unwrap_or_default().iter().map(|&label| label as f64));
    }
    Ok(Labels::new(set.name(), values))
}

/// Other data sets, as far as they are there: the only file of a folder, or the folder itself.
fn others(run: &Run<'_>, options: &Options) -> Result<Vec<(String, Dataset)>, Error> {
    let mut found = Vec::new();
    for name in OTHERS {
        let Some(folder) = run.data_if(name) else { continue };
        let inside = files(&folder, "")?;
        let path = match &inside[..] {
            [only] => only.clone(),
            _ => folder,
        };
        let size = match options.sample_shape.as_deref() {
            Some([_, height, width]) => Some(Resize::To(*height, *width)),
            _ => None,
        };
        let plain = Dataset::open(&path, options);
        let data = plain
            .or_else(|_| Dataset::open(&path, &Options { resize: size, ..options.clone() }))?;
        found.push((format!("O/{name}"), data));
    }
    Ok(found)
}
