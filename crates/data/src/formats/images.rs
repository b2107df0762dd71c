//! Images: one file, or a folder with a subfolder for each class.

use std::{
    io::Cursor,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use image::{ColorType, DynamicImage, ImageDecoder, ImageReader, Limits};
use ndarray::{Array3, Axis, stack};
use rayon::prelude::*;

use super::Found;
use crate::{
    Error, Layout, Options,
    origin::{Origin, described},
    prepare::resize,
    skips::{HINT, Skips, too_many},
    source::{Batches, Facts, Rows, Source, elements},
};

#[derive(Debug)]
struct Images {
    root: PathBuf,
    files: Vec<PathBuf>,
    /// The number of each file's class, if every file has one.
    classes: Option<Vec<i64>>,
    channels: usize,
    /// Whether the model decides about grey and colour.
    channels_wanted: bool,
    resize: Option<(usize, usize)>,
    /// Whether how data are read was settled before.
    settled: bool,
    /// The first file that could be read, and its height and width.
    first: PathBuf,
    size: (usize, usize),
    facts: Facts,
    skip_bad: bool,
    skips: Skips,
    counted: OnceLock<usize>,
}

/// Whether bytes start as PNG or JPEG do.
pub(super) fn starts(opening: &[u8]) -> bool {
    opening.starts_with(b"\x89PNG\r\n\x1a\n") || opening.starts_with(b"\xff\xd8\xff")
}

/// A single image.
pub(super) fn open(found: &Found, options: &Options) -> Result<Box<dyn Source>, Error> {
    let path = found.origin.path();
    open_files(path, vec![path.to_owned()], None, options)
}

/// Images in order, with the numbers of their classes.
pub(super) fn open_files(
    root: &Path,
    files: Vec<PathBuf>,
    classes: Option<Vec<i64>>,
    options: &Options,
) -> Result<Box<dyn Source>, Error> {
    let skips = Skips::default();
    let mut found = None;
    for (place, file) in files.iter().enumerate() {
        match look(file) {
            Ok(size_and_colour) => {
                found = Some((file.clone(), size_and_colour));
                break;
            }
            Err(why) if options.skip_bad => {
                if !skips.note(place, file.display().to_string(), why) {
                    return Err(Error::at(root, too_many()));
                }
            }
            Err(why) => return Err(Error::at(file, format!("{why}{HINT}"))),
        }
    }
    let Some((first, (size, grey))) = found else {
        return Err(Error::at(root, "none of its images can be read"));
    };
    let (height, width) = options.resize.unwrap_or(size);
    let wanted = options.sample_shape.as_deref().map(|s| channels_of(s, height * width));
    let channels = wanted.flatten().unwrap_or(if grey { 1 } else { 3 });
    let sample = vec![channels, height, width];
    elements(&sample).map_err(|e| Error::at(&first, e))?;
    let facts = Facts { sample, bytes: true, layout: Layout::Nchw, columns: None, taken: None };
    Ok(Box::new(Images {
        root: root.to_owned(),
        files,
        classes,
        channels,
        channels_wanted: wanted.is_some(),
        resize: options.resize,
        settled: options.settled,
        first,
        size,
        facts,
        skip_bad: options.skip_bad,
        skips,
        counted: OnceLock::new(),
    }))
}

/// Grey or colour, as the model's sample shape tells.
fn channels_of(wanted: &[usize], pixels: usize) -> Option<usize> {
    let plain = |channels: &usize| matches!(channels, 1 | 3);
    match wanted {
        [first, _, last] => [*first, *last].into_iter().find(plain),
        [_, _] => Some(1),
        [flat] if *flat == pixels => Some(1),
        _ => None,
    }
}

fn reader(file: &Path) -> Result<ImageReader<Cursor<Vec<u8>>>, String> {
    /// The largest image file.
    const MOST_BYTES: u64 = 1 << 29;
    let bytes = Origin::of(file).and_then(|o| o.opening(MOST_BYTES)).map_err(|e| match e {
        Error::File { message, .. } => message,
        other => other.to_string(),
    })?;
    if bytes.is_empty() {
        return Err("it is empty".to_owned());
    }
    let mut reader =
        ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|e| described(&e))?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(1 << 30);
    reader.limits(limits);
    Ok(reader)
}

/// Height and width, and whether it is grey, from an image's header.
fn look(file: &Path) -> Result<((usize, usize), bool), String> {
    let decoder = reader(file)?.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    let colour = decoder.color_type();
    Ok(((height as usize, width as usize), !colour.has_color()))
}

fn broken(problem: image::ImageError) -> String {
    match problem {
        image::ImageError::Unsupported(_) => "it is neither PNG nor JPEG".to_owned(),
        other => format!("it can't be decoded: {other}"),
    }
}

/// Why one image stops everything, or can be left out.
enum Bad {
    Unreadable(String),
    Misfit(String),
}

impl Images {
    fn decode(&self, file: &Path) -> Result<Array3<f32>, Bad> {
        let image = reader(file).and_then(|r| r.decode().map_err(broken));
        let image = image.map_err(Bad::Unreadable)?;
        if self.channels == 1 && !self.channels_wanted && image.color().has_color() {
            let first = self.first.display();
            return Err(Bad::Misfit(format!("it is in colour, and {first} is grey")));
        }
        let pixels = pixels(&image, self.channels);
        let (_, height, width) = pixels.dim();
        match self.resize {
            Some(size) if size != (height, width) => Ok(resize(&pixels.view(), size)),
            None if self.size != (height, width) => {
                let (first, (h, w)) = (self.first.display(), self.size);
                let remedy = if self.settled {
                    "a detector that was fitted with --resize brings all to one size"
                } else {
                    "--resize brings all to one size"
                };
                Err(Bad::Misfit(format!(
                    "it is {height} × {width}, and {first} is {h} × {w}; {remedy}"
                )))
            }
            _ => Ok(pixels),
        }
    }

    fn batch(&self, from: usize, to: usize) -> Result<Option<Rows>, Error> {
        let decoding = self.files[from..to].par_iter().map(|file| self.decode(file));
        let decoded: Vec<_> = taste_threads::within(|| decoding.collect());
        let (mut good, mut labels) = (Vec::new(), Vec::new());
        for (place, result) in (from..to).zip(decoded) {
            let file = &self.files[place];
            match result {
                Ok(pixels) => {
                    good.push(pixels);
                    labels.extend(self.classes.as_ref().map(|c| c[place]));
                }
                Err(Bad::Unreadable(why)) if self.skip_bad => {
                    if !self.skips.note(place, file.display().to_string(), why) {
                        return Err(Error::at(&self.root, too_many()));
                    }
                }
                Err(Bad::Unreadable(why)) => return Err(Error::at(file, format!("{why}{HINT}"))),
                Err(Bad::Misfit(why)) => return Err(Error::at(file, why)),
            }
        }
        if good.is_empty() {
            return Ok(None);
        }
        let views: Vec<_> = good.iter().map(|picture| picture.view()).collect();
        let values = stack(Axis(0), &views).expect("pictures of one size").into_dyn();
        Ok(Some(Rows { values, labels: self.classes.is_some().then_some(labels) }))
    }
}

impl Source for Images {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn count(&self) -> Option<usize> {
        if self.skip_bad { self.counted.get().copied() } else { Some(self.files.len()) }
    }

    fn batches(&self, most: usize) -> Result<Batches<'_>, Error> {
        let mut rows = 0;
        let starts = (0..self.files.len()).step_by(most.max(1));
        Ok(Box::new(starts.filter_map(move |from| {
            let to = self.files.len().min(from + most);
            let batch = self.batch(from, to);
            if let Ok(Some(batch)) = &batch {
                rows += batch.values.shape()[0];
            }
            if to == self.files.len() && batch.is_ok() {
                let _ = self.counted.set(rows);
            }
            batch.transpose()
        })))
    }

    fn row_name(&self, index: usize) -> Option<String> {
        self.files.get(self.skips.place(index)).map(|file| file.display().to_string())
    }

    fn place(&self, index: usize) -> usize {
        self.skips.place(index)
    }

    fn skipped_count(&self) -> usize {
        self.skips.count()
    }

    fn skipped(&self) -> Vec<(String, String)> {
        self.skips.list()
    }
}

/// Channels × height × width on the scale 0..=255, whatever the depth; an alpha channel is left out.
fn pixels(image: &DynamicImage, channels: usize) -> Array3<f32> {
    let grey = !image.color().has_color();
    let deep = !matches!(
        image.color(),
        ColorType::L8 | ColorType::La8 | ColorType::Rgb8 | ColorType::Rgba8
    );
    let (height, width) = (image.height() as usize, image.width() as usize);
    let stored = if grey { 1 } else { 3 };
    // 65535 / 255 = 257.
    let deep_values = |values: Vec<u16>| values.into_iter().map(|v| f32::from(v) / 257.0).collect();
    let values: Vec<f32> = match (grey, deep) {
        (true, false) => image.to_luma8().into_raw().into_iter().map(f32::from).collect(),
        (false, false) => image.to_rgb8().into_raw().into_iter().map(f32::from).collect(),
        (true, true) => deep_values(image.to_luma16().into_raw()),
        (false, true) => deep_values(image.to_rgb16().into_raw()),
    };
    let interleaved = Array3::from_shape_vec((height, width, stored), values).expect("as decoded");
    let planes = interleaved.permuted_axes((2, 0, 1));
    match (stored, channels) {
        (1, _) => {
            let plane = planes.index_axis(Axis(0), 0);
            stack(Axis(0), &vec![plane; channels]).expect("the same plane")
        }
        // The weights of ITU-R BT.601, which PIL uses as well.
        (_, 1) => {
            let mut grey = Array3::zeros((1, height, width));
            for (plane, weight) in planes.outer_iter().zip([0.299, 0.587, 0.114]) {
                grey.index_axis_mut(Axis(0), 0).scaled_add(weight, &plane);
            }
            grey
        }
        _ => planes.as_standard_layout().into_owned(),
    }
}
