//! Samples that are looked at on their way to a method that goes through them itself.

use std::sync::{Mutex, PoisonError};

use taste_data::{Chunk, Mapped, Samples};

use crate::{Profile, passes::Sketch, profile::Grouping};

/// What samples were like.
#[derive(Clone, Debug, Default)]
pub(super) struct Given {
    pub(super) profile: Profile,
    pub(super) sketch: Sketch,
    /// Samples with entries that are not finite.
    pub(super) not_finite: usize,
}

/// Gives samples to `take`; then says what they were like, by the longest pass over them.
pub(super) fn counted<T>(
    samples: &dyn Samples,
    take: impl FnOnce(&dyn Samples) -> T,
) -> (T, Given) {
    let longest = Mutex::new(Given::default());
    let grouping = Grouping::of(samples.sample_shape());
    let watched = Mapped::new(samples, || {
        let (mut seen, longest) = (Given::default(), &longest);
        move |chunk: Chunk| {
            seen.not_finite += not_finite(&chunk);
            for sample in chunk.values.outer_iter() {
                seen.profile.add(grouping, sample.iter());
                seen.sketch.add(sample.iter());
            }
            let mut longest = longest.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.profile.samples > longest.profile.samples {
                longest.clone_from(&seen);
            }
            chunk
        }
    });
    let taken = take(&watched);
    (taken, longest.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn not_finite(chunk: &Chunk) -> usize {
    chunk.values.outer_iter().filter(|row| !row.iter().all(|v| v.is_finite())).count()
}
