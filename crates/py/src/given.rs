//! Data as Python hands them over.

use std::path::{Path, PathBuf};

use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use taste_data::{Dataset, Labels, Lent, Options, Padding, Samples, Values, survey};
use taste_detector::{Error, Needs, with_classes, with_inputs, with_rows};
use taste_engine::Model;

/// An array or files, and what is known of the right answers. Its attributes are those of `taste_ood._data.Data`.
#[derive(FromPyObject)]
pub(crate) struct Given<'py> {
    name: Option<String>,
    single: Option<PyReadonlyArrayDyn<'py, f32>>,
    bytes: Option<PyReadonlyArrayDyn<'py, u8>>,
    paths: Vec<PathBuf>,
    labels: Option<PyReadonlyArray1<'py, f64>>,
    label_file: Option<PathBuf>,
    label: Option<String>,
    classes: Vec<String>,
}

/// The same without Python.
pub(crate) struct Data<'a> {
    name: Option<&'a str>,
    values: Option<Values<'a>>,
    paths: &'a [PathBuf],
    labels: Option<Labels>,
    label_file: Option<&'a Path>,
    label: Option<&'a str>,
}

impl Given<'_> {
    /// To be used while other threads of Python run.
    pub(crate) fn lend(&self) -> Data<'_> {
        let single = self.single.as_ref().map(|array| Values::Single(array.as_array()));
        let bytes = self.bytes.as_ref().map(|array| Values::Bytes(array.as_array()));
        let labels = self.labels.as_ref().map(|labels| labels.as_array().to_vec());
        Data {
            name: self.name.as_deref(),
            values: single.or(bytes),
            paths: &self.paths,
            labels: labels.map(|labels| Labels::of_classes("labels", labels, self.classes.clone())),
            label_file: self.label_file.as_deref(),
            label: self.label.as_deref(),
        }
    }
}

/// Samples that are open.
pub(crate) enum Opened<'a> {
    Lent(Box<Lent<'a>>),
    Files(Box<Dataset>),
}

impl Opened<'_> {
    pub(crate) fn samples(&self) -> &dyn Samples {
        match self {
            Self::Lent(lent) => lent.as_ref(),
            Self::Files(files) => files.as_ref(),
        }
    }

    fn holds_bytes(&self) -> bool {
        match self {
            Self::Lent(lent) => lent.holds_bytes(),
            Self::Files(files) => files.holds_bytes(),
        }
    }
}

/// Training data, and how they became samples.
pub(crate) struct Train<'a> {
    pub(crate) samples: Opened<'a>,
    pub(crate) options: Options,
    pub(crate) bytes: bool,
}

impl<'a> Data<'a> {
    /// Opens data as options say.
    pub(crate) fn open(&self, options: &Options) -> Result<Opened<'a>, Error> {
        match &self.values {
            Some(values) => {
                let name = self.name.unwrap_or("array");
                Ok(Opened::Lent(Box::new(Lent::new(name, values.clone(), options)?)))
            }
            None => {
                Ok(Opened::Files(Box::new(self.renamed(Dataset::open_all(self.paths, options)?))))
            }
        }
    }

    fn renamed(&self, set: Dataset) -> Dataset {
        match self.name {
            Some(name) => set.named(name),
            None => set,
        }
    }

    /// Opens training data for a model and a method.
    pub(crate) fn train(
        &self,
        model: &Model,
        reading: Options,
        needs: Needs,
        padding: Padding,
    ) -> Result<Train<'a>, Error> {
        let reading = Options { sample_shape: model.sample_shape()?, ..reading };
        let mut options = with_classes(reading, model);
        let known = options.sequences.is_some();
        if let Some(values) = &self.values {
            if !known {
                options = with_rows(options, model, values.sample(), padding);
            }
            let Opened::Lent(mut lent) = self.open(&options)? else {
                return Err(taste_detector::refused("the data are no array"));
            };
            if let Some(labels) = self.numbers(needs, &mut options)? {
                lent = Box::new(lent.with_labels(labels)?);
            }
            let bytes = lent.holds_bytes();
            return Ok(Train { samples: Opened::Lent(lent), options, bytes });
        }
        options.exclude.extend(self.label.map(str::to_owned));
        if !known {
            options = with_inputs(options, model, self.paths, padding)?;
        }
        let options = survey(self.paths, &options)?.options;
        let with = Options { labels: needs.labels || needs.uses_labels, ..options.clone() };
        let set = match Dataset::open_all(self.paths, &with) {
            Err(_) if !needs.labels => Dataset::open_all(self.paths, &options)?,
            other => other?,
        };
        let mut options = set.options_naming_columns(&options);
        let mut set = self.renamed(set);
        let labels = match (self.apart(&options)?, self.label) {
            (Some(labels), _) => Some(labels),
            (None, Some(column)) => {
                let found = Labels::column(self.paths, column, &options);
                if needs.labels { Some(found?) } else { found.ok() }
            }
            (None, None) => None,
        };
        // The true values of a regressor are no classes.
        let usable = |labels: &Labels| needs.labels || labels.classes(None).is_ok();
        if let Some(labels) = labels.filter(usable) {
            if options.classes.is_empty() {
                options.classes = labels.names().to_vec();
            }
            set = set.with_labels(&labels)?;
        }
        let samples = Opened::Files(Box::new(set));
        let bytes = samples.holds_bytes();
        Ok(Train { samples, options, bytes })
    }

    /// Labels that come apart from the samples.
    fn apart(&self, options: &Options) -> Result<Option<Labels>, Error> {
        match (&self.labels, self.label_file) {
            (Some(labels), _) => Ok(Some(labels.clone().read_as(options)?)),
            (None, Some(path)) => Ok(Some(Labels::open(path, options)?)),
            (None, None) => Ok(None),
        }
    }

    /// Labels as the numbers of classes, where the method makes use of them.
    fn numbers(&self, needs: Needs, options: &mut Options) -> Result<Option<Vec<i64>>, Error> {
        let Some(labels) = self.apart(options)? else { return Ok(None) };
        match labels.classes(None) {
            Ok(classes) => {
                if options.classes.is_empty() {
                    options.classes = labels.names().to_vec();
                }
                Ok(Some(classes))
            }
            Err(e) if needs.labels => Err(e.into()),
            Err(_) => Ok(None),
        }
    }

    /// What is known of the right answers, beside labels that the files hold.
    pub(crate) fn truth(&self, options: &Options) -> Result<Option<Labels>, Error> {
        match (self.apart(options)?, self.label) {
            (Some(labels), _) => Ok(Some(labels)),
            (None, Some(column)) => Ok(Some(Labels::column(self.paths, column, options)?)),
            (None, None) => Ok(None),
        }
    }
}
