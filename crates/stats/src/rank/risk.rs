//! What a model risks that answers only where scores are small. Positive samples are its mistakes.

use super::Ranked;

impl Ranked {
    /// The mean over all coverages k/n of the share of mistakes among the k samples with the smallest scores (AURC,
    /// Geifman and El-Yaniv 2017); samples with equal scores are taken in any order, and the mean over these orders
    /// counts. None without samples.
    pub fn risk_coverage(&self) -> Option<f64> {
        let (mut taken, mut mistakes, mut sum) = (0.0, 0.0, 0.0);
        for level in &self.levels {
            let (both, own) = (level.both(), level.positive as f64);
            let rate = own / both as f64;
            let mut further = 0.0;
            for _ in 0..both {
                further += 1.0;
                sum += (mistakes + further * rate) / (taken + further);
            }
            taken += both as f64;
            mistakes += own;
        }
        (taken > 0.0).then(|| sum / taken)
    }

    /// The area under the share of samples that are taken and mistaken, over the share that is taken (AUGRC, Traub et
    /// al. 2024), straight between different scores: the chance of a mistake that goes unnoticed, over all thresholds.
    /// None without samples.
    pub fn generalised_risk_coverage(&self) -> Option<f64> {
        let (mut mistakes, mut halves) = (0u128, 0u128);
        for level in &self.levels {
            let own = u128::from(level.positive);
            halves += u128::from(level.both()) * (2 * mistakes + own);
            mistakes += own;
        }
        let all = u128::from(self.negatives() + self.positives());
        (all > 0).then(|| halves as f64 / (2 * all * all) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::draw, *};

    /// Every order of the samples that goes with the scores.
    fn orders(samples: &[(f64, bool)]) -> Vec<Vec<bool>> {
        if samples.is_empty() {
            return vec![Vec::new()];
        }
        let least = samples.iter().map(|s| s.0).fold(f64::INFINITY, f64::min);
        let mut all = Vec::new();
        for (i, &(score, wrong)) in samples.iter().enumerate() {
            if score <= least {
                let rest: Vec<_> = [&samples[..i], &samples[i + 1..]].concat();
                let behind = orders(&rest);
                all.extend(behind.into_iter().map(|order| [vec![wrong], order].concat()));
            }
        }
        all
    }

    fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
        let count = values.len() as f64;
        values.sum::<f64>() / count
    }

    #[test]
    fn areas_are_means_over_all_orders_of_ties() {
        let scores = [1.0, 0.0, 2.0, 1.0, 2.0, 1.0, 3.0];
        let wrong = [true, false, false, false, true, false, true];
        let samples: Vec<(f64, bool)> = scores.into_iter().zip(wrong).collect();
        let orders = orders(&samples);
        assert_eq!(orders.len(), 12);
        let among = |order: &Vec<bool>, k: usize| order[..k].iter().filter(|w| **w).count() as f64;
        let plain = mean(orders.iter().map(|o| mean((1..8).map(|k| among(o, k) / k as f64))));
        let general = mean(
            orders
                .iter()
                .map(|o| mean((1..8).map(|k| f64::midpoint(among(o, k - 1), among(o, k)) / 7.0))),
        );
        let ranked = Ranked::of(&scores, &wrong);
        let found = ranked.risk_coverage().expect("samples");
        assert!((found - plain).abs() < 1e-14, "{found} {plain}");
        let found = ranked.generalised_risk_coverage().expect("samples");
        assert!((found - general).abs() < 1e-14, "{found} {general}");
    }

    #[test]
    fn the_generalised_area_follows_from_auroc_and_accuracy() {
        let ranked = Ranked::new(&draw(90, 0.0, 3), &draw(40, 0.5, 4));
        let (auroc, wrong) = (ranked.auroc().expect("samples"), 40.0 / 130.0);
        let expected = (1.0 - auroc) * wrong * (1.0 - wrong) + wrong * wrong / 2.0;
        let found = ranked.generalised_risk_coverage().expect("samples");
        assert!((found - expected).abs() < 1e-14);
    }

    #[test]
    fn a_model_without_mistakes_risks_nothing() {
        let right = Ranked::of(&[1.0, 2.0], &[false, false]);
        assert_eq!(
            (right.risk_coverage(), right.generalised_risk_coverage()),
            (Some(0.0), Some(0.0))
        );
        let wrong = Ranked::of(&[1.0, 2.0], &[true, true]);
        assert_eq!(
            (wrong.risk_coverage(), wrong.generalised_risk_coverage()),
            (Some(1.0), Some(0.5))
        );
        assert_eq!(Ranked::of(&[], &[]).risk_coverage(), None);
    }
}
