//! The variance of an area under the ROC curve (DeLong, DeLong and Clarke-Pearson 1988).

use super::Ranked;
use crate::{Error, error::refused, interval::Interval, normal, within_unit};

impl Ranked {
    /// The variance of [`auroc`](Self::auroc) over samples; none with fewer than two of either class.
    pub fn auroc_variance(&self) -> Option<f64> {
        let (negatives, positives) = (self.negatives() as f64, self.positives() as f64);
        let area = self.auroc()?;
        if negatives < 2.0 || positives < 2.0 {
            return None;
        }
        let (mut below, mut not_above) = (0.0, 0.0);
        let (mut of_positives, mut of_negatives) = (0.0, 0.0);
        for level in &self.levels {
            let (no, yes) = (level.negative as f64, level.positive as f64);
            // The share of the other class that a sample at this level is on the right side of, ties counted half.
            let beaten = (below + no / 2.0) / negatives;
            let beating = (positives - not_above - yes / 2.0) / positives;
            of_positives += yes * (beaten - area).powi(2);
            of_negatives += no * (beating - area).powi(2);
            below += no;
            not_above += yes;
        }
        let of_positives = of_positives / (positives - 1.0) / positives;
        Some(of_positives + of_negatives / (negatives - 1.0) / negatives)
    }

    /// [`auroc`](Self::auroc) with DeLong's interval, cut at 0 and 1.
    pub fn auroc_interval(&self, level: f64) -> Result<Interval, Error> {
        let level = within_unit("the confidence level", level)?;
        let (Some(estimate), Some(variance)) = (self.auroc(), self.auroc_variance()) else {
            return Err(refused(format!(
                "an interval of an AUROC needs two samples of each class, and there are {} and {}",
                self.negatives(),
                self.positives()
            )));
        };
        let margin = normal::quantile(f64::midpoint(1.0, level)) * variance.sqrt();
        let (low, high) = ((estimate - margin).max(0.0), (estimate + margin).min(1.0));
        Ok(Interval { estimate, low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::draw, *};
    use crate::{binomial, random::Random};

    #[test]
    fn the_variance_is_that_of_placements() {
        let (no, yes) = (draw(30, 0.0, 1), draw(20, 0.7, 2));
        let wins = |y: f64, n: f64| if y > n { 1.0 } else { f64::from(y >= n) / 2.0 };
        let variance = |placements: Vec<f64>| {
            let count = placements.len() as f64;
            let mean = placements.iter().sum::<f64>() / count;
            placements.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0) / count
        };
        let of = |y: &f64| no.iter().map(|n| wins(*y, *n)).sum::<f64>() / 30.0;
        let against = |n: &f64| yes.iter().map(|y| wins(*y, *n)).sum::<f64>() / 20.0;
        let expected =
            variance(yes.iter().map(of).collect()) + variance(no.iter().map(against).collect());
        let found = Ranked::new(&no, &yes).auroc_variance().expect("samples");
        assert!((found - expected).abs() < 1e-15, "{found} {expected}");
    }

    #[test]
    fn intervals_cover_as_often_as_they_say() {
        // P(Z + 1 > Z') = Φ(1/√2).
        let truth = normal::cdf(0.5f64.sqrt());
        let mut random = Random::new(11);
        let mut sample = |n: usize, shift: f64| -> Vec<f64> {
            (0..n).map(|_| random.normal() + shift).collect()
        };
        let covered = (0..2000)
            .filter(|_| {
                let ranked = Ranked::new(&sample(60, 0.0), &sample(40, 1.0));
                ranked.auroc_interval(0.95).expect("samples").contains(truth)
            })
            .count();
        // A little below the level for samples as small as these.
        let (low, high) = binomial::band(2000, 0.942, 0.001);
        assert!((low..=high).contains(&(covered as u64)), "{covered}");
    }

    #[test]
    fn few_samples_have_no_interval() {
        let message = Ranked::new(&[1.0], &[2.0, 3.0]).auroc_interval(0.95).expect_err("one");
        assert!(message.to_string().contains("there are 1 and 2"), "{message}");
        assert!(Ranked::new(&[1.0, 2.0], &[2.0, 3.0]).auroc_interval(1.0).is_err());
    }
}
