//! Data to corrupt, as their files hold them.

use std::path::Path;

use ndarray::{ArrayD, Axis};
use taste_data::{Dataset, Layout, Options, Samples};
use taste_detector::{Error, refused};

use super::Picture;

/// A data set whose values are those of its files: bytes are not scaled.
#[derive(Debug)]
pub struct Source {
    data: Dataset,
    /// Whether the file keeps channels last.
    channels_last: bool,
    /// Columns of a table that come along.
    kept: Vec<String>,
}

impl Source {
    /// Opens files as `options` say, but for scaling and normalisation.
    pub fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        let plain = Options {
            raw: true,
            mean: Vec::new(),
            std: Vec::new(),
            labels: true,
            ..options.clone()
        };
        let kept = options.keep.clone();
        let data = Dataset::open(path, &plain)?;
        let few = |n: usize| n == 1 || n == 3;
        // Floats say nothing of their layout but by their sizes.
        let guessed = matches!(*data.sample_shape(), [a, _, c] if few(c) && !few(a));
        if plain.layout == Layout::Auto && guessed {
            let data = Dataset::open(path, &Options { layout: Layout::Nhwc, ..plain })?;
            return Ok(Self { data, channels_last: true, kept });
        }
        let channels_last = data.has_channels_last();
        Ok(Self { data, channels_last, kept })
    }

    /// The samples.
    pub fn data(&self) -> &Dataset {
        &self.data
    }

    /// Whether values are bytes.
    pub fn holds_bytes(&self) -> bool {
        self.data.holds_bytes()
    }

    /// Columns of a table that come along.
    pub(super) fn kept(&self) -> &[String] {
        &self.kept
    }

    /// The shape of a sample that is written: that of the file.
    pub(super) fn written_shape(&self) -> Vec<usize> {
        match *self.data.sample_shape() {
            [c, h, w] if self.channels_last => vec![h, w, c],
            [1, h, w] if self.data.file_sample_shape().len() == 2 => vec![h, w],
            ref shape => shape.to_vec(),
        }
    }

    /// A sample as a picture with entries from 0 to 1.
    pub(super) fn picture(&self, sample: ArrayD<f32>, place: usize) -> Result<Picture, Error> {
        let name = self.data.name();
        let unit = if self.holds_bytes() { 255.0 } else { 1.0 };
        let sample = if sample.ndim() == 2 { sample.insert_axis(Axis(0)) } else { sample };
        let scaled = sample.mapv(|v| f64::from(v) / unit);
        let picture = scaled.into_dimensionality().expect("a shape that was looked at");
        match picture.iter().find(|v: &&f64| !(0.0..=1.0).contains(*v)) {
            None => Ok(picture),
            Some(v) => Err(refused(format!(
                "{name}: sample {place} (counted from 0) holds {v}, and pictures of floats have entries from 0 to 1"
            ))),
        }
    }

    /// A picture in the layout of the file.
    pub(super) fn laid_out(&self, picture: Picture) -> ArrayD<f64> {
        let picture = if self.channels_last { picture.permuted_axes([1, 2, 0]) } else { picture };
        let whole = picture.as_standard_layout().into_owned();
        let shape = self.written_shape();
        whole.into_shape_with_order(shape).expect("as many entries as before")
    }
}
