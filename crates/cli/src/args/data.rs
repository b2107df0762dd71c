//! How files become samples.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use taste_data::{Dataset, ErrorKind, Filter, Labels, Layout, Options, Resize};

/// What to make of files; kept in the detector, so that data are read alike when it is used.
#[derive(Args, Clone)]
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
    /// Bring the shorter side of images to this and the other in proportion, as torchvision's Resize(256) does; or both
    /// to a height and width, whatever the ratio was
    #[arg(long, value_name = "SIDE|HxW", help_heading = "Data")]
    resize: Option<String>,
    /// Cut the middle out of images after that, as torchvision's CenterCrop(224) does
    #[arg(long, value_name = "SIDE|HxW", help_heading = "Data")]
    crop: Option<String>,
    /// How pixels are made of those of another size, as Pillow does [default: bilinear]
    #[arg(long, value_enum, value_name = "FILTER", help_heading = "Data")]
    filter: Option<Pixels>,
    /// Put a margin of zeros around images up to this height and width
    #[arg(long, value_name = "HxW", help_heading = "Data")]
    pad: Option<String>,
    /// Labels: a file with the number or name of a class for every sample, or the column of a table that holds them,
    /// which is no input. They are the classes that the model names; where it names none, numbers from 0 on, and words are
    /// numbered in the order of the alphabet
    #[arg(long, alias = "label", value_name = "FILE|COLUMN", help_heading = "Data")]
    labels: Option<String>,
    /// What the classes are called, in the order of their numbers: a file with a name a line, or a list
    /// [default: the labels, where these are words]
    #[arg(long, value_name = "FILE|LIST", help_heading = "Data")]
    class_names: Option<String>,
    /// The columns of a table to take, in this order [default: all; without those of dates and words, if the model takes as
    /// many as are left]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Data")]
    columns: Vec<String>,
    /// The columns of a table to leave out
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Data")]
    exclude: Vec<String>,
    /// How many entries sequences have, such as the token ids of texts: lists that are shorter are padded, and those that are
    /// longer are cut [default: as many as the longest of the training data, or as the model takes]
    #[arg(long, value_name = "N", help_heading = "Data")]
    pub(super) length: Option<usize>,
    /// What sequences are padded with. A mask that the model takes is made of where they end
    #[arg(
        long,
        value_name = "ID",
        default_value = "0",
        allow_hyphen_values = true,
        help_heading = "Data"
    )]
    pub(super) padding: f32,
    /// Leave out images and lines that can't be read, and say how many
    #[arg(long, help_heading = "Data")]
    skip_bad: bool,
}

/// How pixels are made of others.
#[derive(Clone, Copy, ValueEnum)]
enum Pixels {
    /// A triangle
    Bilinear,
    /// A cubic
    Bicubic,
    /// The pixel in the same place
    Nearest,
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

    /// With labels that are named elsewhere, where none are named here.
    pub(crate) fn or_labels(&self, labels: Option<&str>) -> Self {
        let labels = self.labels.clone().or_else(|| labels.map(str::to_owned));
        Self { labels, ..self.clone() }
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
            Some(path) => {
                let known = Options { classes: self.names()?, ..Options::default() };
                data.with_labels(&Labels::open(path, &known)?)?
            }
            None => data,
        })
    }

    /// What the classes are called, if that was said.
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        let Some(named) = &self.class_names else { return Ok(Vec::new()) };
        let trimmed = |name: &str| name.trim().to_owned();
        let names: Vec<String> = if Path::new(named).is_file() {
            let text = std::fs::read_to_string(named);
            let text = text.map_err(|e| anyhow!("--class-names {named}: {e}"))?;
            text.lines().map(trimmed).filter(|name| !name.is_empty()).collect()
        } else {
            named.split(',').map(trimmed).collect()
        };
        match names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
            Some((_, twice)) => bail!("--class-names: there are two classes {twice:?}"),
            None => Ok(names),
        }
    }

    /// Puts labels from wherever they are named to samples of files, by the classes that are `known`, and says what classes
    /// are called that have no names yet, if labels are words. Where they are not `needed`, labels that can't be read are left
    /// alone, as they are no input either.
    pub(crate) fn with_labels(
        &self,
        data: Dataset,
        paths: &[PathBuf],
        known: &Options,
        needed: bool,
        tell: impl Fn(&str),
    ) -> Result<(Dataset, Vec<String>)> {
        let labels = match (self.label_column(), self.label_file()) {
            (None, None) => return Ok((data, Vec::new())),
            (Some(column), _) if !data.is_table() => {
                bail!(
                    "--labels {column}: there is no such file, and {data} is no table with columns"
                )
            }
            (Some(column), _) => Labels::column(paths, column, known),
            (None, Some(file)) => Labels::open(file, known),
        };
        let named = self.label_column().is_some();
        let labels = match labels {
            Err(e)
                if named
                    && !needed
                    && [ErrorKind::Label, ErrorKind::Column].contains(&e.kind()) =>
            {
                tell(&format!("note: {e}; the fit goes without labels"));
                return Ok((data, Vec::new()));
            }
            found => found?,
        };
        // The true values of a regressor are no classes.
        if named && !needed && labels.classes(None).is_err() {
            return Ok((data, Vec::new()));
        }
        let names = if known.classes.is_empty() { labels.names().to_vec() } else { Vec::new() };
        Ok((data.with_labels(&labels)?, names))
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
            classes: self.names()?,
            skip_bad: self.skip_bad,
            resize: self.resize.as_deref().map(resize).transpose()?,
            filter: match self.filter {
                None | Some(Pixels::Bilinear) => Filter::Bilinear,
                Some(Pixels::Bicubic) => Filter::Bicubic,
                Some(Pixels::Nearest) => Filter::Nearest,
            },
            crop: self.crop.as_deref().map(|t| size("--crop", t)).transpose()?,
            pad: self.pad.as_deref().map(|t| size("--pad", t)).transpose()?,
            ..Options::default()
        })
    }
}

/// `256` for the shorter side, `28x28` for both.
pub(super) fn resize(text: &str) -> Result<Resize> {
    match text.trim().parse() {
        Ok(side) if side > 0 => Ok(Resize::Shorter(side)),
        _ => size("--resize", text).map(|(height, width)| Resize::To(height, width)),
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
