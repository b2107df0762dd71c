//! A few samples of many.

use ndarray::{ArrayD, Axis, IxDyn};
use taste_stats::random;

use super::{MISSHAPEN, Samples};
use crate::Error;

/// Up to `most` samples with finite entries, each sample of the set as likely as any other, in order.
pub fn draw(of: &dyn Samples, most: usize, seed: u64) -> Result<ArrayD<f32>, Error> {
    // The samples with the smallest hashes; a binary heap keeps the largest of those on top.
    let mut kept = std::collections::BinaryHeap::<(u64, usize)>::new();
    let mut rows = std::collections::HashMap::<usize, Vec<f32>>::new();
    for chunk in of.chunks(256)? {
        let chunk = chunk?;
        for (position, &index) in chunk.index.iter().enumerate() {
            let key = random::hash(seed, index as u64);
            if kept.len() == most && kept.peek().is_none_or(|top| top.0 <= key) {
                continue;
            }
            let row: Vec<f32> =
                chunk.values.index_axis(Axis(0), position).iter().copied().collect();
            if !row.iter().all(|v| v.is_finite()) {
                continue;
            }
            kept.push((key, index));
            rows.insert(index, row);
            if kept.len() > most
                && let Some((_, dropped)) = kept.pop()
            {
                rows.remove(&dropped);
            }
        }
    }
    let mut order: Vec<usize> = kept.into_iter().map(|k| k.1).collect();
    order.sort_unstable();
    let width: usize = of.sample_shape().iter().product();
    let mut values = Vec::with_capacity(order.len() * width);
    for index in &order {
        values.extend(&rows[index]);
    }
    let shape: Vec<usize> =
        std::iter::once(order.len()).chain(of.sample_shape().iter().copied()).collect();
    ArrayD::from_shape_vec(IxDyn(&shape), values).map_err(|_| Error::new(of.name(), MISSHAPEN))
}

#[cfg(test)]
mod tests {
    use super::{super::tests::ramp, *};
    use crate::InMemory;

    #[test]
    fn a_draw_is_uniform_and_skips_rows_that_are_not_finite() {
        let mut values = ramp(1000).values().clone();
        values[[10, 1]] = f32::NAN;
        let all = InMemory::new("ramp", values);
        assert_eq!(draw(&all, 5000, 0).expect("a draw").shape(), &[999, 2]);
        let mut sum = 0.0;
        for seed in 0..50 {
            let some = draw(&all, 100, seed).expect("a draw");
            assert_eq!(some.shape(), &[100, 2]);
            sum += some.index_axis(Axis(1), 0).mean().expect("rows");
        }
        // Rows start at 0, 2, …, 1998; one draw of 100 has a standard error of 58.
        assert!((sum / 50.0 - 999.0).abs() < 4.0 * 58.0 / 50f32.sqrt());
    }
}
