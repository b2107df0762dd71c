//! Chunks of one size from chunks of any.

use ndarray::{Axis, concatenate};

use super::{Chunk, Chunks, MISSHAPEN};
use crate::Error;

/// Chunks of `rows` samples each, the last perhaps shorter. Ends with the first error.
pub(crate) fn refilled<'a>(
    name: &'a str,
    chunks: impl Iterator<Item = Result<Chunk, Error>> + Send + 'a,
    rows: usize,
) -> Chunks<'a> {
    let mut refill = Refill { name, chunks: Some(chunks), rows: rows.max(1), waiting: Vec::new() };
    Box::new(std::iter::from_fn(move || {
        let chunk = refill.next().transpose();
        if matches!(chunk, Some(Err(_))) {
            refill.chunks = None;
            refill.waiting.clear();
        }
        chunk
    }))
}

struct Refill<'a, I> {
    name: &'a str,
    /// What is left to go through.
    chunks: Option<I>,
    rows: usize,
    /// What was read and not given yet.
    waiting: Vec<Chunk>,
}

impl<I: Iterator<Item = Result<Chunk, Error>>> Refill<'_, I> {
    fn next(&mut self) -> Result<Option<Chunk>, Error> {
        let mut there: usize = self.waiting.iter().map(Chunk::len).sum();
        while there < self.rows
            && let Some(chunks) = &mut self.chunks
        {
            match chunks.next().transpose()? {
                Some(chunk) if chunk.is_empty() => {}
                Some(chunk) => {
                    there += chunk.len();
                    self.waiting.push(chunk);
                }
                None => self.chunks = None,
            }
        }
        let Some(joined) = self.joined()? else { return Ok(None) };
        if joined.len() <= self.rows {
            return Ok(Some(joined));
        }
        let rest: Vec<usize> = (self.rows..joined.len()).collect();
        self.waiting.push(joined.select(&rest));
        Ok(Some(joined.select(&(0..self.rows).collect::<Vec<_>>())))
    }

    /// All that waits, in one chunk.
    fn joined(&mut self) -> Result<Option<Chunk>, Error> {
        if self.waiting.len() < 2 {
            return Ok(self.waiting.pop());
        }
        let chunks = std::mem::take(&mut self.waiting);
        let views: Vec<_> = chunks.iter().map(|chunk| chunk.values.view()).collect();
        let values = concatenate(Axis(0), &views).map_err(|_| Error::new(self.name, MISSHAPEN))?;
        let labels: Option<Vec<Vec<i64>>> = chunks.iter().map(|c| c.labels.clone()).collect();
        let mut kept = vec![Vec::new(); chunks.first().map_or(0, |chunk| chunk.kept.len())];
        let mut index = Vec::new();
        for chunk in chunks {
            index.extend(chunk.index);
            for (all, column) in kept.iter_mut().zip(chunk.kept) {
                all.extend(column);
            }
        }
        Ok(Some(Chunk { index, values, labels: labels.map(|l| l.concat()), kept }))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::ramp, *};
    use crate::Samples;

    #[test]
    fn chunks_of_any_size_become_full() {
        let set = ramp(100);
        for (sizes, rows) in [(7, 10), (10, 7), (1, 100), (100, 1), (100, 100), (33, 1000)] {
            let chunks = refilled("ramp", set.chunks(sizes).expect("chunks"), rows);
            let chunks = super::super::tests::full_chunks(chunks, rows);
            let index: Vec<usize> = chunks.iter().flat_map(|c| c.index.clone()).collect();
            assert_eq!(index, (0..100).collect::<Vec<_>>());
            let values: Vec<f32> = chunks.iter().flat_map(|c| c.values.iter().copied()).collect();
            assert_eq!(values, set.values().iter().copied().collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_error_is_the_end() {
        let set = ramp(4);
        let bad = std::iter::once(Err(Error::new("ramp", "damaged")));
        let chunks =
            set.chunks(3).expect("chunks").chain(bad).chain(set.chunks(3).expect("chunks"));
        let found: Vec<bool> = refilled("ramp", chunks, 2).map(|chunk| chunk.is_ok()).collect();
        assert_eq!(found, [true, true, false]);
    }
}
