//! How outputs are gathered into vectors.

/// Vectors of outputs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tiles {
    tiles: Vec<Tile>,
    runs: Vec<Run>,
}

#[derive(Clone, Copy, Debug)]
struct Tile {
    /// The place of the first output in the copy of the input.
    source: usize,
    /// The runs that belong to it: the first, and the one behind the last.
    runs: (usize, usize),
}

/// Neighbouring lanes that are kept: outputs of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) lane: usize,
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) length: usize,
}

impl Tiles {
    /// How many vectors there are if each is a part of a row, and if they go on in the next.
    fn counts([rows, columns]: [usize; 2], row: usize, lanes: usize) -> (usize, usize) {
        let cells = rows.saturating_sub(1).saturating_mul(row).saturating_add(columns);
        (rows.saturating_mul(columns.div_ceil(lanes)), cells.div_ceil(lanes))
    }

    /// The number of vectors of [`Self::new`], or up to a quarter less where it takes whole ones.
    pub(crate) fn count(size: [usize; 2], row: usize, lanes: usize) -> usize {
        let (by_row, across) = Self::counts(size, row, lanes);
        by_row.min(across)
    }

    /// `rows` × `columns` outputs that lie `row` entries apart in the copy.
    ///
    /// A vector is a part of a row, or goes on in the next row over entries between them that are not kept, whichever is likely
    /// to take less time.
    pub(crate) fn new([rows, columns]: [usize; 2], row: usize, lanes: usize) -> Self {
        let (by_row, across) = Self::counts([rows, columns], row, lanes);
        let mut all = Self::default();
        // Whole vectors are written at once, so that a few more of them take less time.
        let whole = columns >= lanes && 4 * by_row <= 5 * across;
        if whole || by_row <= across {
            for y in 0..rows {
                for x in (0..columns).step_by(lanes) {
                    // The last vector of a row has some outputs of the one before it again.
                    let x = if whole { x.min(columns - lanes) } else { x };
                    all.push(
                        y * row + x,
                        [Run { lane: 0, row: y, column: x, length: lanes.min(columns - x) }],
                    );
                }
            }
            return all;
        }
        for start in (0..across).map(|i| i * lanes) {
            let reached = start / row..rows.min((start + lanes).div_ceil(row));
            let run = |y: usize| {
                let (first, end) = ((y * row).max(start), (y * row + columns).min(start + lanes));
                let length = end.checked_sub(first).filter(|l| *l > 0)?;
                Some(Run { lane: first - start, row: y, column: first - y * row, length })
            };
            all.push(start, reached.filter_map(run));
        }
        all
    }

    fn push(&mut self, source: usize, runs: impl IntoIterator<Item = Run>) {
        let first = self.runs.len();
        self.runs.extend(runs);
        if self.runs.len() > first {
            self.tiles.push(Tile { source, runs: (first, self.runs.len()) });
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.tiles.len()
    }

    /// Where tiles begin in the copy.
    pub(crate) fn sources(&self) -> impl Iterator<Item = usize> {
        self.tiles.iter().map(|t| t.source)
    }

    #[inline]
    pub(crate) fn runs(&self, tile: usize) -> &[Run] {
        let (first, end) = self.tiles[tile].runs;
        &self.runs[first..end]
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::ProptestConfig, prop_assert, prop_assert_eq, proptest};

    use super::*;

    /// Few cases under miri, which does not reach the file of regressions either.
    fn config() -> ProptestConfig {
        let all = ProptestConfig::default();
        if cfg!(miri) { ProptestConfig { cases: 4, failure_persistence: None, ..all } } else { all }
    }

    proptest! {
        #![proptest_config(config())]
        #[test]
        fn every_output_is_kept(rows in 1usize..12, columns in 1usize..40, gap in 0usize..5, wide in 1u32..6) {
            let (row, lanes) = (columns + gap, 1 << wide);
            let tiles = Tiles::new([rows, columns], row, lanes);
            let mut kept = vec![0; rows * columns];
            for (tile, source) in tiles.sources().enumerate() {
                for run in tiles.runs(tile) {
                    prop_assert!(run.lane + run.length <= lanes);
                    for i in 0..run.length {
                        prop_assert_eq!(source + run.lane + i, run.row * row + run.column + i);
                        kept[run.row * columns + run.column + i] += 1;
                    }
                }
            }
            prop_assert!(kept.iter().all(|k| (1..=2).contains(k)));
        }
    }
}
