//! The standard normal distribution.

use std::f64::consts::SQRT_2;

use super::bisect;

/// P(Z ≤ z).
pub fn cdf(z: f64) -> f64 {
    upper(-z)
}

/// P(Z ≥ z), exact far out where 1 − [`cdf`] is not.
pub fn upper(z: f64) -> f64 {
    0.5 * libm::erfc(z / SQRT_2)
}

/// The z with P(Z ≤ z) = p; infinite at 0 and 1, NaN outside.
pub fn quantile(p: f64) -> f64 {
    symmetric_quantile(p, upper)
}

/// The quantile of a distribution symmetric about zero, from its upper tail.
pub fn symmetric_quantile(p: f64, upper: impl Fn(f64) -> f64) -> f64 {
    match p {
        0.0 => f64::NEG_INFINITY,
        1.0 => f64::INFINITY,
        _ if p > 0.0 && p <= 0.5 => -bisect::last(f64::MAX, |z| upper(z) >= p),
        _ if p > 0.5 && p < 1.0 => bisect::last(f64::MAX, |z| upper(z) >= 1.0 - p),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_scipy() {
        for (z, expected) in [
            (-10.0, 7.619_853_024_160_47e-24),
            (-3.0, 0.001_349_898_031_630_093_3),
            (0.5, 0.691_462_461_274_013_1),
            (1.96, 0.975_002_104_851_779_5),
            (-8.0, 6.220_960_574_271_74e-16),
        ] {
            assert!((cdf(z) / expected - 1.0).abs() < 1e-13, "{z}");
        }
        for (p, expected) in [
            (1e-300, -37.047_096_299_361_2),
            (1e-10, -6.361_340_902_404_056),
            (0.3, -0.524_400_512_708_040_9),
            (0.975, 1.959_963_984_540_054),
        ] {
            assert!((quantile(p) / expected - 1.0).abs() < 1e-13, "{p}");
        }
    }

    #[test]
    fn quantiles_at_and_beyond_the_ends() {
        assert_eq!((quantile(0.0), quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
        assert!(quantile(0.5).abs() < 1e-15);
        assert!([-0.1, 1.1, f64::NAN].into_iter().all(|p| quantile(p).is_nan()));
    }
}
