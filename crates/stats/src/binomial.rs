//! The binomial distribution, and what a count of successes says of the chance behind it.

use super::{beta, bisect, interval::Interval, within_unit};
use crate::{Error, error::refused};

/// P(X ≤ k) for n trials with the chance p of success.
pub fn cdf(k: u64, n: u64, p: f64) -> f64 {
    tails(k, n, p).0
}

/// P(X ≤ k) and P(X > k).
fn tails(k: u64, n: u64, p: f64) -> (f64, f64) {
    if k >= n {
        return (1.0, 0.0);
    }
    beta::incomplete((n - k) as f64, k as f64 + 1.0, 1.0 - p, p)
}

/// The smallest k with P(X ≤ k) ≥ q.
pub fn quantile(q: f64, n: u64, p: f64) -> u64 {
    bisect::first(n, |k| cdf(k, n, p) >= q)
}

/// The counts that are no surprise: below the first and above the last, each, lies a chance of at most `miss`/2.
pub fn band(n: u64, p: f64, miss: f64) -> (u64, u64) {
    let low = quantile(miss / 2.0, n, p);
    (low, bisect::first(n, |k| tails(k, n, p).1 <= miss / 2.0))
}

/// The interval of Clopper and Pearson for the chance of success, given k successes in n trials: it covers the
/// truth with a chance of at least `level`, whatever the truth is.
pub fn clopper_pearson(k: u64, n: u64, level: f64) -> Result<Interval, Error> {
    let miss = 1.0 - within_unit("the confidence level", level)?;
    if n == 0 || k > n {
        return Err(refused(format!("{k} successes in {n} trials say nothing of their chance")));
    }
    // The chances p for which k or more successes, or k or fewer, are not too rare.
    let low = if k == 0 { 0.0 } else { bisect::last(1.0, |p| tails(k - 1, n, p).1 <= miss / 2.0) };
    let high = if k == n { 1.0 } else { bisect::last(1.0, |p| tails(k, n, p).0 >= miss / 2.0) };
    Ok(Interval { estimate: k as f64 / n as f64, low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_scipy() {
        for (k, n, p, expected) in [
            (0, 10, 0.1, 0.348_678_440_1),
            (3, 10, 0.5, 0.171_875),
            (49, 1000, 0.05, 0.479_741_057_087_320_5),
            (30, 1000, 0.05, 0.001_277_067_917_479_782_7),
            (100_300, 200_000, 0.5, 0.910_505_967_125_494_6),
            (0, 5, 0.0, 1.0),
            (5, 5, 1.0, 1.0),
        ] {
            assert!((cdf(k, n, p) / expected - 1.0).abs() < 1e-11, "{k} {n} {p}");
        }
        assert!(cdf(4, 5, 1.0).abs() < 1e-300);
        assert_eq!(quantile(0.5, 10, 0.5), 5);
        assert_eq!(quantile(0.999, 1000, 0.05), 73);
        assert_eq!(quantile(0.975, 200_000, 0.5), 100_438);
        assert_eq!(band(1000, 0.05, 0.002), (30, 73));
    }

    #[test]
    fn intervals_are_those_of_scipy() {
        for (k, n, level, low, high) in [
            (0, 10, 0.95, 0.0, 0.308_497_107_818_760_7),
            (10, 10, 0.95, 0.691_502_892_181_239_2, 1.0),
            (3, 10, 0.95, 0.066_739_511_177_734_47, 0.652_452_850_059_997_3),
            (50, 1000, 0.99, 0.033_926_662_710_220_23, 0.070_504_375_201_458_14),
            (1, 100_000, 0.95, 2.531_780_477_933_316e-7, 5.571_516_034_774_275e-5),
        ] {
            let found = clopper_pearson(k, n, level).expect("an interval");
            assert!((found.low - low).abs() <= 1e-12 * low, "{k} of {n}: {found:?}");
            assert!((found.high - high).abs() <= 1e-12 * high, "{k} of {n}: {found:?}");
        }
    }

    #[test]
    fn intervals_cover_every_truth_as_often_as_they_say() {
        let n = 25;
        let intervals: Vec<Interval> =
            (0..=n).map(|k| clopper_pearson(k, n, 0.9).expect("an interval")).collect();
        for step in 1..200 {
            let p = f64::from(step) / 200.0;
            let covered: f64 = (0..=n)
                .filter(|&k| intervals[usize::try_from(k).expect("small")].contains(p))
                .map(|k| cdf(k, n, p) - if k == 0 { 0.0 } else { cdf(k - 1, n, p) })
                .sum();
            assert!(covered >= 0.9 - 1e-12, "{p}: {covered}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(clopper_pearson(1, 0, 0.9).is_err());
        assert!(clopper_pearson(3, 2, 0.9).is_err());
        assert!(clopper_pearson(1, 2, 1.0).is_err());
        assert!(clopper_pearson(1, 2, f64::NAN).is_err());
    }
}
