//! Networks of the paper as others publish them, in the folder of models beside what is ONNX: torchvision's `ResNet`s and
//! diffusion models of diffusers.

use std::{
    fs,
    path::{Path, PathBuf},
};

use taste_data::InMemory;
use taste_engine::Model;
use taste_train::{
    Augment, Pretrained, Training,
    import::{self, Options},
};

use crate::{Error, Run, Wanted, error::at};

pub(super) const RESNET18: Wanted = Wanted::optional(
    "resnet18-f37072fd.pth",
    "torchvision's ResNet-18, which is fine-tuned on CIFAR-10 here, as in the paper",
);
pub(super) const RESNET50: Wanted =
    Wanted::optional("resnet50-11ad3fa6.pth", "torchvision's ResNet-50, as in the paper");
pub(super) const DDPM_32: Wanted =
    Wanted::optional("ddpm-cifar10-32", "google/ddpm-cifar10-32, as in the paper");
pub(super) const DDPM_256: Wanted =
    Wanted::optional("ddpm-ema-celebahq-256", "google/ddpm-ema-celebahq-256, as in the paper");

/// How the paper's code normalises CIFAR-10, and torchvision `ImageNet`: means and deviations of the channels.
const CIFAR: [[f32; 3]; 2] = [[0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010]];
const IMAGENET: [[f32; 3]; 2] = [[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]];
/// Times that fine-tuning goes through its images, and the rate of Adam, as the paper has them.
const EPOCHS: usize = 5;
const RATE: f64 = 1e-4;
const BATCH: usize = 64;

/// A `ResNet` of `ImageNet` that has gone on learning on CIFAR-10; one that tells as many classes apart is taken as it is.
pub(super) fn fine_tuned(
    run: &Run<'_>,
    path: &Path,
    train: &InMemory,
    (images, classes): (usize, usize),
) -> Result<PathBuf, Error> {
    let steps = run.pick(EPOCHS * images / BATCH, EPOCHS * images / BATCH, 4).max(1);
    let facts = (digest(path)?, steps, images, run.effort_name());
    run.file("resnet18", "fine-tuning of the published ResNet-18", &facts, |to| {
        let model = resnet(path, (32, 32), CIFAR)?;
        let start = Pretrained::new(&model, &[3, 32, 32], classes)?;
        if !start.has_new_head {
            return Ok(model.onnx().save(to)?);
        }
        let (watch, engine) = (run.training("steps"), run.engine_used());
        let trained = Training::classifier(&start.network)
            .start(&start.parameters)
            .steps(steps)
            .batch(BATCH)
            .rate(RATE)
            .augment(Augment { flip: true, shift: 4 })
            .seed(run.seed_value())
            .backend(engine.backend.clone(), engine.threads)
            .progress(&watch)
            .run_as_they_are(train)?;
        Ok(trained.model()?.onnx().save(to)?)
    })
}

/// What became of a published network, for a page.
pub(super) fn tuning(images: usize) -> String {
    format!(
        "fine-tuned here where it tells other classes apart: {EPOCHS} times {images} images, rate {RATE}"
    )
}

/// A classifier of `ImageNet`.
pub(super) struct OfImageNet {
    pub(super) model: Model,
    /// The file's name.
    pub(super) name: String,
    /// The file's [`digest`], as results that are kept are those of its weights.
    pub(super) digest: String,
}

impl OfImageNet {
    /// The paper's where it is there, else a file.
    pub(super) fn open(run: &Run<'_>, file: &str) -> Result<Self, Error> {
        let (path, name) = match run.model_if(RESNET50.path) {
            Some(path) => (path, RESNET50.path),
            None => (run.model_path(file)?, file),
        };
        let model = if name == RESNET50.path {
            // The side of the paper's maps, of which the smallest run needs but an eighth.
            let side = run.pick(256, 256, 32);
            resnet(&path, (side, side), IMAGENET)?
        } else {
            Model::open(&path)?
        };
        Ok(Self { model, name: name.to_owned(), digest: digest(&path)? })
    }
}

fn resnet(path: &Path, size: (usize, usize), [mean, std]: [[f32; 3]; 2]) -> Result<Model, Error> {
    let options =
        Options { size: Some(size), mean: mean.to_vec(), std: std.to_vec(), ..Options::default() };
    Ok(import::open(path, &options)?.model)
}

/// The SHA-256 of a file, or of all files in a folder and their names.
pub(super) fn digest(path: &Path) -> Result<String, Error> {
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let entries = fs::read_dir(path).map_err(at(path))?;
        files =
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|p| p.is_file()).collect();
        files.sort();
    }
    let mut all = Vec::new();
    for file in files {
        let bytes = fs::read(&file).map_err(at(&file))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        all.push(format!("{name} {}", taste_onnx::sha256(&bytes)));
    }
    Ok(taste_onnx::sha256(all.join("\n").as_bytes()))
}
