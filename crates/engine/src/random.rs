//! Random signs that depend on a seed, a sample and a probe alone, so that results do not change with
//! the size of chunks.

/// The finaliser of `SplitMix64` (Steele, Lea and Flood 2014).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// `count` signs, +1 or −1.
pub(crate) fn signs(seed: u64, sample: u64, probe: u64, count: usize) -> impl Iterator<Item = f64> {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let stream = mix(mix(mix(seed.wrapping_add(GOLDEN)) ^ sample.wrapping_mul(GOLDEN))
        ^ probe.wrapping_add(GOLDEN));
    (0..count).map(move |i| {
        let word = mix(stream.wrapping_add(GOLDEN.wrapping_mul(1 + i as u64 / 64)));
        if word >> (i % 64) & 1 == 1 { 1.0 } else { -1.0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_balanced_and_streams_differ() {
        let n = 100_000;
        let a: Vec<f64> = signs(1, 2, 3, n).collect();
        assert!(a.iter().sum::<f64>().abs() < 4.0 * (n as f64).sqrt());
        for other in [signs(2, 2, 3, n), signs(1, 3, 3, n), signs(1, 2, 4, n)] {
            let agreement: f64 = other.zip(&a).map(|(x, y)| x * y).sum();
            assert!(agreement.abs() < 4.0 * (n as f64).sqrt());
        }
    }
}
