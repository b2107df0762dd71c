use super::{Level, Ranked};

impl Ranked {
    /// The receiver operating characteristic: shares of negative and of positive samples that are found, from a
    /// threshold above all scores down to one below them. A straight line leads from corner to corner, also through
    /// equal scores, so that the area below is [`auroc`](Self::auroc). Nothing without samples of both classes.
    pub fn roc(&self) -> Vec<(f64, f64)> {
        let (negatives, positives) = (self.negatives(), self.positives());
        if negatives == 0 || positives == 0 {
            return Vec::new();
        }
        let share = |found: Level| {
            (found.negative as f64 / negatives as f64, found.positive as f64 / positives as f64)
        };
        let (mut corners, mut found, mut last) = (Vec::new(), Level::default(), Level::default());
        for &step in self.levels.iter().rev() {
            let turn = |a: Level, b: Level| u128::from(a.negative) * u128::from(b.positive);
            if corners.is_empty() || turn(step, last) != turn(last, step) {
                corners.push(share(found));
            }
            found.negative += step.negative;
            found.positive += step.positive;
            last = step;
        }
        corners.push(share(found));
        corners
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ranked, tests::draw};

    #[test]
    fn the_area_below_is_the_auroc() {
        for (shift, seed) in [(0.0, 1), (0.7, 2), (-1.5, 3), (4.0, 4)] {
            let ranked = Ranked::new(&draw(90, 0.0, seed), &draw(60, shift, seed + 10));
            let roc = ranked.roc();
            assert_eq!((roc[0], roc[roc.len() - 1]), ((0.0, 0.0), (1.0, 1.0)));
            assert!(roc.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 <= w[1].1 && w[0] != w[1]));
            let area: f64 =
                roc.windows(2).map(|w| (w[1].0 - w[0].0) * (w[1].1 + w[0].1) / 2.0).sum();
            assert!((area - ranked.auroc().expect("samples")).abs() < 1e-14);
        }
    }

    #[test]
    fn only_corners_are_kept() {
        let apart = Ranked::new(&[1.0, 2.0, 3.0], &[4.0, 5.0, f64::NAN]);
        assert_eq!(apart.roc(), [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)]);
        let equal = Ranked::new(&[1.0, 2.0, 2.0], &[1.0, 2.0, 2.0]);
        assert_eq!(equal.roc(), [(0.0, 0.0), (1.0, 1.0)]);
        assert_eq!(Ranked::new(&[], &[1.0]).roc(), []);
    }
}
