//! Samples that are counted on their way to a method that goes through them itself.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use taste_data::{Chunk, Mapped, Samples};

/// Gives samples to `take`. Then: how many there were, and how many had entries that are not finite, in the longest pass.
pub(super) fn counted<T>(
    samples: &dyn Samples,
    take: impl FnOnce(&dyn Samples) -> T,
) -> (T, usize, usize) {
    let (all, bad) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let watched = Mapped::new(samples, || {
        let (mut seen, mut found) = (0, 0);
        let (all, bad) = (&all, &bad);
        move |chunk: Chunk| {
            seen += chunk.len();
            found += not_finite(&chunk);
            all.fetch_max(seen, Relaxed);
            bad.fetch_max(found, Relaxed);
            chunk
        }
    });
    let taken = take(&watched);
    (taken, all.load(Relaxed), bad.load(Relaxed))
}

fn not_finite(chunk: &Chunk) -> usize {
    chunk.values.outer_iter().filter(|row| !row.iter().all(|v| v.is_finite())).count()
}
