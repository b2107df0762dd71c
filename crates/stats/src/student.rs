//! Student's t distribution. Degrees of freedom are positive and need not be whole; infinitely many give the
//! normal distribution.

use super::{beta, normal};

/// P(T ≤ t).
pub fn cdf(t: f64, freedom: f64) -> f64 {
    upper(-t, freedom)
}

/// P(T ≥ t), exact far out where 1 − [`cdf`] is not.
pub fn upper(t: f64, freedom: f64) -> f64 {
    if t.is_nan() || freedom.is_nan() || freedom <= 0.0 {
        return f64::NAN;
    }
    // The difference to the normal distribution is below 1/freedom.
    if freedom > 1e11 {
        return normal::upper(t);
    }
    let square = t * t;
    let (x, y) = (1.0 / (1.0 + square / freedom), 1.0 / (1.0 + freedom / square));
    let both_tails = beta::incomplete(freedom / 2.0, 0.5, x, y).0;
    if t < 0.0 { 1.0 - 0.5 * both_tails } else { 0.5 * both_tails }
}

/// The t with P(T ≤ t) = p; infinite at 0 and 1, NaN outside.
pub fn quantile(p: f64, freedom: f64) -> f64 {
    if freedom > 0.0 { normal::symmetric_quantile(p, |t| upper(t, freedom)) } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_scipy() {
        for (t, freedom, expected) in [
            (-2.0, 1.0, 0.147_583_617_650_433_26),
            (0.5, 2.5, 0.671_151_040_065_142_6),
            (1.7, 10.0, 0.940_015_327_045_489_8),
            (-4.0, 30.0, 0.000_190_922_818_041_878_2),
            (3.0, 1e6, 0.998_650_068_729_289_1),
            (-30.0, 3.0, 4.067_640_213_581_979e-5),
            (2.0, 1e9, 0.977_249_867_916_843_4),
            (-0.001, 5.0, 0.499_620_393_386_098_8),
        ] {
            assert!((cdf(t, freedom) / expected - 1.0).abs() < 1e-11, "{t} {freedom}");
        }
        for (p, freedom, expected) in [
            (0.975, 1.0, 12.706_204_736_174_694),
            (0.975, 2.5, 3.574_654_842_003_681_7),
            (0.95, 10.0, 1.812_461_122_811_675_6),
            (0.005, 29.3, -2.754_420_171_610_263_4),
            (0.975, 1e6, 1.959_966_356_814_107),
            (1e-8, 4.0, -131.594_736_940_623_56),
            (0.6, 0.7, 0.356_031_365_234_680_15),
        ] {
            assert!((quantile(p, freedom) / expected - 1.0).abs() < 1e-10, "{p} {freedom}");
        }
    }

    #[test]
    fn extremes_are_finite_or_named() {
        assert_eq!((upper(f64::INFINITY, 3.0), upper(0.0, 3.0)), (0.0, 0.5));
        assert!(upper(1e200, 3.0) < 1e-300);
        assert!((upper(1.0, f64::INFINITY) - normal::upper(1.0)).abs() < 1e-16);
        assert!(upper(1.0, 0.0).is_nan() && quantile(0.9, -1.0).is_nan());
    }
}
