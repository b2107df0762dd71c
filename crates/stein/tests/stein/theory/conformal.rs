//! Without a shift, p-values are uniform and false alarms as frequent as α says, over calibrations and test samples
//! together, whatever the score. Of m samples against n calibration scores, the number with p ≤ j/(n + 1) is
//! beta-binomial with parameters j and n + 1 − j; over independent detectors these counts add up.

use taste_data::InMemory;
use taste_engine::Backend;

use super::density::Mixture;
use crate::common::{Scaled, Trial, engine, network};

const FITS: u64 = 200;
const TESTS: usize = 20;
/// The chance that a count is outside of its band, either way, for all levels together.
const MISS: f64 = 1e-4;

/// The chances of 0..=m successes in m trials whose chance of success is drawn from Beta(a, b).
fn beta_binomial(m: usize, a: f64, b: f64) -> Vec<f64> {
    let log_beta = |x: f64, y: f64| libm::lgamma(x) + libm::lgamma(y) - libm::lgamma(x + y);
    let log_choose = |k: f64| -((m as f64 + 1.0).ln() + log_beta(k + 1.0, m as f64 - k + 1.0));
    (0..=m)
        .map(|k| k as f64)
        .map(|k| (log_choose(k) + log_beta(k + a, m as f64 - k + b) - log_beta(a, b)).exp())
        .collect()
}

/// The counts that are no surprise for a sum of independent ones, each with these chances.
pub(super) fn band(one: &[f64], terms: u64, miss: f64) -> (usize, usize) {
    let mut sum = vec![1.0];
    for _ in 0..terms {
        let mut longer = vec![0.0; sum.len() + one.len() - 1];
        for (i, s) in sum.iter().enumerate() {
            one.iter().enumerate().for_each(|(j, p)| longer[i + j] += s * p);
        }
        sum = longer;
    }
    let low = first_beyond(sum.iter(), miss / 2.0);
    let high = sum.len() - 1 - first_beyond(sum.iter().rev(), miss / 2.0);
    (low, high)
}

/// How many chances, from the first on, stay within a total.
fn first_beyond<'a>(chances: impl Iterator<Item = &'a f64>, total: f64) -> usize {
    let sums = chances.scan(0.0, |sum, p| {
        *sum += p;
        Some(*sum)
    });
    sums.take_while(|sum| *sum <= total).count()
}

/// All p-values with the number of calibration scores, and how many samples were flagged.
fn p_values(aggregate: &str, factor: f64) -> (Vec<f32>, usize, usize) {
    let p = Mixture::unit(&[0.0; 3]);
    let model = network(&[3, 8, 3], "Tanh", 131);
    let (mut all, mut count, mut flagged) = (Vec::new(), 0, 0);
    for round in 0..FITS {
        let detector = Trial::new(&model, Scaled(factor))
            .aggregate(aggregate)
            .map(false)
            .run(&InMemory::new("p", p.rows(60, 2000 + round)))
            .expect("a detector");
        count = detector.calibration().len();
        let scorer = detector.start(&engine(&Backend::RTEN), false).expect("a scorer");
        let found = scorer.score(p.rows(TESTS, 9000 + round).view()).expect("scores");
        flagged += found.flag.iter().filter(|f| **f).count();
        all.extend(found.p_value);
    }
    (all, count, flagged)
}

#[test]
fn p_values_are_uniform_and_false_alarms_as_many_as_asked_for() {
    for (aggregate, factor) in [("l2", 1.0), ("predicted", 0.3)] {
        let (found, count, flagged) = p_values(aggregate, factor);
        let ranks: Vec<f64> = found.iter().map(|&p| f64::from(p) * (count as f64 + 1.0)).collect();
        for rank in &ranks {
            assert!((rank - rank.round()).abs() < 1e-3, "{aggregate}: a rank of {rank}");
            assert!((0.5..count as f64 + 1.5).contains(rank), "{aggregate}: a rank of {rank}");
        }
        for level in 1..=count {
            let below = ranks.iter().filter(|r| r.round() <= level as f64).count();
            let (a, b) = (level as f64, (count + 1 - level) as f64);
            let (low, high) = band(&beta_binomial(TESTS, a, b), FITS, MISS / count as f64);
            assert!(
                (low..=high).contains(&below),
                "{aggregate}: {below} of {} p-values at or below {level}/{}, not {low} to {high}",
                ranks.len(),
                count + 1
            );
        }
        let allowed = (0.05 * (count as f64 + 1.0)).floor();
        assert!(allowed >= 1.0, "{count} calibration scores");
        let (a, b) = (allowed, count as f64 + 1.0 - allowed);
        let (low, high) = band(&beta_binomial(TESTS, a, b), FITS, MISS);
        assert!(
            (low..=high).contains(&flagged),
            "{aggregate}: {flagged} of {} flagged, not {low} to {high}",
            ranks.len()
        );
    }
}

#[test]
fn chances_of_a_beta_binomial_sum_to_one_and_have_its_mean() {
    let (m, a, b) = (20, 2.0, 19.0);
    let chances = beta_binomial(m, a, b);
    let mean: f64 = chances.iter().enumerate().map(|(k, p)| k as f64 * p).sum();
    assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert!((mean - m as f64 * a / (a + b)).abs() < 1e-12, "{mean}");
    let (low, high) = band(&[0.5, 0.5], 100, 0.05);
    assert_eq!((low, high), (40, 60));
}
