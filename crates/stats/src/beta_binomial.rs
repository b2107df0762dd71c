//! The beta-binomial distribution. Of m new samples, the number whose conformal p-value against n calibration scores is at
//! most j/(n + 1) has it, with parameters j and n + 1 − j, if all are exchangeable and no scores are equal.

/// The chances of 0..=m successes in m trials whose chance of success is drawn from Beta(a, b).
pub fn chances(m: usize, a: f64, b: f64) -> Vec<f64> {
    let log_beta = |x: f64, y: f64| libm::lgamma(x) + libm::lgamma(y) - libm::lgamma(x + y);
    let log_choose = |k: f64| -(libm::log(m as f64 + 1.0) + log_beta(k + 1.0, m as f64 - k + 1.0));
    (0..=m)
        .map(|k| k as f64)
        .map(|k| libm::exp(log_choose(k) + log_beta(k + a, m as f64 - k + b) - log_beta(a, b)))
        .collect()
}

/// The counts that are no surprise: below the first and above the last, each, lies a chance of at most `miss`/2.
pub fn band(m: usize, a: f64, b: f64, miss: f64) -> (usize, usize) {
    let chances = chances(m, a, b);
    let beyond = |rare: &mut dyn Iterator<Item = &f64>| {
        let mut sum = 0.0;
        rare.take_while(|p| {
            sum += **p;
            sum <= miss / 2.0
        })
        .count()
    };
    (beyond(&mut chances.iter()), m - beyond(&mut chances.iter().rev()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_sum_to_one_and_have_their_mean() {
        let (m, a, b) = (20, 2.0, 19.0);
        let chances = chances(m, a, b);
        let mean: f64 = chances.iter().enumerate().map(|(k, p)| k as f64 * p).sum();
        assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((mean - m as f64 * a / (a + b)).abs() < 1e-12, "{mean}");
    }

    #[test]
    fn a_band_leaves_out_no_more_than_it_may() {
        for (m, a, b) in [(20, 2.0, 19.0), (500, 30.0, 571.0), (3, 1.0, 1.0)] {
            let chances = chances(m, a, b);
            let (low, high) = band(m, a, b, 0.05);
            assert!(chances[..low].iter().sum::<f64>() <= 0.025);
            assert!(chances[high + 1..].iter().sum::<f64>() <= 0.025);
            assert!(chances[..=low].iter().sum::<f64>() > 0.025);
            assert!(chances[high..].iter().sum::<f64>() > 0.025);
        }
    }
}
