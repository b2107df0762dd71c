//! Arrays of one archive side by side: one for every input of a model.

use ndarray::{ArrayD, Axis, IxDyn, concatenate};
use taste_files::message;

use super::array::{Array, Stream, whole};
use crate::{
    Error, Keep, Layout, Problem,
    origin::Origin,
    source::{Batches, Facts, Rows, Source, elements},
};

/// Samples that are spread over arrays with as many rows.
#[derive(Debug)]
pub(super) struct Joined {
    arrays: Vec<(String, Array)>,
    /// How many entries of a sample each of them gives.
    widths: Vec<usize>,
    labels: Option<Array>,
    facts: Facts,
}

impl Joined {
    /// Arrays by name, each with one row a sample; with a length, rows are padded with NaN or cut.
    pub(super) fn new(
        origin: &Origin,
        arrays: Vec<(String, Array)>,
        labels: Option<Array>,
        length: Option<usize>,
    ) -> Result<Self, Error> {
        let counts = arrays.iter().map(|(_, array)| array).chain(&labels).map(Array::rows);
        let counts: Vec<usize> = counts.collect();
        if counts.iter().any(|count| *count != counts[0]) {
            let sizes =
                arrays.iter().map(|(name, a)| format!("{name} {}", message::shape(&a.shape)));
            let sizes: Vec<String> = sizes.collect();
            return Err(origin.error(format!(
                "its arrays do not have the same number of rows: {}",
                sizes.join(", ")
            )));
        }
        let own = |(_, array): &(String, Array)| elements(array.sample());
        let own = arrays.iter().map(own).collect::<Result<Vec<_>, Problem>>();
        let own = own.map_err(|e| origin.error(e))?;
        let widths: Vec<usize> = own.iter().map(|own| length.unwrap_or(*own)).collect();
        let facts = Facts {
            sample: vec![widths.iter().sum()],
            bytes: false,
            layout: Layout::Auto,
            columns: None,
            taken: None,
            texts: Vec::new(),
            sized: false,
        };
        elements(&facts.sample).map_err(|e| origin.error(e))?;
        Ok(Self { arrays, widths, labels, facts })
    }
}

/// Rows of as many entries as wanted: cut, or with NaN behind.
fn of_width(values: ArrayD<f32>, width: usize) -> ArrayD<f32> {
    let rows = values.shape()[0];
    let own = values.len() / rows.max(1);
    let values = values.into_shape_with_order(IxDyn(&[rows, own])).expect("rows");
    if own == width {
        return values;
    }
    ArrayD::from_shape_fn(IxDyn(&[rows, width]), |at| {
        if at[1] < own { values[[at[0], at[1]]] } else { f32::NAN }
    })
}

impl Source for Joined {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn count(&self) -> Option<usize> {
        self.arrays.first().map(|(_, array)| array.rows())
    }

    fn longest_lists(&self) -> Result<Vec<(String, usize)>, Error> {
        let rows = self.arrays.iter().filter(|(_, array)| array.sample().len() == 1);
        Ok(rows.map(|(name, array)| (name.clone(), array.sample()[0])).collect())
    }

    fn batches<'a>(&'a self, most: usize, keep: Keep<'a>) -> Result<Batches<'a>, Error> {
        let streams = self.arrays.iter().map(|(_, array)| array.stream());
        let mut streams: Vec<Stream<'a>> = streams.collect::<Result<_, _>>()?;
        let mut labels = self.labels.as_ref().map(Array::stream).transpose()?;
        let mut next = move || -> Result<Option<Rows>, Error> {
            let (mut index, mut parts) = (Vec::new(), Vec::new());
            for (stream, width) in streams.iter_mut().zip(&self.widths) {
                let Some((own, values)) = stream.next(most, &keep)? else { return Ok(None) };
                index = own;
                parts.push(of_width(values.into_f32(), *width));
            }
            let labels = match labels.as_mut().zip(self.labels.as_ref()) {
                Some((stream, array)) => {
                    let found = stream.next(most, &keep)?;
                    found.map(|(_, found)| whole(found, &array.origin)).transpose()?
                }
                None => None,
            };
            let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
            let values = concatenate(Axis(1), &views).expect("rows of one number");
            Ok(Some(Rows { index, values, labels, kept: Vec::new() }))
        };
        Ok(Box::new(std::iter::from_fn(move || next().transpose()).fuse()))
    }
}
