//! From rows as a file has them to samples as the model takes them.

mod crop;
mod pad;
mod resize;
mod shape;
mod whole;

use ndarray::{ArrayD, Axis, IxDyn};
use taste_files::message;

pub(crate) use crop::crop;
pub(crate) use resize::{Depth, resize};
use shape::{Plan, Turn};
use whole::Whole;

use crate::{Error, Filter, Options, Problem, Sequences, source::Facts};

/// Names are not made up for the entries of longer sequences.
const MOST_NAMES: usize = 4096;

/// The steps, decided once for a file.
#[derive(Clone, Debug)]
pub(crate) struct Prepare {
    plan: Plan,
    resize: Option<(usize, usize)>,
    filter: Filter,
    depth: Depth,
    crop: Option<(usize, usize)>,
    pad: Option<(usize, usize)>,
    divisor: f32,
    mean: Vec<f32>,
    std: Vec<f32>,
    sequences: Option<(Sequences, Option<Vec<String>>)>,
    whole: Whole,
}

impl Prepare {
    /// Decides what has to be done, or says why nothing would help.
    pub(crate) fn new(name: &str, facts: &Facts, options: &Options) -> Result<Self, Error> {
        let refused = |problem: Problem| Error::new(name, problem);
        let sequences = options.sequences.as_ref().filter(|_| !options.only_kept);
        let sequences = sequences.filter(|s| matches!(facts.sample[..], [width] if s.fits(width)));
        let made = sequences.map(|s| Facts { sample: vec![s.width()], ..facts.clone() });
        let facts = made.as_ref().unwrap_or(facts);
        let plan = Plan::new(facts, options).map_err(refused)?;
        let is_image = plan.image.is_some();
        let mut size = plan.image.map_or((0, 0), |[_, height, width]| (height, width));
        // A step that changes nothing is none.
        let mut step = |wanted: Option<(usize, usize)>| {
            let wanted = wanted.filter(|&wanted| is_image && wanted != size);
            size = wanted.unwrap_or(size);
            wanted
        };
        // Images were resized and cropped when they were read, each by its own size.
        let [resize, crop] = if facts.sized {
            [None, None]
        } else {
            let first = plan.image.map_or((0, 0), |[_, height, width]| (height, width));
            [step(options.resize.map(|r| r.of(first))), step(options.crop)]
        };
        let pad = step(options.pad);
        check_numbers(&plan, options).map_err(|e| refused(Problem::Setting(e)))?;
        let divisor = if facts.bytes && !options.raw { 255.0 } else { 1.0 };
        let (mean, std) = (options.mean.clone(), options.std.clone());
        let depth = if facts.bytes { Depth::Bytes } else { Depth::Floats };
        let filter = options.filter;
        let named = |s: &Sequences| (s.width() <= MOST_NAMES).then(|| s.names());
        let sequences = sequences.map(|s| (s.clone(), named(s)));
        let whole = if options.only_kept { Whole::default() } else { Whole::new(options) };
        Ok(Self { plan, resize, filter, depth, crop, pad, divisor, mean, std, sequences, whole })
    }

    /// The sizes of a sample that comes out.
    pub(crate) fn sample_shape(&self) -> &[usize] {
        &self.plan.last
    }

    /// The names of a sample's entries, where they are made here.
    pub(crate) fn columns(&self) -> Option<&[String]> {
        self.sequences.as_ref()?.1.as_deref()
    }

    /// Whether the file holds images with their channels last.
    pub(crate) fn has_channels_last(&self) -> bool {
        self.plan.first_turn == Turn::ChannelsFirst
    }

    /// Whether it does nothing but to give samples their shape, and has nothing to look for in them.
    pub(crate) fn is_idle(&self) -> bool {
        let turns = [self.plan.first_turn, self.plan.last_turn];
        let sizes = [self.resize, self.crop, self.pad];
        turns == [Turn::None; 2]
            && sizes == [None; 3]
            && self.divisor.to_bits() == 1f32.to_bits()
            && self.mean.is_empty()
            && self.std.is_empty()
            && self.sequences.is_none()
            && self.whole.is_idle()
    }

    /// Prepares samples along the first axis, of what is called `name` in messages. `columns` are those of the file, and `row`
    /// is the place of a sample there.
    pub(crate) fn samples(
        &self,
        name: &str,
        rows: ArrayD<f32>,
        columns: Option<&[String]>,
        row: impl Fn(usize) -> usize,
    ) -> Result<ArrayD<f32>, Error> {
        let values = self.apply(rows);
        self.whole.check(name, &values, self.columns().or(columns), row)?;
        Ok(values)
    }

    fn apply(&self, rows: ArrayD<f32>) -> ArrayD<f32> {
        let rows = match &self.sequences {
            Some((sequences, _)) => sequences.apply(&rows),
            None => rows,
        };
        let mut values = turned(rows, &self.plan.first, self.plan.first_turn);
        if let Some(size) = self.resize {
            values = resize::all(&values, size, self.filter, self.depth);
        }
        if let Some(size) = self.crop {
            values = crop::all(&values, size);
        }
        if let Some(size) = self.pad {
            values = pad::all(&values, size);
        }
        self.normalise(&mut values);
        let n = values.shape()[0];
        let values = match self.plan.last_turn {
            Turn::None => values,
            turn => turned(values, &[], turn),
        };
        reshaped(values, n, &self.plan.last)
    }

    fn normalise(&self, values: &mut ArrayD<f32>) {
        if self.divisor.to_bits() != 1f32.to_bits() {
            values.mapv_inplace(|v| v / self.divisor);
        }
        let at = |numbers: &[f32], channel: usize, otherwise: f32| match numbers {
            [] => otherwise,
            [one] => *one,
            many => many[channel],
        };
        if self.mean.len().max(self.std.len()) <= 1 {
            if !(self.mean.is_empty() && self.std.is_empty()) {
                let (mean, std) = (at(&self.mean, 0, 0.0), at(&self.std, 0, 1.0));
                values.mapv_inplace(|v| (v - mean) / std);
            }
            return;
        }
        for (channel, mut part) in values.axis_iter_mut(Axis(self.plan.channel_axis)).enumerate() {
            let (mean, std) = (at(&self.mean, channel, 0.0), at(&self.std, channel, 1.0));
            part.mapv_inplace(|v| (v - mean) / std);
        }
    }
}

fn check_numbers(plan: &Plan, options: &Options) -> Result<(), String> {
    for (what, numbers) in [("mean", &options.mean), ("std", &options.std)] {
        let channels = plan.channels;
        if numbers.len() > 1 && numbers.len() != channels {
            return Err(format!(
                "{what} has {} numbers, and a sample of shape {} has {channels} channels: give one number, or one for each",
                numbers.len(),
                message::shape(&plan.last)
            ));
        }
        if let Some(bad) = numbers.iter().find(|v| !v.is_finite()) {
            return Err(format!("{what} holds {bad}, which is no finite number"));
        }
    }
    match options.std.iter().find(|&&v| v <= 0.0) {
        Some(bad) => Err(format!("std holds {bad}; it must be above zero")),
        None => Ok(()),
    }
}

/// Reshapes each sample, if a shape is given, then moves the channels.
fn turned(values: ArrayD<f32>, shape: &[usize], turn: Turn) -> ArrayD<f32> {
    let n = values.shape()[0];
    let values = if shape.is_empty() { values } else { reshaped(values, n, shape) };
    match turn {
        Turn::None => values,
        Turn::ChannelsFirst => values.permuted_axes(IxDyn(&[0, 3, 1, 2])),
        Turn::ChannelsLast => values.permuted_axes(IxDyn(&[0, 2, 3, 1])),
    }
}

fn reshaped(values: ArrayD<f32>, n: usize, sample: &[usize]) -> ArrayD<f32> {
    let shape: Vec<usize> = std::iter::once(n).chain(sample.iter().copied()).collect();
    let values =
        if values.is_standard_layout() { values } else { values.as_standard_layout().into_owned() };
    values.into_shape_with_order(IxDyn(&shape)).expect("the plan keeps the number of entries")
}
