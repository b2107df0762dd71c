//! p-values of many tests, adjusted so that each can be compared with α by itself. Results are in the order of
//! the input, whose entries lie within 0..=1; NaN counts as 1.

/// Adjusted by Holm (1979): the chance of *any* false rejection is at most α, however the tests depend on each other.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let order = ascending(p_values);
    let mut largest = 0.0f64;
    let steps = order.iter().enumerate().map(|(rank, &(p, position))| {
        largest = largest.max(p * (order.len() - rank) as f64);
        (largest.min(1.0), position)
    });
    in_place(steps, order.len())
}

/// Adjusted by Benjamini and Hochberg (1995): the expected *share* of false ones among the rejections is at most α, for
/// independent or positively dependent tests, among them conformal p-values that share a calibration set.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let order = ascending(p_values);
    let mut smallest = 1.0f64;
    let steps = order.iter().enumerate().rev().map(|(rank, &(p, position))| {
        smallest = smallest.min(p * (order.len() as f64 / (rank + 1) as f64));
        (smallest, position)
    });
    in_place(steps, order.len())
}

fn ascending(p_values: &[f64]) -> Vec<(f64, usize)> {
    let known = |p: f64| if p.is_nan() { 1.0 } else { p };
    let mut order: Vec<_> = p_values.iter().enumerate().map(|(i, &p)| (known(p), i)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    order
}

fn in_place(steps: impl Iterator<Item = (f64, usize)>, count: usize) -> Vec<f64> {
    let mut adjusted = vec![1.0; count];
    for (p, position) in steps {
        adjusted[position] = p;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-15)
    }

    #[test]
    fn examples_by_hand() {
        let p = [0.01, 0.04, 0.03, 0.005, 0.5, 0.04];
        // Ascending .005·6, .01·5, .03·4, .04·3, .04·2, .5·1, each at least as large as those before.
        assert!(close(&holm(&p), &[0.05, 0.12, 0.12, 0.03, 0.5, 0.12]));
        // Ascending .005·6, .01·3, .03·2, .04·6/4, .04·6/5, .5, each at most as large as those after.
        assert!(close(&benjamini_hochberg(&p), &[0.03, 0.048, 0.048, 0.03, 0.5, 0.048]));
        assert!(close(&holm(&[0.6, f64::NAN]), &[1.0, 1.0]));
        assert!(close(&benjamini_hochberg(&[0.6, f64::NAN]), &[1.0, 1.0]));
        assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn adjusted_values_keep_the_laws(
            p in prop::collection::vec((0u32..=20).prop_map(|i| f64::from(i) / 20.0), 1..12),
        ) {
            let (strict, lax) = (holm(&p), benjamini_hochberg(&p));
            let raw_least = p.iter().copied().fold(1.0, f64::min);
            let strict_least = strict.iter().copied().fold(1.0, f64::min);
            prop_assert!((strict_least - (raw_least * p.len() as f64).min(1.0)).abs() < 1e-15);
            for i in 0..p.len() {
                prop_assert!(p[i] <= lax[i] && lax[i] <= strict[i] + 1e-15 && strict[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || (strict[i] <= strict[j] && lax[i] <= lax[j]));
                }
            }
            let backwards: Vec<f64> = p.iter().rev().copied().collect();
            let mut mirrored = (holm(&backwards), benjamini_hochberg(&backwards));
            mirrored.0.reverse();
            mirrored.1.reverse();
            prop_assert_eq!(mirrored, (strict, lax));
        }
    }
}
