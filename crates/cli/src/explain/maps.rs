//! Maps as an array: a row for every row of the data.

use std::path::Path;

use anyhow::Result;
use ndarray::{ArrayD, Axis, IxDyn, Slice};
use taste_data::npy::Writer;

/// An array that is being written; rows of data that were left out hold NaN.
pub(super) struct Maps {
    writer: Writer<f32>,
    shape: Vec<usize>,
    next: usize,
    rows: usize,
}

impl Maps {
    pub(super) fn create(path: &Path, rows: usize, shape: &[usize]) -> Result<Self> {
        let whole: Vec<usize> = std::iter::once(rows).chain(shape.iter().copied()).collect();
        let writer = Writer::create(path, &whole)?;
        Ok(Self { writer, shape: shape.to_vec(), next: 0, rows })
    }

    /// Adds the maps of samples at these places, which ascend.
    pub(super) fn append(&mut self, maps: &ArrayD<f32>, places: &[usize]) -> Result<()> {
        if places.first() == Some(&self.next)
            && places.last() == Some(&(self.next + places.len() - 1))
        {
            self.writer.append(&maps.view())?;
            self.next += places.len();
            return Ok(());
        }
        for (i, &place) in places.iter().enumerate() {
            self.fill(place)?;
            self.writer.append(&maps.slice_axis(Axis(0), Slice::from(i..=i)))?;
            self.next += 1;
        }
        Ok(())
    }

    /// Rows without a map up to a place.
    fn fill(&mut self, place: usize) -> Result<()> {
        let shape: Vec<usize> = std::iter::once(1).chain(self.shape.iter().copied()).collect();
        let nothing = ArrayD::from_elem(IxDyn(&shape), f32::NAN);
        while self.next < place {
            self.writer.append(&nothing.view())?;
            self.next += 1;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<()> {
        self.fill(self.rows)?;
        Ok(self.writer.finish()?)
    }
}
