//! A seeded generator whose numbers are the same on every platform.

/// The increment of `SplitMix64`, 2⁶⁴ over the golden ratio.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of `SplitMix64` (Steele, Lea and Flood 2014).
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// 64 bits that depend on a seed and a number alone: where a sample lies when data are divided.
pub fn hash(seed: u64, number: u64) -> u64 {
    mix(mix(seed.wrapping_mul(GOLDEN) ^ number.wrapping_add(1).wrapping_mul(GOLDEN)))
}

/// [`hash`] as a number in 0..1.
pub fn position(seed: u64, number: u64) -> f64 {
    unit(hash(seed, number))
}

/// Random bits as a number in 0..1.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// `count` signs, +1 or −1, that depend on a seed, a sample and a probe alone.
pub fn signs(seed: u64, sample: u64, probe: u64, count: usize) -> impl Iterator<Item = f64> {
    let stream = mix(mix(mix(seed.wrapping_add(GOLDEN)) ^ sample.wrapping_mul(GOLDEN))
        ^ probe.wrapping_add(GOLDEN));
    (0..count).map(move |i| {
        let word = mix(stream.wrapping_add(GOLDEN.wrapping_mul(1 + i as u64 / 64)));
        if word >> (i % 64) & 1 == 1 { 1.0 } else { -1.0 }
    })
}

/// xoshiro256++ (Blackman and Vigna 2019), started by `SplitMix64`. Not for secrets.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: [1, 2, 3, 4].map(|i| mix(seed.wrapping_add(GOLDEN.wrapping_mul(i)))) }
    }

    /// One of many generators of a seed: what each draws does not depend on the others.
    pub fn stream(seed: u64, number: u64) -> Self {
        Self::new(mix(mix(seed.wrapping_add(GOLDEN)) ^ number.wrapping_mul(GOLDEN)))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let word = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        word
    }

    /// A number in 0..1.
    pub fn uniform(&mut self) -> f64 {
        unit(self.bits())
    }

    /// A whole number in 0..`end`, each as likely as any other (Lemire 2019); 0 where `end` is 0.
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a product are below 2⁶⁴")]
    pub fn below(&mut self, end: usize) -> usize {
        let end = end as u64;
        loop {
            let product = u128::from(self.bits()) * u128::from(end);
            let low = product as u64;
            if low >= end || low >= end.wrapping_neg().checked_rem(end).unwrap_or(0) {
                return (product >> 64) as usize;
            }
        }
    }

    /// A standard normal number, by the polar method of Marsaglia.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                // The logarithm of the standard library differs between platforms.
                return u * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }

    /// A number of events of which `mean` are expected, by Poisson's law: by multiplying where that is short, else by
    /// Hörmann's transformed rejection (1993, PTRS). 0 unless the mean is above 0.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole and not negative"
    )]
    pub fn poisson(&mut self, mean: f64) -> u64 {
        const SHORT: f64 = 10.0;
        if mean.is_nan() || mean <= 0.0 {
            return 0;
        }
        if mean < SHORT {
            let limit = libm::exp(-mean);
            let (mut count, mut product) = (0, self.uniform());
            while product > limit {
                count += 1;
                product *= self.uniform();
            }
            return count;
        }
        let b = 0.931 + 2.53 * mean.sqrt();
        let a = -0.059 + 0.02483 * b;
        let inverse = 1.1239 + 1.1328 / (b - 3.4);
        let narrow = 0.9277 - 3.6224 / (b - 2.0);
        let log_mean = libm::log(mean);
        loop {
            let (u, v) = (self.uniform() - 0.5, self.uniform());
            let near = 0.5 - u.abs();
            let count = ((2.0 * a / near + b) * u + mean + 0.43).floor();
            if near >= 0.07 && v <= narrow {
                return count as u64;
            }
            if count < 0.0 || (near < 0.013 && v > near) {
                continue;
            }
            let density = count * log_mean - mean - libm::lgamma(count + 1.0);
            if libm::log(v * inverse / (a / (near * near) + b)) <= density {
                return count as u64;
            }
        }
    }

    /// A position, each as likely as its weight says.
    pub fn position(&mut self, weights: impl Iterator<Item = f64> + Clone) -> usize {
        let total: f64 = weights.clone().sum();
        let mut left = self.uniform() * total;
        let mut last = 0;
        for (i, weight) in weights.enumerate().filter(|(_, w)| *w > 0.0) {
            last = i;
            left -= weight;
            if left < 0.0 {
                break;
            }
        }
        last
    }

    /// `count` signs, +1 or −1.
    pub fn signs(&mut self, count: usize) -> impl Iterator<Item = f64> {
        let mut word = 0;
        (0..count).map(move |i| {
            if i % 64 == 0 {
                word = self.bits();
            }
            if word >> (i % 64) & 1 == 1 { 1.0 } else { -1.0 }
        })
    }

    /// The numbers 0..`count` in random order.
    pub fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        self.shuffle_front(&mut order, count);
        order
    }

    /// Moves a random choice of `count` entries to the front, in random order.
    pub fn shuffle_front<T>(&mut self, entries: &mut [T], count: usize) {
        for i in 0..count.min(entries.len()) {
            let other = i + self.below(entries.len() - i);
            entries.swap(i, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_probes_are_balanced_and_differ() {
        let n = 100_000;
        let a: Vec<f64> = signs(1, 2, 3, n).collect();
        assert!(a.iter().sum::<f64>().abs() < 4.0 * (n as f64).sqrt());
        for other in [signs(2, 2, 3, n), signs(1, 3, 3, n), signs(1, 2, 4, n)] {
            let agreement: f64 = other.zip(&a).map(|(x, y)| x * y).sum();
            assert!(agreement.abs() < 4.0 * (n as f64).sqrt());
        }
    }
    use crate::binomial;

    #[test]
    fn bits_are_those_of_the_published_generators() {
        let words: Vec<u64> =
            (1..=3).map(|i| mix(1_234_567u64.wrapping_add(GOLDEN.wrapping_mul(i)))).collect();
        assert_eq!(
            words,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
        let mut random = Random { state: [1, 2, 3, 4] };
        let words: Vec<u64> = (0..6).map(|_| random.bits()).collect();
        assert_eq!(
            words,
            [
                41_943_041,
                58_720_359,
                3_588_806_011_781_223,
                3_591_011_842_654_386,
                9_228_616_714_210_784_205,
                9_973_669_472_204_895_162
            ]
        );
    }

    #[test]
    fn uniform_and_normal_numbers_have_their_distribution() {
        let n = 100_000;
        let mut random = Random::new(1);
        for quantile in [0.01, 0.3, 0.5, 0.9, 0.999] {
            let (low, high) = binomial::band(n, quantile, 1e-6);
            let uniform = (0..n).filter(|_| random.uniform() < quantile).count() as u64;
            assert!((low..=high).contains(&uniform), "{quantile}: {uniform}");
            let limit = crate::normal::quantile(quantile);
            let normal = (0..n).filter(|_| random.normal() < limit).count() as u64;
            assert!((low..=high).contains(&normal), "{quantile}: {normal}");
        }
    }

    #[test]
    fn counts_follow_the_law_of_poisson() {
        let n = 40_000;
        let mut random = Random::new(7);
        for mean in [0.3, 4.0, 9.9, 10.1, 47.0, 500.0] {
            let drawn: Vec<u64> = (0..n).map(|_| random.poisson(mean)).collect();
            // The chance of every count near the mean.
            let spread = mean.sqrt();
            for count in [mean - spread, mean, mean + spread].map(|c| c.max(0.0).round()) {
                let log = count * mean.ln() - mean - libm::lgamma(count + 1.0);
                let (low, high) = binomial::band(n, log.exp(), 1e-6);
                let found = drawn.iter().filter(|&&d| (d as f64 - count).abs() < 0.5).count();
                assert!((low..=high).contains(&(found as u64)), "{mean}, {count}: {found}");
            }
            let average = drawn.iter().sum::<u64>() as f64 / n as f64;
            assert!((average - mean).abs() < 5.0 * spread / (n as f64).sqrt(), "{mean}: {average}");
        }
        assert_eq!(
            (random.poisson(0.0), random.poisson(-1.0), random.poisson(f64::NAN)),
            (0, 0, 0)
        );
    }

    #[test]
    fn signs_are_balanced_and_streams_differ() {
        let n = 100_000;
        let base: Vec<f64> = Random::stream(1, 2).signs(n).collect();
        assert!(base.iter().sum::<f64>().abs() < 5.0 * (n as f64).sqrt());
        for mut other in [Random::stream(1, 3), Random::stream(2, 2), Random::new(1)] {
            let agreement: f64 = other.signs(n).zip(&base).map(|(x, y)| x * y).sum();
            assert!(agreement.abs() < 5.0 * (n as f64).sqrt());
        }
        assert_eq!(base, Random::stream(1, 2).signs(n).collect::<Vec<_>>());
    }

    #[test]
    fn every_order_is_as_likely_as_any_other() {
        let n = 60_000;
        let mut random = Random::new(4);
        let mut counts = std::collections::BTreeMap::<Vec<usize>, u64>::new();
        for _ in 0..n {
            *counts.entry(random.shuffled(4)).or_default() += 1;
        }
        let (low, high) = binomial::band(n, 1.0 / 24.0, 1e-6);
        assert_eq!(counts.len(), 24);
        assert!(counts.values().all(|count| (low..=high).contains(count)));
    }

    #[test]
    fn whole_numbers_stay_below_their_end() {
        let mut random = Random::new(0);
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        // Three quarters of all: without rejection, every third number would be twice as likely as its neighbours.
        let end = (usize::MAX / 4 + 1) * 3;
        let (low, high) = binomial::band(10_000, 1.0 / 3.0, 1e-6);
        let thirds = (0..10_000).filter(|_| random.below(end).is_multiple_of(3)).count() as u64;
        assert!((low..=high).contains(&thirds));
    }
}
