//! The data of a benchmark.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use taste_data::{Dataset, First, Labels, Options, Samples};
use taste_detector::Detector;
use taste_engine::Model;
use taste_zoo::{
    attacks::Bounds,
    benchmark::{Made, Plan},
    evaluation::{Set, Truth, group_of},
};

use crate::{
    args::{BenchArgs, DataArgs},
    attack::before_normalisation,
    detect::tell_skipped,
    tell,
};

/// The model and what is compared on it.
pub(super) struct Data<'a> {
    plan: &'a Plan,
    model: Model,
    options: Options,
    train: Dataset,
    calibration: Option<Dataset>,
}

/// Clean samples as attacks move them.
pub(super) struct ToAttack<'a> {
    pub(super) data: Dataset,
    pub(super) bounds: Bounds,
    /// Mean and standard deviation between the samples and the model.
    pub(super) normalisation: [&'a [f32]; 2],
    /// How what is written is read.
    pub(super) options: Options,
}

/// Sets that are open.
pub(super) struct Sets {
    id: Dataset,
    shifted: Vec<(String, Dataset, bool)>,
    /// Of the clean samples, and of what is made of them.
    labels: Option<Labels>,
}

/// The first samples of every set.
pub(super) struct Views<'a> {
    sets: &'a Sets,
    id: First<'a>,
    shifted: Vec<First<'a>>,
}

impl<'a> Data<'a> {
    pub(super) fn open(args: &BenchArgs, plan: &'a Plan) -> Result<Self> {
        let path = plan.model.as_deref().context("no model")?;
        let model = Model::open(path)?;
        if Detector::is_one(model.onnx()) {
            bail!(
                "--model {}: this is a detector already; give the model that it was made of",
                path.display()
            );
        }
        let train_path = plan.train.as_deref().context("no training data")?;
        let reading = args.reading.or_labels(plan.labels.as_deref());
        let options = match &plan.reading {
            Some(kept) => {
                let labels = reading.label_column().map(str::to_owned);
                let exclude = kept.exclude.iter().cloned().chain(labels).collect();
                Options { sample_shape: model.sample_shape()?, exclude, ..kept.clone() }
            }
            None => reading.for_model(&model, &[train_path.to_owned()])?,
        };
        let (train, classes) = labelled(&reading, train_path, &options, args.run.quiet())?;
        let mut options = train.options_naming_columns(&options);
        options.classes.extend(classes);
        let calibration =
            plan.calibration.as_deref().map(|p| Dataset::open(p, &options)).transpose()?;
        Ok(Self { plan, model, options, train, calibration })
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    pub(super) fn train(&self) -> &dyn Samples {
        &self.train
    }

    pub(super) fn calibration(&self) -> Option<&dyn Samples> {
        self.calibration.as_ref().map(|c| c as &dyn Samples)
    }

    pub(super) fn holds_bytes(&self) -> bool {
        self.train.holds_bytes()
    }

    /// Where the clean samples are.
    pub(super) fn id_path(&self) -> &Path {
        self.plan.id.as_deref().unwrap_or(Path::new(""))
    }

    /// Opens the clean samples, sets, and what was made here.
    pub(super) fn open_sets(&self, args: &BenchArgs, plan: &Plan, made: &[Made]) -> Result<Sets> {
        let mut options = self.options.clone();
        let own = plan.id_labels.as_deref() == Some("own");
        let id = Dataset::open(self.id_path(), &Options { labels: own, ..options.clone() })?;
        let labels = self.labels(plan, &id)?;
        // What was made has no columns that were left out.
        options.skip_bad |= args.reading.skips_bad();
        let mut shifted = Vec::new();
        for (name, path) in &plan.ood {
            let name = match group_of(name) {
                Some(_) => name.clone(),
                None => format!("O/{name}"),
            };
            shifted.push((name, Dataset::open(path, &options)?, false));
        }
        for set in made {
            // What is moved a little is no longer whole: the engine cuts it.
            let (skip_bad, inputs) = (options.skip_bad, Vec::new());
            let options = Options { skip_bad, inputs, ..set.options.clone() };
            shifted.push((set.name.clone(), Dataset::open(&set.path, &options)?, true));
        }
        Ok(Sets { id, shifted, labels })
    }

    /// Clean samples for attacks, with their labels where these are known, and how what is written of them is read.
    pub(super) fn to_attack(&self) -> Result<ToAttack<'_>> {
        let own = self.plan.id_labels.as_deref() == Some("own");
        let (plain, [mean, std]) = before_normalisation(&self.options);
        let data = Dataset::open(self.id_path(), &Options { labels: own, ..plain })?;
        let labels = if own { None } else { self.named_labels(&data)? };
        let data = match labels {
            Some(labels) => data.with_labels(&labels)?,
            None => data,
        };
        let bounds = match data.sample_shape().len() {
            0 | 1 => Bounds::found(&data)?,
            _ if self.options.raw && data.holds_bytes() => Bounds::All(0.0, 255.0),
            _ => Bounds::default(),
        };
        let options = Options {
            sample_shape: self.options.sample_shape.clone(),
            mean: mean.to_vec(),
            std: std.to_vec(),
            ..Options::default()
        };
        Ok(ToAttack { data, bounds, normalisation: [mean, std], options })
    }

    /// Labels of the clean samples that a file or a column holds.
    fn named_labels(&self, id: &Dataset) -> Result<Option<Labels>> {
        let Some(text) = &self.plan.id_labels else { return Ok(None) };
        let labels = if Path::new(text).is_file() {
            Labels::open(Path::new(text), &self.options)?
        } else {
            let paths = [self.id_path().to_owned()];
            Labels::column(&paths, text, &self.options)?
        };
        labels.check_count(id.rows()?, id.name())?;
        Ok(Some(labels))
    }

    /// Labels of the clean samples, of as many as are taken.
    fn labels(&self, plan: &Plan, id: &Dataset) -> Result<Option<Labels>> {
        let Some(text) = &plan.id_labels else { return Ok(None) };
        let most = plan.samples.unwrap_or(usize::MAX);
        let labels = match text.as_str() {
            "own" => {
                let mut values = Vec::new();
                for chunk in First::new(id, most).chunks(4096)? {
                    let Some(own) = chunk?.labels else {
                        bail!("--id-labels own: {id} has no labels of its own");
                    };
                    values.extend(own.iter().map(|&label| label as f64));
                }
                Labels::new(id.name(), values)
            }
            _ => self.named_labels(id)?.context("labels that are named")?,
        };
        let first = labels.values().iter().copied().take(most).collect();
        Ok(Some(Labels::of_classes(labels.name(), first, labels.names().to_vec())))
    }
}

/// Training data with labels, where there are some, and the names of classes that these give.
fn labelled(
    reading: &DataArgs,
    path: &Path,
    options: &Options,
    quiet: bool,
) -> Result<(Dataset, Vec<String>)> {
    let note = |text: &str| {
        if !quiet {
            tell(text);
        }
    };
    let with = Options { labels: true, ..options.clone() };
    let train = Dataset::open(path, &with).or_else(|_| Dataset::open(path, options))?;
    let (train, classes) = reading.with_labels(train, &[path.to_owned()], options, false, note)?;
    if !quiet {
        tell_skipped(&train);
    }
    Ok((train, classes))
}

impl Sets {
    pub(super) fn views(&self, most: Option<usize>) -> Views<'_> {
        let most = most.unwrap_or(usize::MAX);
        Views {
            sets: self,
            id: First::new(&self.id, most),
            shifted: self.shifted.iter().map(|(_, data, _)| First::new(data, most)).collect(),
        }
    }

    fn truth(&self, is_known: bool) -> Truth<'_> {
        self.labels.as_ref().filter(|_| is_known).map_or(Truth::Unknown, Truth::Given)
    }
}

impl<'a> Views<'a> {
    pub(super) fn id(&'a self) -> Set<'a> {
        Set { name: "id".to_owned(), data: &self.id, truth: self.sets.truth(true) }
    }

    pub(super) fn shifted(&'a self) -> Vec<Set<'a>> {
        let sets = self.sets.shifted.iter().zip(&self.shifted);
        sets.map(|((name, _, known), data)| Set {
            name: name.clone(),
            data,
            truth: self.sets.truth(*known),
        })
        .collect()
    }
}
