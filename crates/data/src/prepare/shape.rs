//! Which axes a file has, which the model wants, and the way from one to the other.

use taste_files::message;

use crate::{
    Layout, Options, Problem,
    source::{Facts, elements},
};

/// A move of the channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    None,
    ChannelsFirst,
    ChannelsLast,
}

/// The way of a sample's shape: reshape, turn, (resize and pad,) turn, reshape.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The shape before the first turn.
    pub(super) first: Vec<usize>,
    pub(super) first_turn: Turn,
    /// Channels, height and width after the first turn, if it is an image.
    pub(super) image: Option<[usize; 3]>,
    /// The axis of the channels, with the batch in front, and their number.
    pub(super) channel_axis: usize,
    pub(super) channels: usize,
    pub(super) last_turn: Turn,
    /// The shape that comes out.
    pub(super) last: Vec<usize>,
}

impl Plan {
    pub(super) fn new(facts: &Facts, options: &Options) -> Result<Self, Problem> {
        let wanted = options.sample_shape.as_deref();
        let plan = match facts.sample[..] {
            [a, b, c] => Self::of_image([a, b, c], channels_last([a, b, c], facts, options)),
            [h, w] if facts.bytes || resized(options) || wanted.is_some_and(|s| s.len() == 3) => {
                Self::of_image([1, h, w], false)
            }
            _ => Self::of_numbers(facts, wanted),
        };
        if resized(options) && plan.image.is_none() {
            let shape = message::shape(&facts.sample);
            return Err(Problem::Setting(format!(
                "samples of shape {shape} are no images, so they can't be resized, cropped or padded"
            )));
        }
        plan.sized(facts, options)?.fitted(facts, options)
    }

    fn of_image(shape: [usize; 3], channels_last: bool) -> Self {
        let [a, b, c] = shape;
        let image = if channels_last { [c, a, b] } else { shape };
        Self {
            first: shape.to_vec(),
            first_turn: if channels_last { Turn::ChannelsFirst } else { Turn::None },
            image: Some(image),
            channel_axis: 1,
            channels: image[0],
            last_turn: Turn::None,
            last: image.to_vec(),
        }
    }

    /// Rows that are no images, or flat ones of which the model makes images.
    fn of_numbers(facts: &Facts, wanted: Option<&[usize]>) -> Self {
        let product = |shape: &[usize]| elements(shape).ok();
        let shape = match wanted {
            Some(shape) if facts.sample.len() < 2 && product(shape) == product(&facts.sample) => {
                shape
            }
            _ => &facts.sample,
        };
        let last = matches!(shape, [first, _, last] if few(*last) && !few(*first));
        Self {
            first: shape.to_vec(),
            first_turn: Turn::None,
            image: None,
            channel_axis: if last { 3 } else { usize::from(!shape.is_empty()) },
            channels: if last { shape[2] } else { shape.first().copied().unwrap_or(1) },
            last_turn: Turn::None,
            last: shape.to_vec(),
        }
    }

    /// With the size that images are brought to.
    fn sized(mut self, facts: &Facts, options: &Options) -> Result<Self, Problem> {
        let Some([channels, height, width]) = self.image else { return Ok(self) };
        let resize =
            options.resize.filter(|_| !facts.sized).map(|resize| resize.of((height, width)));
        let (height, width) = resize.unwrap_or((height, width));
        if height == 0 || width == 0 {
            let message = format!("images can't be resized to {height} × {width}");
            return Err(Problem::Setting(message));
        }
        elements(&[channels, height, width])?;
        let (height, width) = options.crop.unwrap_or((height, width));
        let (padded_height, padded_width) = options.pad.unwrap_or((height, width));
        if padded_height < height || padded_width < width {
            return Err(Problem::Setting(format!(
                "images of {height} × {width} can't be padded to {padded_height} × {padded_width}, which is smaller"
            )));
        }
        self.last = vec![channels, padded_height, padded_width];
        elements(&self.last)?;
        Ok(self)
    }

    /// With the shape that the model wants.
    fn fitted(mut self, facts: &Facts, options: &Options) -> Result<Self, Problem> {
        let Some(wanted) = options.sample_shape.as_deref() else { return Ok(self) };
        if self.last == wanted {
            return Ok(self);
        }
        let same = elements(wanted).ok() == elements(&self.last).ok();
        if let (Some(_), &[channels, height, width]) = (self.image, &self.last[..]) {
            if wanted == [height, width, channels] {
                self.last_turn = Turn::ChannelsLast;
            } else if wanted.len() <= 1 && self.first_turn == Turn::ChannelsFirst {
                // Flat rows keep the order that the file has.
                self.last_turn = Turn::ChannelsLast;
            }
        }
        let turned = self.last_turn == Turn::ChannelsLast;
        let flat = wanted.len() <= 1 || self.last.len() <= 1;
        let squeezed =
            |shape: &[usize]| shape.iter().copied().filter(|&d| d != 1).collect::<Vec<_>>();
        if same && (turned || flat || squeezed(&self.last) == squeezed(wanted)) {
            self.last = wanted.to_vec();
            return Ok(self);
        }
        let only_size = matches!((self.image, wanted), (Some([channels, ..]), &[first, _, last])
            if channels == first || channels == last);
        Err(Problem::Shape {
            found: facts.sample.clone(),
            wanted: wanted.to_vec(),
            columns: facts.columns.clone(),
            only_size,
        })
    }
}

fn resized(options: &Options) -> bool {
    options.resize.is_some() || options.crop.is_some() || options.pad.is_some()
}

fn few(channels: usize) -> bool {
    matches!(channels, 1 | 3 | 4)
}

fn channels_last(shape: [usize; 3], facts: &Facts, options: &Options) -> bool {
    let [a, b, c] = shape;
    match (facts.layout, options.layout) {
        (Layout::Nchw, _) | (Layout::Auto, Layout::Nchw) => return false,
        (Layout::Nhwc, _) | (Layout::Auto, Layout::Nhwc) => return true,
        (Layout::Auto, Layout::Auto) => {}
    }
    let by_looks = facts.bytes && few(c) && !few(a);
    match options.sample_shape.as_deref() {
        Some(&[x, _, z]) if resized(options) => {
            let channels = if few(z) && !few(x) { z } else { x };
            a != channels && c == channels
        }
        // As it is, if it fits so; but bytes that look like images are turned there and back again, so that numbers
        // for each channel meet the channels.
        Some(wanted) if wanted == shape => by_looks,
        Some(wanted) if wanted == [c, a, b] => true,
        _ => by_looks,
    }
}
