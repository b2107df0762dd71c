//! Ways to choose some rows of many.

use super::super::random::Random;

/// How many ways there are to choose `count` of `rows`, if at most `most`.
pub(crate) fn split_count(rows: usize, count: usize, most: u64) -> Option<u64> {
    let count = count.min(rows - count) as u128;
    let mut ways = 1u128;
    for i in 0..count {
        // The binomial coefficients on the way grow, so the first that is too large decides.
        ways = ways * (rows as u128 - i) / (i + 1);
        if ways > u128::from(most) {
            return None;
        }
    }
    u64::try_from(ways).ok()
}

/// Every choice of `count` of `rows` in lexical order, the first `count` rows first.
pub(crate) fn every_split(rows: usize, count: usize) -> impl Iterator<Item = Vec<usize>> {
    std::iter::successors(Some((0..count).collect()), move |previous: &Vec<usize>| {
        let mut next = previous.clone();
        let place = (0..count).rev().find(|&i| next[i] < rows - count + i)?;
        let from = next[place] + 1;
        for (step, row) in next[place..].iter_mut().enumerate() {
            *row = from + step;
        }
        Some(next)
    })
}

/// Draws choices, each from a stream of its own.
pub(crate) struct Chooser {
    order: Vec<usize>,
    swaps: Vec<usize>,
}

impl Chooser {
    pub(crate) fn new(rows: usize) -> Self {
        Self { order: (0..rows).collect(), swaps: vec![] }
    }

    /// Hands over the choice that belongs to a seed and a number.
    pub(crate) fn choose<R>(
        &mut self,
        count: usize,
        seed: u64,
        number: u64,
        then: impl FnOnce(&[usize]) -> R,
    ) -> R {
        let mut random = Random::stream(seed, number);
        self.swaps.clear();
        for i in 0..count {
            let other = i + random.below(self.order.len() - i);
            self.order.swap(i, other);
            self.swaps.push(other);
        }
        let result = then(&self.order[..count]);
        // Back to the start, so that a choice does not depend on those before.
        for (i, &other) in self.swaps.iter().enumerate().rev() {
            self.order.swap(i, other);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binomial;

    #[test]
    fn every_split_comes_once() {
        for (rows, count, ways) in [(5, 2, 10), (6, 3, 20), (4, 1, 4), (9, 7, 36)] {
            let splits: Vec<_> = every_split(rows, count).collect();
            assert_eq!(splits[0], (0..count).collect::<Vec<_>>());
            assert!(splits.is_sorted_by(|a, b| a < b));
            assert!(splits.iter().all(|s| s.is_sorted_by(|a, b| a < b) && s[count - 1] < rows));
            assert_eq!(splits.len(), ways);
            assert_eq!(split_count(rows, count, ways as u64), Some(ways as u64));
            assert_eq!(split_count(rows, count, ways as u64 - 1), None);
        }
        assert_eq!(split_count(1_000_000, 500_000, u64::MAX), None);
    }

    #[test]
    fn choices_are_uniform_and_do_not_depend_on_each_other() {
        let mut chooser = Chooser::new(6);
        let mut counts = std::collections::BTreeMap::<Vec<usize>, u64>::new();
        for number in 0..20_000 {
            let mut split = chooser.choose(3, 5, number, <[usize]>::to_vec);
            assert!(number > 50 || split == Chooser::new(6).choose(3, 5, number, <[_]>::to_vec));
            split.sort_unstable();
            *counts.entry(split).or_default() += 1;
        }
        let (low, high) = binomial::band(20_000, 1.0 / 20.0, 1e-6);
        assert_eq!(counts.len(), 20);
        assert!(counts.values().all(|count| (low..=high).contains(count)));
    }
}
