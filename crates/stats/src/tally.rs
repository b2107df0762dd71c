//! Quantiles of more values than memory holds.

use serde::{Deserialize, Serialize};

/// Different values that are told apart at most.
const MOST: usize = 1 << 20;
const SIGN: u32 = 1 << 31;

/// How often values were seen. Up to 2²⁰ different values are counted each by itself, and quantiles are exact; of more,
/// values with the same leading bits are counted as one, as many bits as it takes. Neither the order of values nor the way
/// that they came in parts changes anything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Bits that are left out at the end.
    dropped: u32,
    /// The leading bits of values, ascending, and how many values have them.
    counts: Vec<(u32, u64)>,
}

impl Tally {
    /// Of no values so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds values; those that are not finite do not count.
    pub fn add(&mut self, values: impl Iterator<Item = f32>) {
        let finite = values.filter(|v| v.is_finite());
        let mut keys: Vec<u32> = finite.map(|v| key(v) >> self.dropped).collect();
        keys.sort_unstable();
        let mut counts: Vec<(u32, u64)> = Vec::new();
        for key in keys {
            match counts.last_mut() {
                Some(last) if last.0 == key => last.1 += 1,
                _ => counts.push((key, 1)),
            }
        }
        self.join(&counts);
    }

    /// Adds what others have seen.
    pub fn merge(&mut self, mut other: Self) {
        let dropped = self.dropped.max(other.dropped);
        self.drop_to(dropped);
        other.drop_to(dropped);
        self.join(&other.counts);
    }

    /// Adds counts with the same number of bits.
    fn join(&mut self, new: &[(u32, u64)]) {
        let old = std::mem::take(&mut self.counts);
        let mut all = Vec::with_capacity(old.len() + new.len());
        let (mut a, mut b) = (old.into_iter().peekable(), new.iter().copied().peekable());
        while let Some(next) = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) if x.0 == y.0 => {
                a.next().zip(b.next()).map(|(x, y)| (x.0, x.1 + y.1))
            }
            (Some(x), Some(y)) if x.0 > y.0 => b.next(),
            (Some(_), _) => a.next(),
            (None, _) => b.next(),
        } {
            all.push(next);
        }
        self.counts = all;
        while self.counts.len() > MOST {
            self.drop_to(self.dropped + 1);
        }
    }

    /// Leaves more bits out.
    fn drop_to(&mut self, dropped: u32) {
        let more = dropped - self.dropped;
        if more == 0 {
            return;
        }
        self.dropped = dropped;
        self.counts.iter_mut().for_each(|c| c.0 >>= more);
        self.counts.dedup_by(|later, first| {
            let same = later.0 == first.0;
            first.1 += if same { later.1 } else { 0 };
            same
        });
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|c| c.1).sum()
    }

    /// The quantile at p within 0..=1, linear between the neighbours of position (n − 1)p as the default of numpy is; none
    /// without values.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a position lies within 0..n"
    )]
    pub fn quantile(&self, p: f64) -> Option<f64> {
        let last = self.count().checked_sub(1)?;
        let position = last as f64 * p.clamp(0.0, 1.0);
        let below = self.value(position.floor() as u64)?;
        let above = self.value((position.ceil() as u64).min(last))?;
        Some(below + (above - below) * position.fract())
    }

    /// The value with so many below it.
    fn value(&self, rank: u64) -> Option<f64> {
        let mut before = 0;
        for &(bits, count) in &self.counts {
            if rank < before + count {
                let first = bits << self.dropped;
                let last = first | ((1u32 << self.dropped) - 1);
                let [low, high] = [first, last].map(|k| f64::from(value(k)));
                // Values with the same leading bits lie evenly between the first and the last that have them.
                let place = ((rank - before) as f64 + 0.5) / count as f64;
                return Some(if self.dropped == 0 { low } else { low + (high - low) * place });
            }
            before += count;
        }
        None
    }
}

/// A number whose order is that of the values.
fn key(value: f32) -> u32 {
    // Adding zero leaves one zero of the two.
    let bits = (value + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

fn value(key: u32) -> f32 {
    f32::from_bits(if key & SIGN == 0 { !key } else { key & !SIGN })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{quantile::Quantile, random::Random};

    fn values(count: usize) -> Vec<f32> {
        let mut random = Random::new(3);
        #[expect(clippy::cast_possible_truncation, reason = "single precision")]
        let mut draw = || (random.normal() - 0.3).max(-1.0) as f32;
        (0..count).map(|_| draw()).collect()
    }

    #[test]
    fn quantiles_are_those_of_all_values_however_they_came() {
        let all = values(5000);
        let exact: Vec<f64> = all.iter().map(|&v| f64::from(v)).collect();
        let mut whole = Tally::new();
        whole.add(all.iter().copied().chain([f32::NAN, f32::INFINITY]));
        let mut parts = Tally::new();
        for part in all.rchunks(700) {
            let mut tally = Tally::new();
            tally.add(part.iter().copied());
            parts.merge(tally);
        }
        assert_eq!(parts, whole);
        assert_eq!(whole.count(), 5000);
        for p in [0.0, 0.013, 0.5, 0.9, 0.999, 1.0] {
            let want = Quantile::Linear.of(&exact, p).expect("values");
            let got = whole.quantile(p).expect("values");
            assert!((got - want).abs() < 1e-12, "{p}: {got} {want}");
        }
        assert_eq!(Tally::new().quantile(0.5), None);
    }

    #[test]
    fn many_values_are_counted_by_their_leading_bits() {
        let all = values(3_000_000);
        let mut whole = Tally::new();
        whole.add(all.iter().copied());
        assert!(whole.dropped > 0 && whole.counts.len() <= MOST);
        let mut parts = Tally::new();
        for part in all.chunks(400_000) {
            parts.add(part.iter().copied());
        }
        assert_eq!(parts, whole);
        let exact: Vec<f64> = all.iter().map(|&v| f64::from(v)).collect();
        // A value is known to the bits that are left of its 24.
        let share = 0.5f64.powi(23 - whole.dropped.cast_signed());
        assert!(share < 1e-5, "{share}");
        for p in [0.4, 0.9, 0.999] {
            let want = Quantile::Linear.of(&exact, p).expect("values");
            let got = whole.quantile(p).expect("values");
            assert!((got - want).abs() <= share * want.abs(), "{p}: {got} {want}");
        }
    }
}
