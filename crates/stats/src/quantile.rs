//! Order statistics of values without NaN, in any order.

use super::bisect;

/// The factor by which the [`mad`] of normal data is smaller than their standard deviation, inverted.
pub const MAD_TO_DEVIATION: f64 = 1.482_602_218_505_602;

/// What the quantile is between two values of the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantile {
    /// The smallest value with at least a share p of the sample at or below it: type 1 of Hyndman and Fan.
    InverseCdf,
    /// The upper neighbour of position (n − 1)p: `higher` of numpy.
    Higher,
    /// Linear between the neighbours of position (n − 1)p: type 7 of Hyndman and Fan, the default of numpy.
    Linear,
}

impl Quantile {
    /// The quantile at p within 0..=1; none without values.
    pub fn of(self, values: &[f64], p: f64) -> Option<f64> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        self.of_sorted(&sorted, p)
    }

    /// The same of values in ascending order.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a position lies within 0..n"
    )]
    pub fn of_sorted(self, sorted: &[f64], p: f64) -> Option<f64> {
        let last = sorted.len().checked_sub(1)?;
        let p = p.clamp(0.0, 1.0);
        let position = last as f64 * p;
        let (below, above) = (position.floor() as usize, position.ceil() as usize);
        Some(match self {
            Self::InverseCdf => sorted[least_count(sorted.len(), p).max(1) - 1],
            Self::Higher => sorted[above],
            Self::Linear if sorted[below] < sorted[above] => {
                let share = position - below as f64;
                sorted[below] * (1.0 - share) + sorted[above] * share
            }
            Self::Linear => sorted[below],
        })
    }
}

/// The smallest j with j/n ≥ share, as divisions round: ⌈share · n⌉ without its errors for shares such as 0.07.
pub(crate) fn least_count(n: usize, share: f64) -> usize {
    let found = bisect::first(n as u64, |j| j as f64 / n as f64 >= share);
    usize::try_from(found).unwrap_or(n)
}

/// The median; none without values.
pub fn median(values: &[f64]) -> Option<f64> {
    Quantile::Linear.of(values, 0.5)
}

/// The median absolute deviation from the median; none without values.
pub fn mad(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    median(&values.iter().map(|v| (v - centre).abs()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [f64; 10] = [3.1, -2.0, 7.5, 0.4, 9.9, 1.1, 4.0, 4.0, 12.5, -6.0];

    #[test]
    fn quantiles_are_those_of_numpy() {
        for (p, inverse, higher, linear) in [
            (0.0, -6.0, -6.0, -6.0),
            (0.07, -6.0, -2.0, -3.48),
            (0.25, 0.4, 1.1, 0.575),
            (0.3, 0.4, 1.1, 0.89),
            (0.5, 3.1, 4.0, 3.55),
            (0.95, 12.5, 12.5, 11.33),
            (1.0, 12.5, 12.5, 12.5),
        ] {
            let found = [Quantile::InverseCdf, Quantile::Higher, Quantile::Linear]
                .map(|q| q.of(&VALUES, p).expect("values"));
            for (found, expected) in found.into_iter().zip([inverse, higher, linear]) {
                assert!((found - expected).abs() < 1e-12, "{p}: {found} {expected}");
            }
        }
        assert!((median(&VALUES).expect("values") - 3.55).abs() < 1e-12);
        assert!((mad(&VALUES).expect("values") - 3.55).abs() < 1e-12);
    }

    #[test]
    fn the_inverse_cdf_counts_exactly() {
        for n in 1..=300 {
            let ramp: Vec<f64> = (1..=n).map(f64::from).collect();
            for j in 1..=n {
                let p = f64::from(j) / f64::from(n);
                assert_eq!(Quantile::InverseCdf.of_sorted(&ramp, p), Some(f64::from(j)));
            }
        }
    }

    #[test]
    fn normal_data_have_the_deviation_that_their_mad_says() {
        let mut random = crate::random::Random::new(3);
        let values: Vec<f64> = (0..20_000).map(|_| 5.0 + 3.0 * random.normal()).collect();
        let deviation = MAD_TO_DEVIATION * mad(&values).expect("values");
        // The standard error is 1.17 · 3/√n.
        assert!((deviation - 3.0).abs() < 5.0 * 0.025, "{deviation}");
    }

    #[test]
    fn few_and_infinite_values() {
        assert_eq!((median(&[]), mad(&[]), median(&[2.0])), (None, None, Some(2.0)));
        let ends = [f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY];
        assert_eq!(Quantile::Linear.of(&ends, 0.75), Some(f64::INFINITY));
        assert_eq!(Quantile::Linear.of(&ends, 0.0), Some(f64::NEG_INFINITY));
    }
}
