//! Rows that are kept: those with the smallest hashes of their keys, whatever order they come in.

use std::collections::BTreeMap;

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use taste_stats::random::hash;

/// Rows that were drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// The keys of their samples, ascending.
    pub keys: Vec<u64>,
    /// A row for every key.
    pub values: Array2<f32>,
    /// The label of every sample, where the data have them.
    pub labels: Option<Vec<i64>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    values: Vec<f32>,
    label: Option<i64>,
}

/// A draw that goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Draw {
    most: u64,
    seed: u64,
    width: usize,
    /// By hash and key.
    rows: BTreeMap<(u64, u64), Row>,
}

impl Draw {
    pub(super) fn new(most: usize, seed: u64, width: usize) -> Self {
        Self { most: most as u64, seed, width, rows: BTreeMap::new() }
    }

    /// Offers a row, which is kept if it is among the smallest.
    pub(super) fn offer(
        &mut self,
        key: u64,
        label: Option<i64>,
        values: impl Iterator<Item = f32>,
    ) {
        let place = (hash(self.seed, key), key);
        let is_full = self.rows.len() as u64 >= self.most;
        if is_full && self.rows.last_key_value().is_none_or(|(last, _)| *last <= place) {
            return;
        }
        self.rows.insert(place, Row { values: values.collect(), label });
        if is_full {
            self.rows.pop_last();
        }
    }

    /// Adds what another part of the data gave; nothing may come twice.
    pub(super) fn merge(&mut self, other: Self) -> Result<(), u64> {
        for (place, row) in other.rows {
            if self.rows.insert(place, row).is_some() {
                return Err(place.1);
            }
        }
        while self.rows.len() as u64 > self.most {
            self.rows.pop_last();
        }
        Ok(())
    }

    /// The rows in the order of their keys.
    pub(super) fn finish(self) -> Drawn {
        let mut rows: Vec<(u64, Row)> =
            self.rows.into_iter().map(|((_, k), row)| (k, row)).collect();
        rows.sort_by_key(|row| row.0);
        let labels = rows.iter().map(|(_, row)| row.label).collect();
        let keys: Vec<u64> = rows.iter().map(|row| row.0).collect();
        let flat: Vec<f32> = rows.into_iter().flat_map(|(_, row)| row.values).collect();
        let shape = (keys.len(), self.width);
        let values = Array2::from_shape_vec(shape, flat).unwrap_or_else(|_| Array2::zeros((0, 0)));
        Drawn { keys, values, labels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(keys: impl Iterator<Item = u64>) -> Draw {
        let mut draw = Draw::new(10, 3, 1);
        keys.for_each(|k| draw.offer(k, Some(1), std::iter::once(k as f32)));
        draw
    }

    #[test]
    fn a_draw_does_not_depend_on_order_or_parts_and_is_uniform() {
        let whole = draw(0..1000).finish();
        assert_eq!(draw((0..1000).rev()).finish(), whole);
        let mut parts = draw(400..1000);
        parts.merge(draw(0..400)).expect("apart");
        assert_eq!(parts.finish(), whole);
        assert_eq!((whole.keys.len(), whole.values.dim()), (10, (10, 1)));
        assert_eq!(whole.labels, Some(vec![1; 10]));
        let mut sum = 0.0;
        for seed in 0..50 {
            let mut draw = Draw::new(100, seed, 0);
            (0..1000).for_each(|k| draw.offer(k, None, std::iter::empty()));
            sum += draw.finish().keys.iter().sum::<u64>() as f64 / 100.0;
        }
        // The mean of one draw has a standard error of 29.
        assert!((sum / 50.0 - 499.5).abs() < 4.0 * 29.0 / 50f64.sqrt(), "{sum}");
    }

    #[test]
    fn a_row_that_comes_twice_is_named() {
        assert_eq!(draw(0..5).merge(draw(4..6)), Err(4));
    }
}
