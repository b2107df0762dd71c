//! Whether a batch has a larger mean, or a smaller one.

use super::{check_sizes, over_splits};
use crate::{Error, draws, error::refused};

/// What the test says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanTest {
    /// The share of splits in which the batch has a mean at least as large.
    pub upper: f64,
    /// The share of splits in which the batch has a mean at least as small.
    pub lower: f64,
    /// How many splits of the data were looked at beside the actual one.
    pub permutations: usize,
    /// Whether these were all there are, so that p-values are exact and do not depend on the seed.
    pub exhaustive: bool,
}

/// Compares the mean of a batch with that of a reference over splits of the pooled values, which must be finite. If the
/// pooled values are exchangeable, each p-value is at most α with a chance of at most α, equal values or not.
pub fn mean(
    reference: &[f64],
    batch: &[f64],
    permutations: usize,
    seed: u64,
) -> Result<MeanTest, Error> {
    draws("permutations", permutations)?;
    check_sizes(reference.len(), batch.len())?;
    // Sums over the smaller side tell as much, and cost less.
    let batch_first = batch.len() <= reference.len();
    let (small, large) = if batch_first { (batch, reference) } else { (reference, batch) };
    let values: Vec<f64> = small.iter().chain(large).copied().collect();
    if !values.iter().all(|v| v.is_finite()) {
        return Err(refused("the mean of values that are not all finite can't be compared"));
    }
    let middle = values.iter().sum::<f64>() / values.len() as f64;
    let sign = if batch_first { 1.0 } else { -1.0 };
    let values: Vec<f64> = values.iter().map(|v| sign * (v - middle)).collect();
    let chosen = small.len();
    let actual: f64 = values[..chosen].iter().sum();
    let (sums, exhaustive) = over_splits(
        (values.len(), chosen),
        (permutations, seed),
        || (),
        |(), split| split.iter().map(|&row| values[row]).sum::<f64>(),
    );
    // Equal sums may differ by rounding: those count as ties.
    let largest = values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    let rounding = 1e-12 * chosen as f64 * largest;
    let share = |beyond: usize| (1 + beyond) as f64 / (1 + sums.len()) as f64;
    Ok(MeanTest {
        upper: share(sums.iter().filter(|&&s| s >= actual - rounding).count()),
        lower: share(sums.iter().filter(|&&s| s <= actual + rounding).count()),
        permutations: sums.len(),
        exhaustive,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{binomial, random::Random};

    #[test]
    fn all_splits_are_counted_by_hand() {
        // The batch has 5 of {1, 2, 3, 5}: the mean is the largest of 4.
        let found = mean(&[1.0, 2.0, 3.0], &[5.0], 99, 0).expect("a test");
        assert_eq!((found.upper, found.lower, found.exhaustive), (0.25, 1.0, true));
        // Where the batch is the larger side, with equal values: the ten choices of three, one by one.
        let (reference, batch) = ([2.0, 3.0], [1.0, 3.0, 4.0]);
        let all = [2.0, 3.0, 1.0, 3.0, 4.0];
        let (mut above, mut below) = (0, 0);
        for mask in (0u32..32).filter(|m| m.count_ones() == 3) {
            let sum: f64 = (0..5).filter(|i| mask >> i & 1 == 1).map(|i| all[i]).sum();
            above += usize::from(sum >= 8.0 - 1e-9);
            below += usize::from(sum <= 8.0 + 1e-9);
        }
        let found = mean(&reference, &batch, 99, 0).expect("a test");
        assert!((found.upper - above as f64 / 10.0).abs() < 1e-12, "{found:?} {above}");
        assert!((found.lower - below as f64 / 10.0).abs() < 1e-12, "{found:?} {below}");
    }

    #[test]
    fn drawn_splits_agree_with_all_and_either_side_may_be_larger() {
        let mut random = Random::new(3);
        let mut draw = |n: usize| (0..n).map(|_| random.normal().exp()).collect::<Vec<f64>>();
        let (a, b) = (draw(11), draw(6));
        for (reference, batch) in [(&a, &b), (&b, &a)] {
            let exact = mean(reference, batch, 20_000, 0).expect("a test");
            let drawn = mean(reference, batch, 5000, 1).expect("a test");
            assert!(exact.exhaustive && !drawn.exhaustive);
            for (exact, drawn) in [(exact.upper, drawn.upper), (exact.lower, drawn.lower)] {
                let (low, high) = binomial::band(5000, exact, 1e-6);
                let beyond = drawn * 5001.0 - 1.0;
                assert!(low as f64 - 0.5 < beyond && beyond < high as f64 + 0.5, "{beyond}");
            }
        }
    }

    #[test]
    fn equal_values_and_far_ones_are_no_trouble() {
        let equal = mean(&[0.1; 40], &[0.1; 7], 199, 0).expect("a test");
        assert_eq!((equal.upper, equal.lower), (1.0, 1.0));
        let far = mean(&[0.0; 300], &[1.0; 5], 199, 0).expect("a test");
        assert!((far.upper - 0.005).abs() < 1e-12 && far.lower >= 1.0);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let message = |r: &[f64], b: &[f64], n| mean(r, b, n, 0).expect_err("refused").to_string();
        assert!(message(&[1.0], &[1.0], 9).contains("there are 1 and 1"));
        assert!(message(&[1.0, 2.0], &[], 9).contains("there are 2 and 0"));
        assert!(message(&[1.0, 2.0], &[f64::NAN], 9).contains("finite"));
        assert!(message(&[1.0, 2.0], &[1.0], 0).contains("permutations must be 1 to"));
    }
}
