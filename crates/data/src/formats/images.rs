//! Images: one file, or a folder with a subfolder for each class.

use std::{
    io::Cursor,
    ops::Range,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use image::{ColorType, DynamicImage, ImageDecoder, ImageReader, Limits};
use ndarray::{Array3, ArrayD, Axis, IxDyn, stack};
use rayon::prelude::*;
use taste_choice::Choice;

use super::{Format, Found, ends};
use crate::{
    Error, Filter, Keep, Layout, Options, Problem, Resize,
    origin::{Origin, described},
    prepare::{Depth, crop, resize},
    skips::{Skips, too_many},
    source::{Batches, Facts, Rows, Source, elements},
};

pub(super) const FORMAT: Format = Format {
    choice: Choice {
        name: "image",
        usage: "x.png, x.jpg, x.webp, x.tif, or a folder of them",
        about: "PNG, JPEG, WebP and TIFF; the images of a folder lie in it, or in a subfolder for each class",
    },
    endings: ENDINGS,
    files: ["image", "images"],
    starts: Some(starts),
    is_text: false,
    in_folder: |name| ends(name, ENDINGS),
    together: None,
    open,
};

const ENDINGS: &[&str] = &[".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff"];

#[derive(Debug)]
struct Images {
    root: PathBuf,
    files: Vec<PathBuf>,
    /// The number of each file's class, if every file has one and labels are wanted.
    classes: Option<Vec<i64>>,
    shaping: Shaping,
    /// Whether the model decides about grey and colour.
    channels_wanted: bool,
    /// The first file that could be read, and its height and width.
    first: PathBuf,
    size: (usize, usize),
    facts: Facts,
    skip_bad: bool,
    skips: Skips,
    /// Files that lie beside the images and are none.
    others: Vec<PathBuf>,
    counted: OnceLock<usize>,
}

/// Whether bytes start as PNG, JPEG, TIFF or WebP do.
fn starts(opening: &[u8]) -> bool {
    let starts: [&[u8]; 4] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*"];
    starts.iter().any(|start| opening.starts_with(start))
        || (opening.starts_with(b"RIFF") && opening.get(8..12) == Some(b"WEBP"))
}

/// A single image.
fn open(found: &Found, options: &Options) -> Result<Box<dyn Source>, Error> {
    let path = found.origin.path();
    open_files(path, vec![path.to_owned()], None, Vec::new(), options)
}

/// Images in order, with the numbers of their classes and what else lies beside them.
pub(super) fn open_files(
    root: &Path,
    files: Vec<PathBuf>,
    classes: Option<Vec<i64>>,
    others: Vec<PathBuf>,
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
            Err(reason) => return Err(Error::at(file, Problem::Entry { line: None, reason })),
        }
    }
    let Some((first, (size, grey))) = found else {
        return Err(Error::at(root, "none of its images can be read"));
    };
    let shaping = Shaping::new(size, grey, options);
    let facts = shaping.facts(size).map_err(|e| Error::at(&first, e))?;
    Ok(Box::new(Images {
        root: root.to_owned(),
        files,
        classes,
        shaping,
        channels_wanted: options.sample_shape.is_some(),
        first,
        size,
        facts,
        skip_bad: options.skip_bad,
        skips,
        others,
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

/// What becomes of an image once it is decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shaping {
    channels: usize,
    resize: Option<Resize>,
    filter: Filter,
    crop: Option<(usize, usize)>,
}

impl Shaping {
    /// As options ask for it, by the height and width of the first image and whether that is grey.
    pub(crate) fn new(size: (usize, usize), grey: bool, options: &Options) -> Self {
        let Options { resize, filter, crop, .. } = *options;
        let mut shaping = Self { channels: if grey { 1 } else { 3 }, resize, filter, crop };
        let (height, width) = shaping.size(size);
        let shape = options.sample_shape.as_deref();
        if let Some(channels) = shape.and_then(|s| channels_of(s, height * width)) {
            shaping.channels = channels;
        }
        shaping
    }

    /// Height and width of what comes out.
    fn size(&self, size: (usize, usize)) -> (usize, usize) {
        self.crop.unwrap_or_else(|| self.resized(size))
    }

    /// Height and width after resizing.
    fn resized(&self, size: (usize, usize)) -> (usize, usize) {
        self.resize.map_or(size, |resize| resize.of(size))
    }

    /// What is known of images of which the first has this size.
    pub(crate) fn facts(&self, size: (usize, usize)) -> Result<Facts, Problem> {
        let (height, width) = self.size(size);
        let sample = vec![self.channels, height, width];
        elements(&sample)?;
        Ok(Facts {
            sample,
            bytes: true,
            layout: Layout::Nchw,
            columns: None,
            taken: None,
            texts: Vec::new(),
            sized: true,
        })
    }

    /// Resizes and crops.
    pub(crate) fn apply(&self, image: &DynamicImage) -> Result<Array3<f32>, Problem> {
        let mut pixels = pixels(image, self.channels);
        let (_, height, width) = pixels.dim();
        let wanted = self.resized((height, width));
        if wanted != (height, width) {
            elements(&[self.channels, wanted.0, wanted.1])?;
            let depth = if is_deep(image) { Depth::Floats } else { Depth::Bytes };
            pixels = resize(&pixels.view(), wanted, self.filter, depth);
        }
        if let Some(size) = self.crop.filter(|&size| size != wanted) {
            pixels = crop(&pixels.view(), size);
        }
        Ok(pixels)
    }
}

/// The bytes of an image file.
fn bytes_of(file: &Path) -> Result<Vec<u8>, String> {
    /// The largest image file.
    const MOST_BYTES: u64 = 1 << 29;
    let bytes = Origin::of(file).and_then(|o| o.opening(MOST_BYTES));
    bytes.map_err(|e| e.problem().to_string())
}

/// The most memory that decoding an image file may take.
const MOST_MEMORY: u64 = 1 << 30;

fn reader<B: AsRef<[u8]>>(bytes: B, memory: u64) -> Result<ImageReader<Cursor<B>>, String> {
    if bytes.as_ref().is_empty() {
        return Err("it is empty".to_owned());
    }
    let mut reader =
        ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|e| described(&e))?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(memory);
    reader.limits(limits);
    Ok(reader)
}

/// The image in some bytes.
pub(crate) fn decode(bytes: &[u8], memory: u64) -> Result<DynamicImage, String> {
    reader(bytes, memory)?.decode().map_err(broken)
}

/// Height and width, and whether it is grey, from an image's header.
fn look(file: &Path) -> Result<((usize, usize), bool), String> {
    let decoder = reader(bytes_of(file)?, MOST_MEMORY)?.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    let colour = decoder.color_type();
    Ok(((height as usize, width as usize), !colour.has_color()))
}

fn broken(problem: image::ImageError) -> String {
    match problem {
        image::ImageError::Unsupported(_) => "it is neither PNG, JPEG, WebP nor TIFF".to_owned(),
        other => format!("it can't be decoded: {other}"),
    }
}

/// Why one image stops everything, or can be left out.
enum Bad {
    Unreadable(String),
    Misfit(Problem),
}

impl Images {
    fn decode(&self, file: &Path) -> Result<Array3<f32>, Bad> {
        let image = bytes_of(file).and_then(|bytes| decode(&bytes, MOST_MEMORY));
        let image = image.map_err(Bad::Unreadable)?;
        if self.shaping.channels == 1 && !self.channels_wanted && image.color().has_color() {
            let first = self.first.display();
            return Err(Bad::Misfit(format!("it is in colour, and {first} is grey").into()));
        }
        let size = self.shaping.resized((image.height() as usize, image.width() as usize));
        if self.shaping.crop.is_none() && size != self.resized() {
            let (first, first_size) = (self.first.clone(), self.resized());
            return Err(Bad::Misfit(Problem::ImageSize { size, first, first_size }));
        }
        self.shaping.apply(&image).map_err(Bad::Misfit)
    }

    /// Height and width of the first image after resizing.
    fn resized(&self) -> (usize, usize) {
        self.shaping.resized(self.size)
    }

    /// Which images can be read, if that is known: by their numbers, their places among the files.
    fn known(&self) -> Option<impl Iterator<Item = (usize, usize)>> {
        self.count().map(|count| (0..count).map(|number| (number, self.skips.place(number))))
    }

    /// Images by number and place.
    fn numbered(&self, wanted: &[(usize, usize)]) -> Result<Rows, Error> {
        let decoding = wanted.par_iter().map(|&(_, place)| self.decode(&self.files[place]));
        let decoded: Vec<_> = taste_threads::within(|| decoding.collect());
        let mut images = Vec::new();
        for (&(_, place), result) in wanted.iter().zip(decoded) {
            let file = &self.files[place];
            images.push(result.map_err(|bad| match bad {
                Bad::Unreadable(why) if self.skip_bad => {
                    Error::at(file, format!("{why}, and it could be read before"))
                }
                Bad::Unreadable(reason) => Error::at(file, Problem::Entry { line: None, reason }),
                Bad::Misfit(problem) => Error::at(file, problem),
            })?);
        }
        Ok(self.rows(wanted, &images))
    }

    /// The images at some places that can be read, numbered from `next` on, as far as they are wanted; notes the others.
    fn first_seen(
        &self,
        places: Range<usize>,
        next: &mut usize,
        keep: &Keep<'_>,
    ) -> Result<Rows, Error> {
        let decoding = self.files[places.clone()].par_iter().map(|file| self.decode(file));
        let decoded: Vec<_> = taste_threads::within(|| decoding.collect());
        let (mut wanted, mut images) = (Vec::new(), Vec::new());
        for (place, result) in places.zip(decoded) {
            let file = &self.files[place];
            match result {
                Ok(pixels) => {
                    if keep(*next) {
                        wanted.push((*next, place));
                        images.push(pixels);
                    }
                    *next += 1;
                }
                Err(Bad::Unreadable(why)) => {
                    if !self.skips.note(place, file.display().to_string(), why) {
                        return Err(Error::at(&self.root, too_many()));
                    }
                }
                Err(Bad::Misfit(problem)) => return Err(Error::at(file, problem)),
            }
        }
        Ok(self.rows(&wanted, &images))
    }

    fn rows(&self, wanted: &[(usize, usize)], images: &[Array3<f32>]) -> Rows {
        let views: Vec<_> = images.iter().map(|image| image.view()).collect();
        let values = match &views[..] {
            [] => ArrayD::zeros(IxDyn(&[&[0], &self.facts.sample[..]].concat())),
            views => stack(Axis(0), views).expect("images of one size").into_dyn(),
        };
        let labels = self.classes.as_ref().map(|c| wanted.iter().map(|w| c[w.1]).collect());
        Rows { index: wanted.iter().map(|w| w.0).collect(), values, labels, kept: Vec::new() }
    }
}

impl Source for Images {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn labels_are_places(&self) -> bool {
        true
    }

    fn count(&self) -> Option<usize> {
        if self.skip_bad { self.counted.get().copied() } else { Some(self.files.len()) }
    }

    fn batches<'a>(&'a self, most: usize, keep: Keep<'a>) -> Result<Batches<'a>, Error> {
        let most = most.max(1);
        if let Some(known) = self.known() {
            let wanted: Vec<(usize, usize)> = known.filter(|w| keep(w.0)).collect();
            let starts = (0..wanted.len()).step_by(most);
            return Ok(Box::new(
                starts.map(move |start| {
                    self.numbered(&wanted[start..wanted.len().min(start + most)])
                }),
            ));
        }
        let mut next = 0;
        let starts = (0..self.files.len()).step_by(most);
        Ok(Box::new(starts.map(move |start| {
            let end = self.files.len().min(start + most);
            let rows = self.first_seen(start..end, &mut next, &keep)?;
            if end == self.files.len() {
                let _ = self.counted.set(next);
            }
            Ok(rows)
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
        let other = |file: &PathBuf| {
            (file.display().to_string(), "it is no PNG, JPEG, WebP or TIFF image".to_owned())
        };
        self.skips.list().into_iter().chain(self.others.iter().map(other)).collect()
    }
}

/// Whether pixels are more than bytes.
fn is_deep(image: &DynamicImage) -> bool {
    let bytes = [ColorType::L8, ColorType::La8, ColorType::Rgb8, ColorType::Rgba8];
    !bytes.contains(&image.color())
}

/// Channels × height × width on the scale 0..=255, whatever the depth; an alpha channel is left out.
fn pixels(image: &DynamicImage, channels: usize) -> Array3<f32> {
    let grey = !image.color().has_color();
    let deep = is_deep(image);
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
        // The weights of ITU-R BT.601, which PIL uses as well; bytes stay bytes.
        (_, 1) => {
            let mut grey = Array3::zeros((1, height, width));
            for (plane, weight) in planes.outer_iter().zip([0.299, 0.587, 0.114]) {
                grey.index_axis_mut(Axis(0), 0).scaled_add(weight, &plane);
            }
            if !deep {
                grey.mapv_inplace(f32::round);
            }
            grey
        }
        _ => planes.as_standard_layout().into_owned(),
    }
}
