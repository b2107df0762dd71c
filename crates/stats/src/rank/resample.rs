//! Percentile intervals of rank statistics, by drawing samples again.

use rayon::prelude::*;

use super::{Level, Ranked};
use crate::{Error, error::refused, interval, interval::Interval, random::Random};

/// How samples are drawn again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Each class for itself, as many as there are: two sets that were brought.
    Apart,
    /// All together: the classes are as frequent as they happen to be.
    Together,
}

impl Ranked {
    /// The percentile bootstrap of a statistic: its value, and the ends between which it lies in a share `level` of
    /// `resamples` draws with replacement. Draws for which the statistic is not defined are left out.
    pub fn bootstrap(
        &self,
        draw: Draw,
        level: f64,
        resamples: usize,
        seed: u64,
        statistic: impl Fn(&Self) -> Option<f64> + Sync,
    ) -> Result<Interval, Error> {
        interval::rank(level, resamples)?;
        let estimate = statistic(self)
            .ok_or_else(|| refused("the statistic is not defined for these samples".to_owned()))?;
        let members = |of: fn(&Level) -> u64| -> Vec<usize> {
            let own = self.levels.iter().map(of).enumerate();
            own.flat_map(|(i, n)| (0..n).map(move |_| i)).collect()
        };
        let (no, yes) = (members(|l| l.negative), members(|l| l.positive));
        let drawn = |number: u64| {
            let mut random = Random::stream(seed, number);
            statistic(&self.again(draw, &no, &yes, &mut random))
        };
        let draws = (0..resamples as u64).into_par_iter().filter_map(drawn);
        let found: Vec<f64> = taste_threads::within(|| draws.collect());
        percentiles(estimate, level, found)
    }

    fn again(&self, draw: Draw, no: &[usize], yes: &[usize], random: &mut Random) -> Self {
        let mut levels = vec![Level::default(); self.levels.len()];
        match draw {
            Draw::Apart => {
                for _ in no {
                    levels[no[random.below(no.len())]].negative += 1;
                }
                for _ in yes {
                    levels[yes[random.below(yes.len())]].positive += 1;
                }
            }
            Draw::Together => {
                for _ in 0..no.len() + yes.len() {
                    let place = random.below(no.len() + yes.len());
                    match no.get(place) {
                        Some(&level) => levels[level].negative += 1,
                        None => levels[yes[place - no.len()]].positive += 1,
                    }
                }
            }
        }
        levels.retain(|level| level.both() > 0);
        Self { levels }
    }
}

/// The interval that draws of a statistic leave a share `level` within.
pub(super) fn percentiles(
    estimate: f64,
    level: f64,
    mut draws: Vec<f64>,
) -> Result<Interval, Error> {
    let rank = interval::rank(level, draws.len())?;
    draws.sort_unstable_by(f64::total_cmp);
    Ok(Interval { estimate, low: draws[rank - 1], high: draws[draws.len() - rank] })
}

#[cfg(test)]
mod tests {
    use super::{super::tests::draw, *};
    use crate::rank::Convention;

    #[test]
    fn the_seed_decides_and_the_samples_stay_as_many() {
        let ranked = Ranked::new(&draw(80, 0.0, 1), &draw(50, 1.0, 2));
        let area =
            |seed| ranked.bootstrap(Draw::Apart, 0.95, 199, seed, Ranked::auroc).expect("draws");
        assert_eq!(area(3), area(3));
        assert!(area(3) != area(4));
        let counts = |ranked: &Ranked| Some(ranked.negatives() as f64 + ranked.positives() as f64);
        for way in [Draw::Apart, Draw::Together] {
            let found = ranked.bootstrap(way, 0.95, 99, 0, counts).expect("draws");
            assert_eq!(
                (found.low.to_bits(), found.high.to_bits()),
                (130f64.to_bits(), 130f64.to_bits())
            );
        }
        let apart = |r: &Ranked| Some(r.negatives() as f64);
        let found = ranked.bootstrap(Draw::Apart, 0.95, 99, 0, apart).expect("draws");
        assert!(found.high - found.low < 0.5);
        assert!(ranked.bootstrap(Draw::Together, 0.95, 99, 0, apart).is_ok_and(|i| i.high > i.low));
    }

    #[test]
    fn it_agrees_with_delong() {
        let ranked = Ranked::new(&draw(400, 0.0, 1), &draw(300, 1.0, 2));
        let formula = ranked.auroc_interval(0.95).expect("samples");
        let drawn = ranked.bootstrap(Draw::Apart, 0.95, 1999, 5, Ranked::auroc).expect("draws");
        let width = formula.high - formula.low;
        assert!((drawn.low - formula.low).abs() < 0.1 * width, "{drawn:?} {formula:?}");
        assert!((drawn.high - formula.high).abs() < 0.1 * width, "{drawn:?} {formula:?}");
    }

    #[test]
    fn what_is_not_defined_is_refused() {
        let rate = |r: &Ranked| r.false_positive_rate(0.95, Convention::InsidePositive);
        assert!(Ranked::new(&[], &[1.0]).bootstrap(Draw::Apart, 0.95, 99, 0, rate).is_err());
        let both = Ranked::new(&[0.0], &[1.0]);
        assert!(both.bootstrap(Draw::Apart, 0.95, 9, 0, rate).is_err());
        // Half of the draws of two samples lack a class.
        assert!(both.bootstrap(Draw::Together, 0.95, 999, 0, rate).is_ok());
    }
}
