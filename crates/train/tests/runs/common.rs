//! Samples and settings.

use ndarray::Array2;
use taste_data::InMemory;
use taste_engine::Backend;
use taste_stats::random::Random;
use taste_train::{Decay, Training};

pub(crate) fn normal(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
    let mut random = Random::new(seed);
    Array2::from_shape_simple_fn((rows, columns), || random.normal())
}

#[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
pub(crate) fn samples(values: &Array2<f64>) -> InMemory {
    InMemory::new("drawn", values.mapv(|v| v as f32).into_dyn())
}

/// Settings under which small score networks come close to the true score.
pub(crate) fn settled(training: Training<'_>) -> Training<'_> {
    training.batch(256).rate(5e-3).decay(Decay::Cosine).average(0.99).backend(Backend::RTEN, 1)
}
