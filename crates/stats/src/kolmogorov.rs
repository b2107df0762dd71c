//! The two-sample test of Kolmogorov and Smirnov: whether two sets of numbers have one distribution.

/// What the test says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The largest distance of the two distribution functions, from 0 to 1.
    pub distance: f64,
    /// How often chance alone makes it this large, by the limit for many numbers with the correction of Stephens (1970).
    /// With equal numbers it is too large rather than too small.
    pub p_value: f64,
}

/// Compares two sets of numbers, each ascending by `total_cmp` and without NaN; none if one is empty.
pub fn two_sample(a: &[f64], b: &[f64]) -> Option<Outcome> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let [n, m] = [a, b].map(|values| values.len() as f64);
    let (mut i, mut j, mut distance) = (0, 0, 0.0f64);
    while let (Some(&x), Some(&y)) = (a.get(i), b.get(j)) {
        let least = x.min(y);
        i += a[i..].partition_point(|&v| v <= least);
        j += b[j..].partition_point(|&v| v <= least);
        distance = distance.max((i as f64 / n - j as f64 / m).abs());
    }
    let root = (n * m / (n + m)).sqrt();
    let p_value = beyond((root + 0.12 + 0.11 / root) * distance);
    Some(Outcome { distance, p_value })
}

/// The chance that Kolmogorov's variable is larger than t.
fn beyond(t: f64) -> f64 {
    if t < 0.2 {
        return 1.0;
    }
    let term = |k: i32| {
        let k = f64::from(k);
        let sign = if k % 2.0 == 0.0 { -1.0 } else { 1.0 };
        sign * libm::exp(-2.0 * k * k * t * t)
    };
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{binomial, random::Random};

    fn sorted(mut values: Vec<f64>) -> Vec<f64> {
        values.sort_by(f64::total_cmp);
        values
    }

    #[test]
    fn values_are_those_of_scipy() {
        // scipy.special.kolmogorov
        for (t, expected) in [
            (0.5, 0.963_945_243_664_875_1),
            (1.0, 0.269_999_671_677_354_54),
            (1.358_098_63, 0.050_000_002_532_070_02),
            (2.0, 0.000_670_925_255_779_695_3),
        ] {
            assert!((beyond(t) - expected).abs() < 1e-14, "{t}: {}", beyond(t));
        }
    }

    #[test]
    fn distances_are_those_of_the_definition() {
        let mut random = Random::new(1);
        for _ in 0..50 {
            let mut draw = |n: usize| {
                sorted((0..n).map(|_| (2.0 * random.normal()).round()).collect::<Vec<f64>>())
            };
            let (a, b) = (draw(13), draw(7));
            let share = |of: &[f64], x: f64| {
                of.iter().filter(|&&v| v <= x).count() as f64 / of.len() as f64
            };
            let largest = a
                .iter()
                .chain(&b)
                .map(|&x| (share(&a, x) - share(&b, x)).abs())
                .fold(0.0, f64::max);
            let found = two_sample(&a, &b).expect("numbers");
            assert!((found.distance - largest).abs() < 1e-12);
        }
        let apart = two_sample(&[1.0, 2.0], &[3.0, f64::INFINITY]).expect("numbers");
        assert!((apart.distance - 1.0).abs() < 1e-15);
        assert!(two_sample(&[], &[1.0]).is_none());
    }

    #[test]
    fn the_level_is_about_right_and_equal_numbers_keep_it() {
        let trials = 1000;
        for rounded in [false, true] {
            let mut random = Random::new(2);
            let mut draw = |n: usize| {
                let value = |v: f64| if rounded { v.round() } else { v };
                sorted((0..n).map(|_| value(random.normal())).collect())
            };
            let rejected = (0..trials)
                .filter(|_| two_sample(&draw(200), &draw(30)).expect("numbers").p_value <= 0.05)
                .count() as u64;
            assert!(rejected <= binomial::band(trials, 0.05, 1e-4).1, "{rounded}: {rejected}");
            assert!(rounded || rejected >= 25, "{rejected}");
        }
    }
}
