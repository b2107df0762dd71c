use super::Ranked;

impl Ranked {
    /// The area under the curve of precision over recall as steps, without interpolation (average precision); none
    /// without samples of both classes.
    pub fn average_precision(&self) -> Option<f64> {
        let (negatives, positives) = (self.negatives(), self.positives());
        if negatives == 0 || positives == 0 {
            return None;
        }
        let (mut found, mut flagged, mut area) = (0, 0, 0.0);
        for level in self.levels.iter().rev() {
            found += level.positive;
            flagged += level.both();
            area += level.positive as f64 * (found as f64 / flagged as f64);
        }
        Some(area / positives as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::draw, *};

    #[test]
    fn steps_follow_their_definition() {
        let (inside, outside) = (draw(40, 0.0, 7), draw(30, 0.6, 8));
        let at_least = |of: &[f64], t: f64| of.iter().filter(|s| **s >= t).count() as f64;
        // Of every positive sample the precision at its own threshold.
        let precisions = outside
            .iter()
            .map(|&t| at_least(&outside, t) / (at_least(&outside, t) + at_least(&inside, t)));
        let expected = precisions.sum::<f64>() / 30.0;
        let found = Ranked::new(&inside, &outside).average_precision().expect("samples");
        assert!((found - expected).abs() < 1e-14, "{found} {expected}");
    }

    #[test]
    fn the_ends_are_certainty_and_the_share() {
        let found = |no: &[f64], yes: &[f64]| Ranked::new(no, yes).average_precision();
        assert_eq!(found(&[0.0, 1.0], &[2.0]), Some(1.0));
        assert_eq!(found(&[5.0, 5.0, 5.0], &[5.0]), Some(0.25));
        assert_eq!((found(&[], &[1.0]), found(&[1.0], &[])), (None, None));
    }
}
