use super::Ranked;
use crate::quantile::least_count;

/// Whose share is held fixed in a false-positive rate. Publications differ; name it with every number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// Outside is positive: the highest threshold at or above which the wanted share of outside samples lies; the
    /// share of *inside* samples at or above it.
    OutsidePositive,
    /// Inside is positive: the lowest threshold at or below which the wanted share of inside samples lies; the share
    /// of *outside* samples at or below it.
    InsidePositive,
}

impl Ranked {
    /// The false-positive rate where the true-positive rate first reaches `wanted`, without interpolation; none without
    /// samples of both classes, or if `wanted` is not within 0..=1. Samples outside are the positive ones here.
    pub fn false_positive_rate(&self, wanted: f64, convention: Convention) -> Option<f64> {
        match convention {
            Convention::OutsidePositive => self.rate_at(wanted),
            Convention::InsidePositive => self.reversed().rate_at(wanted),
        }
    }

    /// The share of positive samples above the lowest threshold that at most a share `allowed` of the negative ones reach,
    /// without interpolation; none without samples of both classes, or if `allowed` is not within 0..=1.
    pub fn true_positive_rate(&self, allowed: f64) -> Option<f64> {
        let (negatives, positives) = (self.negatives(), self.positives());
        if negatives == 0 || positives == 0 || !(0.0..=1.0).contains(&allowed) {
            return None;
        }
        // A share such as 0.05 of 20 is one sample, whatever the rounding.
        let most = allowed * negatives as f64 * (1.0 + 1e-12);
        let (mut found, mut wrongly) = (0, 0);
        for level in self.levels.iter().rev() {
            wrongly += level.negative;
            if wrongly as f64 > most {
                break;
            }
            found += level.positive;
        }
        Some(found as f64 / positives as f64)
    }

    fn rate_at(&self, wanted: f64) -> Option<f64> {
        let (negatives, positives) = (self.negatives(), self.positives());
        if negatives == 0 || positives == 0 || !(0.0..=1.0).contains(&wanted) {
            return None;
        }
        let kept = least_count(usize::try_from(positives).ok()?, wanted).max(1) as u64;
        let (mut found, mut wrongly) = (0, 0);
        for level in self.levels.iter().rev() {
            found += level.positive;
            wrongly += level.negative;
            if found >= kept {
                break;
            }
        }
        Some(wrongly as f64 / negatives as f64)
    }
}

/// [`Ranked::false_positive_rate`] of samples inside and outside.
pub fn false_positive_rate(
    inside: &[f64],
    outside: &[f64],
    wanted: f64,
    convention: Convention,
) -> Option<f64> {
    Ranked::new(inside, outside).false_positive_rate(wanted, convention)
}

/// [`false_positive_rate`] at a true-positive rate of 95 %.
pub fn fpr95(inside: &[f64], outside: &[f64], convention: Convention) -> Option<f64> {
    false_positive_rate(inside, outside, 0.95, convention)
}

#[cfg(test)]
mod tests {
    use super::{super::tests::draw, *};

    #[test]
    fn both_conventions_follow_their_words() {
        let (inside, outside) = (draw(200, 0.0, 3), draw(60, 1.5, 4));
        let share = |of: &[f64], holds: &dyn Fn(f64) -> bool| {
            of.iter().filter(|&&s| holds(s)).count() as f64 / of.len() as f64
        };
        for wanted in [0.05, 0.5, 0.9, 0.95, 1.0] {
            let thresholds = || inside.iter().chain(&outside).copied();
            let highest = thresholds()
                .filter(|t| share(&outside, &|s| s >= *t) >= wanted)
                .fold(f64::NEG_INFINITY, f64::max);
            let lowest = thresholds()
                .filter(|t| share(&inside, &|s| s <= *t) >= wanted)
                .fold(f64::INFINITY, f64::min);
            let rate = |c| false_positive_rate(&inside, &outside, wanted, c);
            let expected = share(&inside, &|s| s >= highest);
            assert_eq!(rate(Convention::OutsidePositive), Some(expected));
            let expected = share(&outside, &|s| s <= lowest);
            assert_eq!(rate(Convention::InsidePositive), Some(expected));
        }
    }

    #[test]
    fn true_positives_are_those_above_the_lowest_threshold_that_is_allowed() {
        let (inside, outside) = (draw(200, 0.0, 3), draw(60, 1.5, 4));
        let share =
            |of: &[f64], t: f64| of.iter().filter(|&&s| s >= t).count() as f64 / of.len() as f64;
        let ranked = Ranked::new(&inside, &outside);
        for allowed in [0.0, 0.01, 0.05, 0.3, 1.0] {
            let thresholds = inside.iter().chain(&outside).copied();
            let best = thresholds
                .filter(|t| share(&inside, *t) <= allowed)
                .map(|t| share(&outside, t))
                .fold(0.0, f64::max);
            assert_eq!(ranked.true_positive_rate(allowed), Some(best), "{allowed}");
        }
        assert_eq!(ranked.true_positive_rate(1.1), None);
        assert_eq!(Ranked::new(&[], &outside).true_positive_rate(0.5), None);
        let twenty: Vec<f64> = (0..20).map(f64::from).collect();
        assert_eq!(Ranked::new(&twenty, &[18.5]).true_positive_rate(0.05), Some(1.0));
    }

    #[test]
    fn the_conventions_differ() {
        let inside: Vec<f64> = (0..20).map(f64::from).collect();
        let outside = [5.0, 18.5, 30.0, 31.0];
        assert_eq!(fpr95(&inside, &outside, Convention::OutsidePositive), Some(0.75));
        assert_eq!(fpr95(&inside, &outside, Convention::InsidePositive), Some(0.25));
        assert_eq!(false_positive_rate(&inside, &outside, 1.5, Convention::InsidePositive), None);
        assert_eq!(fpr95(&[], &outside, Convention::InsidePositive), None);
    }
}
