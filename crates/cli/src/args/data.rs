//! How files become samples.

use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use taste_data::{Dataset, ErrorKind, Labels, Layout, Options};

/// What to make of files; kept in the detector, so that data are read alike when it is used.
#[derive(Args)]
pub(crate) struct DataArgs {
    /// Keep uint8 values as they are instead of scaling them by 1/255
    #[arg(long, help_heading = "Data")]
    raw: bool,
    /// Where arrays keep their channels [default: as the model's input tells]
    #[arg(long, value_enum, help_heading = "Data")]
    layout: Option<Place>,
    /// Subtract this after scaling: one number, or one for each channel or column
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        allow_hyphen_values = true,
        help_heading = "Data"
    )]
    pub(crate) mean: Vec<f32>,
    /// Divide by this after that
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Data")]
    pub(crate) std: Vec<f32>,
    /// Bring images to this height and width
    #[arg(long, value_name = "HxW", help_heading = "Data")]
    resize: Option<String>,
    /// Put a margin of zeros around images up to this height and width
    #[arg(long, value_name = "HxW", help_heading = "Data")]
    pad: Option<String>,
    /// Labels: a file with the number of a class for every sample, or the column of a table that holds them, which is no
    /// input
    #[arg(long, alias = "label", value_name = "FILE|COLUMN", help_heading = "Data")]
    labels: Option<String>,
    /// The columns of a table to take, in this order [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Data")]
    columns: Vec<String>,
    /// The columns of a table to leave out
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Data")]
    exclude: Vec<String>,
    /// Leave out images and lines that can't be read, and say how many
    #[arg(long, help_heading = "Data")]
    skip_bad: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Place {
    /// Channels × height × width
    Nchw,
    /// Height × width × channels
    Nhwc,
}

impl From<Place> for Layout {
    fn from(place: Place) -> Self {
        match place {
            Place::Nchw => Self::Nchw,
            Place::Nhwc => Self::Nhwc,
        }
    }
}

impl DataArgs {
    /// As options for labelled samples of a shape, with the labels from the column that is named for tables.
    pub(crate) fn labelled(&self, sample_shape: Option<Vec<usize>>) -> Result<Options> {
        let options = self.options(sample_shape)?;
        let (label, exclude) = (self.label_column().map(str::to_owned), self.exclude.clone());
        Ok(Options { labels: true, label, exclude, ..options })
    }

    /// The file of labels, if that is what was named.
    pub(crate) fn label_file(&self) -> Option<&Path> {
        self.labels.as_deref().map(Path::new).filter(|path| path.is_file())
    }

    /// The column of labels, if no file has that name.
    pub(crate) fn label_column(&self) -> Option<&str> {
        self.labels.as_deref().filter(|_| self.label_file().is_none())
    }

    /// Puts the labels of a file to samples, if one was named.
    pub(crate) fn with_label_file(&self, data: Dataset) -> Result<Dataset> {
        Ok(match self.label_file() {
            Some(path) => data.with_labels(&Labels::open(path)?)?,
            None => data,
        })
    }

    /// Puts labels from wherever they are named to samples of a file. Where they are not `needed`, a column of words is
    /// left alone, as it is no input either.
    pub(crate) fn with_labels(
        &self,
        data: Dataset,
        path: &Path,
        needed: bool,
        tell: impl Fn(&str),
    ) -> Result<Dataset> {
        let Some(column) = self.label_column() else { return self.with_label_file(data) };
        if !data.is_table() {
            bail!("--labels {column}: there is no such file, and {data} is no table with columns");
        }
        let labels = match Labels::column(path, column, self.skip_bad) {
            Err(e) if !needed && [ErrorKind::Label, ErrorKind::Column].contains(&e.kind()) => {
                tell(&format!("note: {e}; the fit goes without labels"));
                return Ok(data);
            }
            found => found?,
        };
        // The true values of a regressor are no classes.
        if !needed && labels.classes(None).is_err() {
            return Ok(data);
        }
        Ok(data.with_labels(&labels)?)
    }

    /// Whether lines that can't be read are left out.
    pub(crate) fn skips_bad(&self) -> bool {
        self.skip_bad
    }

    /// As options for samples of a shape.
    pub(crate) fn options(&self, sample_shape: Option<Vec<usize>>) -> Result<Options> {
        if let Some(bad) = self.std.iter().find(|s| !s.is_finite() || **s <= 0.0) {
            bail!("--std: {bad} is nothing to divide by");
        }
        // A detector looks at no labels: they may be words.
        let column = self.label_column().map(str::to_owned);
        let exclude = self.exclude.iter().cloned().chain(column).collect();
        Ok(Options {
            sample_shape,
            layout: self.layout.map_or(Layout::Auto, Layout::from),
            raw: self.raw,
            mean: self.mean.clone(),
            std: self.std.clone(),
            labels: false,
            label: None,
            columns: self.columns.clone(),
            exclude,
            keep: Vec::new(),
            skip_bad: self.skip_bad,
            resize: self.resize.as_deref().map(|t| size("--resize", t)).transpose()?,
            pad: self.pad.as_deref().map(|t| size("--pad", t)).transpose()?,
        })
    }
}

/// `28x28`, or `28` for a square.
pub(super) fn size(flag: &str, text: &str) -> Result<(usize, usize)> {
    let read = |t: &str| t.trim().parse::<usize>().ok().filter(|n| *n > 0);
    let pair = match text.split_once(['x', '×', ',']) {
        Some((h, w)) => read(h).zip(read(w)),
        None => read(text).map(|n| (n, n)),
    };
    pair.with_context(|| format!("{flag} {text:?} is not a height and width like 32x32"))
}
