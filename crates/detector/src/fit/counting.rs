//! Samples that are looked at on their way to a method that goes through them itself.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use taste_data::{Chunk, Mapped, Samples};

use crate::{Profile, profile::Grouping};

/// Gives samples to `take`. Then: what they looked like, and how many had entries that are not finite, in the longest pass.
pub(super) fn counted<T>(
    samples: &dyn Samples,
    take: impl FnOnce(&dyn Samples) -> T,
) -> (T, Profile, usize) {
    let (longest, bad) = (Mutex::new(Profile::default()), AtomicUsize::new(0));
    let grouping = Grouping::of(samples.sample_shape());
    let watched = Mapped::new(samples, || {
        let (mut seen, mut found) = (Profile::default(), 0);
        let (longest, bad) = (&longest, &bad);
        move |chunk: Chunk| {
            found += not_finite(&chunk);
            bad.fetch_max(found, Relaxed);
            chunk.values.outer_iter().for_each(|sample| seen.add(grouping, sample.iter()));
            let mut longest = longest.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.samples > longest.samples {
                longest.clone_from(&seen);
            }
            chunk
        }
    });
    let taken = take(&watched);
    let profile = longest.into_inner().unwrap_or_else(PoisonError::into_inner);
    (taken, profile, bad.load(Relaxed))
}

fn not_finite(chunk: &Chunk) -> usize {
    chunk.values.outer_iter().filter(|row| !row.iter().all(|v| v.is_finite())).count()
}
