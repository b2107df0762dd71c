//! Arrays that are stored column by column (Fortran's order), read by rows.

use std::{
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
};

/// Where the elements of rows lie.
#[derive(Clone, Debug)]
pub(crate) struct ByColumns {
    rows: usize,
    /// Bytes of an element.
    size: usize,
    /// For every entry of a row, in the usual order, its place among the columns of the file.
    order: Vec<usize>,
    /// Where the elements start.
    start: u64,
}

impl ByColumns {
    /// Of an array with this shape whose product was counted.
    pub(crate) fn new(shape: &[usize], size: usize, start: u64) -> Self {
        let (rows, sample) = (shape.first().copied().unwrap_or(1), shape.get(1..).unwrap_or(&[]));
        let entries: usize = sample.iter().product();
        let place = |entry: usize| {
            let (mut rest, mut place) = (entry, 0);
            // The last axis of an entry's number changes fastest, the first of its place.
            for (axis, &length) in sample.iter().enumerate().rev() {
                place += (rest % length) * sample[..axis].iter().product::<usize>();
                rest /= length;
            }
            place
        };
        Self { rows, size, order: (0..entries).map(place).collect(), start }
    }

    /// The bytes of some rows, one row after the other.
    pub(crate) fn read(
        &self,
        source: &mut (impl Read + Seek),
        rows: Range<usize>,
    ) -> io::Result<Vec<u8>> {
        let (size, width) = (self.size, self.order.len());
        let mut bytes = vec![0; rows.len() * width * size];
        let mut column = vec![0; rows.len() * size];
        for (entry, &place) in self.order.iter().enumerate() {
            let element = place as u64 * self.rows as u64 + rows.start as u64;
            source.seek(SeekFrom::Start(self.start + element * size as u64))?;
            source.read_exact(&mut column)?;
            for (row, element) in column.chunks_exact(size).enumerate() {
                let at = (row * width + entry) * size;
                bytes[at..at + size].copy_from_slice(element);
            }
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn rows_come_out_in_the_usual_order() {
        // np.arange(24).reshape(4, 3, 2) in Fortran's order: element (n, i, j) = 6n + 2i + j at n + 4i + 12j.
        let mut stored = vec![9u8; 5];
        for j in 0..2 {
            for i in 0..3 {
                stored.extend((0..4).map(|n| 6 * n + 2 * i + j));
            }
        }
        let columns = ByColumns::new(&[4, 3, 2], 1, 5);
        for (start, end) in [(0, 4), (1, 3), (3, 4), (2, 2)] {
            let rows = columns.read(&mut Cursor::new(&stored), start..end).expect("rows");
            let rows: Vec<usize> = rows.into_iter().map(usize::from).collect();
            assert_eq!(rows, (6 * start..6 * end).collect::<Vec<_>>());
        }
    }
}
