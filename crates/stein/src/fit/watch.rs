//! Score models watched while they go through samples.

use std::sync::atomic::{AtomicUsize, Ordering};

use taste_data::{Chunk, Mapped, Samples};

use crate::{
    Error,
    score::{ScoreModel, Specification},
};

/// Fits a score model, and counts the samples with entries that are not finite, which none is fitted to: those of its
/// longest pass, none if it did not look.
pub(super) fn fit(
    score: &dyn Specification,
    samples: &dyn Samples,
    seed: u64,
) -> Result<(Box<dyn ScoreModel>, usize), Error> {
    let most = AtomicUsize::new(0);
    let watched = Mapped::new(samples, || {
        let (mut found, most) = (0, &most);
        move |chunk: Chunk| {
            found += not_finite(&chunk);
            most.fetch_max(found, Ordering::Relaxed);
            chunk
        }
    });
    let fitted = score.fit(&watched, seed)?;
    Ok((fitted, most.load(Ordering::Relaxed)))
}

fn not_finite(chunk: &Chunk) -> usize {
    chunk.values.outer_iter().filter(|row| !row.iter().all(|v| v.is_finite())).count()
}
