//! Samples brought to mean 0 and deviation 1.

use ndarray::{ArrayD, IxDyn};
use taste_data::{Chunk, InMemory, Mapped, Samples};
use taste_graph::{Build, Id, OpError, Tensor};
use taste_stein::fields::InputMap;

use crate::Error;

/// Means and deviations: one for each entry of a row, or one for all pixels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Standard {
    mean: ArrayD<f64>,
    /// 1 for what does not vary.
    deviation: ArrayD<f64>,
    /// 1/deviation; 0 for what does not vary: it has no unit to be measured in, and networks learn nothing from it.
    inverse: ArrayD<f64>,
}

impl Standard {
    /// In one pass over the samples (Welford 1962).
    pub(crate) fn of(samples: &dyn Samples) -> Result<Self, Error> {
        let shape = samples.sample_shape();
        let entries: usize = shape.iter().product();
        let by_entry = shape.len() == 1;
        let width = if by_entry { entries } else { 1 };
        let (mut count, mut mean, mut square) = (0.0, vec![0.0; width], vec![0.0; width]);
        for chunk in samples.chunks(256)? {
            for row in chunk?.values.outer_iter().filter(|r| r.iter().all(|v| v.is_finite())) {
                if by_entry {
                    count += 1.0;
                }
                for (at, &value) in row.iter().enumerate() {
                    if !by_entry {
                        count += 1.0;
                    }
                    let slot = at % width;
                    let gap = f64::from(value) - mean[slot];
                    mean[slot] += gap / count;
                    square[slot] += gap * (f64::from(value) - mean[slot]);
                }
            }
        }
        let deviation = square.iter().zip(&mean).map(|(square, mean)| {
            let deviation = (square / f64::max(count, 1.0)).sqrt();
            // Below what single precision resolves, whatever the unit.
            let varies = deviation > 1e-7 * mean.abs() && deviation > 1e-30;
            (varies && deviation.is_finite()).then_some(deviation)
        });
        let deviation: Vec<Option<f64>> = deviation.collect();
        let inverse = deviation.iter().map(|d| d.map_or(0.0, f64::recip)).collect();
        let deviation = deviation.iter().map(|d| d.unwrap_or(1.0)).collect();
        let shaped = |values: Vec<f64>| {
            let shape = if by_entry { vec![width] } else { vec![] };
            ArrayD::from_shape_vec(IxDyn(&shape), values)
                .map_err(|e| Error::Graph(OpError::invalid(e.to_string())))
        };
        Ok(Self { deviation: shaped(deviation)?, inverse: shaped(inverse)?, mean: shaped(mean)? })
    }

    /// Leaves samples as they are.
    pub(crate) fn none() -> Self {
        let [zero, one] = [0.0, 1.0].map(|v| ArrayD::from_elem(IxDyn(&[]), v));
        Self { mean: zero, deviation: one.clone(), inverse: one }
    }

    /// Of targets, by column.
    pub(crate) fn of_rows(rows: &ArrayD<f32>) -> Result<Self, Error> {
        Self::of(&InMemory::new("targets", rows.clone()))
    }

    /// z = scale·x + shift, in the words of score models.
    pub(crate) fn map(&self) -> Result<InputMap, Error> {
        let scale: Vec<f64> = self.deviation.iter().map(|d| 1.0 / d).collect();
        let shift = self.mean.iter().zip(&scale).map(|(m, a)| -m * a).collect();
        Ok(InputMap::new(scale, shift)?)
    }

    /// The deviations: one for all entries, or one each.
    pub(crate) fn deviations(&self) -> Vec<f64> {
        self.deviation.iter().copied().collect()
    }

    /// Samples in standardised coordinates.
    pub(crate) fn forth(&self, samples: &ArrayD<f32>) -> ArrayD<f32> {
        let (mean, inverse) = (single(&self.mean), single(&self.inverse));
        (samples - &mean) * &inverse
    }

    /// A data set in standardised coordinates.
    pub(crate) fn view<'a>(&'a self, samples: &'a dyn Samples) -> impl Samples + Copy + 'a {
        Mapped::new(samples, move || {
            move |mut chunk: Chunk| {
                chunk.values = self.forth(&chunk.values);
                chunk
            }
        })
    }

    /// Samples from standardised coordinates.
    pub(crate) fn back(&self, samples: &ArrayD<f32>) -> ArrayD<f32> {
        samples * &single(&self.deviation) + &single(&self.mean)
    }

    /// z·deviation + mean, for results.
    pub(crate) fn undo(&self, b: &mut Build<'_>, z: Id) -> Result<Id, OpError> {
        let deviation = b.graph_mut().stored(Tensor::from(self.deviation.clone()));
        let mean = b.graph_mut().stored(Tensor::from(self.mean.clone()));
        let scaled = b.mul(z, deviation)?;
        b.add(scaled, mean)
    }

    /// The deviations, for the manifest.
    pub(crate) fn describe(&self) -> serde_json::Value {
        match self.deviation.len() {
            1 => self.deviation.first().copied().into(),
            _ => self.deviation.iter().copied().collect(),
        }
    }

    /// (y − mean) / deviation.
    pub(crate) fn apply(&self, b: &mut Build<'_>, y: Id) -> Result<Id, OpError> {
        let mean = b.graph_mut().stored(Tensor::from(self.mean.clone()));
        let centred = b.sub(y, mean)?;
        self.pull(b, centred)
    }

    /// A score in standardised coordinates as one in those of the samples: divided by the deviation.
    pub(crate) fn pull(&self, b: &mut Build<'_>, score: Id) -> Result<Id, OpError> {
        let inverse = b.graph_mut().stored(Tensor::from(self.inverse.clone()));
        b.mul(score, inverse)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
fn single(values: &ArrayD<f64>) -> ArrayD<f32> {
    values.mapv(|v| v as f32)
}
