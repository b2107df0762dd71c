//! Whole numbers for the inputs that take no others.

use std::ops::Range;

use ndarray::ArrayD;
use taste_files::message::shortened;

use crate::{Error, Options, Problem, Takes, error::MOST_NAME};

/// Single precision tells all whole numbers below this apart.
const MOST: f32 = (1 << 24) as f32;

/// The entries of samples that have to be whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Whole {
    inputs: Vec<(Range<usize>, String, Takes)>,
}

impl Whole {
    pub(crate) fn new(options: &Options) -> Self {
        let (mut inputs, mut from) = (Vec::new(), 0usize);
        for input in &options.inputs {
            let to = from.saturating_add(input.width.unwrap_or(usize::MAX));
            if input.takes != Takes::Numbers {
                inputs.push((from..to, input.name.clone(), input.takes));
            }
            from = to;
        }
        Self { inputs }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.inputs.is_empty()
    }

    /// Fails at the first entry that its input can't take as it is. What is missing is no number. `row` is the place of a
    /// sample among the rows of what is called `name`.
    pub(crate) fn check(
        &self,
        name: &str,
        values: &ArrayD<f32>,
        columns: Option<&[String]>,
        row: impl Fn(usize) -> usize,
    ) -> Result<(), Error> {
        if self.is_idle() {
            return Ok(());
        }
        let each = values.len().checked_div(values.shape()[0]).unwrap_or(0).max(1);
        for (at, &value) in values.iter().enumerate() {
            let (sample, entry) = (at / each, at % each);
            let Some((_, input, takes)) = self.inputs.iter().find(|i| i.0.contains(&entry)) else {
                continue;
            };
            let reason = if value.is_finite() && value.fract() != 0.0 {
                format!(
                    "{value} is no whole number, and the input {input:?} of the model takes no others"
                )
            } else if *takes == Takes::Codes && value.is_finite() && value.abs() >= MOST {
                format!(
                    "{value} is too large for the input {input:?} of the model: samples are held in single precision, which \
                     tells whole numbers apart below {MOST}; number such codes from 0 on before the model is made, or have it \
                     take them as words"
                )
            } else {
                continue;
            };
            let place = match columns.and_then(|names| names.get(entry)) {
                Some(column) => format!("column {:?}", shortened(column, MOST_NAME)),
                None => format!("entry {entry}"),
            };
            let reason = format!("row {} (counted from 0), {place}: {reason}", row(sample));
            return Err(Error::new(name, Problem::Whole(reason)));
        }
        Ok(())
    }
}
