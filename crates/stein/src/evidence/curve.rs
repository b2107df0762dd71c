//! How much evidence a component of a sample is: −log of the share of held-out samples that reach it, and a straight line
//! beyond the 95 % point, where shares can't be counted.

use taste_graph::{Build, Id, OpError, Tensor, Term};
use taste_ops::functions;
use taste_stats::{moments::Summary, quantile::Quantile};

/// Beyond this share of held-out samples the tail is a line.
const TAIL: f64 = 0.05;
/// Evidence of one component is at most this.
const MOST: f64 = 50.0;
/// Values beyond the tail that its slope is read from, at least.
const LEAST_BEYOND: usize = 5;
/// Values that differ by less than this share of their deviation are taken as equal.
const RESOLVED: f64 = 0.01;
/// Knots that change the evidence by less than this are left out.
const THIN: f64 = 5e-3;

/// Which values of a component speak of harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Large ones.
    Upper,
    /// Values far out on either side.
    TwoSided,
}

/// Evidence as a function of a component: a piecewise linear curve that rises from 0.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    /// Where each piece begins.
    from: Vec<f64>,
    /// How long it is.
    length: Vec<f64>,
    /// How steep it is.
    slope: Vec<f64>,
    /// The 95 % point, and the mean excess beyond it.
    pub(crate) tail: (f64, f64),
}

impl Curve {
    /// From values of held-out samples.
    pub(crate) fn fit(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len() as f64;
        let tail = Quantile::Linear.of_sorted(&sorted, 1.0 - TAIL).unwrap_or(0.0);
        let beyond: Vec<f64> = sorted.iter().filter(|v| **v > tail).map(|v| v - tail).collect();
        let mean = beyond.iter().sum::<f64>() / beyond.len().max(1) as f64;
        let spread = Summary::of(values).map_or(0.0, |s| s.variance.sqrt()).max(1e-6);
        let size = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        // Differences below this are rounding to some engine.
        let least = (RESOLVED * spread).max(1e-6 * size);
        let excess = if beyond.len() < LEAST_BEYOND { spread } else { mean.max(least) };
        // Of equal values the first counts: as many reach it as reach the others.
        let mut knots: Vec<(f64, f64)> = Vec::new();
        for (i, &v) in sorted.iter().enumerate().take_while(|(_, v)| **v <= tail) {
            if knots.last().is_none_or(|k| v - k.0 > least) {
                knots.push((v, -((n - i as f64 + 1.0) / (n + 1.0)).ln()));
            }
        }
        let last = knots.last().map_or(tail, |k| k.0);
        let end = tail.max(last + least);
        knots.push((end, -TAIL.ln()));
        let mut curve = Self { from: vec![], length: vec![], slope: vec![], tail: (tail, excess) };
        for pair in thinned(&knots).windows(2) {
            let length = pair[1].0 - pair[0].0;
            curve.push(pair[0].0, length, (pair[1].1 - pair[0].1) / length);
        }
        curve.push(end, (MOST + TAIL.ln()) * excess, 1.0 / excess);
        curve
    }

    fn push(&mut self, from: f64, length: f64, slope: f64) {
        self.from.push(from);
        self.length.push(length);
        self.slope.push(slope);
    }

    /// The evidence of a value.
    #[cfg(test)]
    pub(crate) fn at(&self, value: f64) -> f64 {
        let pieces = self.from.iter().zip(&self.length).zip(&self.slope);
        pieces.map(|((from, length), slope)| slope * (value - from).clamp(0.0, *length)).sum()
    }

    /// The evidence of a column of values: N × 1. Not a number where the value is none.
    pub(crate) fn build(&self, b: &mut Build<'_>, value: Id) -> Result<Id, OpError> {
        let pieces = self.from.len();
        let mut row = |values: &[f64], shape: &[usize]| -> Result<Id, OpError> {
            Ok(b.graph_mut().stored(Tensor::floats(shape, values.to_vec())?))
        };
        let from = row(&self.from, &[1, pieces])?;
        let length = row(&self.length, &[1, pieces])?;
        let slope = row(&self.slope, &[pieces, 1])?;
        let clipped =
            b.formula([value, from, length], |[x, from, length]| passed(x - from, length))?;
        let evidence = functions::matmul(b, clipped, slope)?;
        // A maximum may pass over what is no number.
        b.formula([evidence, value], |[e, x]| e + x * 0.0)
    }
}

/// How much of a piece of this length lies behind a place that is so far from its beginning. Exact for places far beyond
/// its end.
pub(crate) fn passed<'s>(place: Term<'s>, length: Term<'s>) -> Term<'s> {
    length - (length - place.then(functions::relu)).then(functions::relu)
}

/// The evidence of a component, by the curve of its values and, two-sided, that of its negative values.
pub(crate) fn evidence(
    b: &mut Build<'_>,
    value: Id,
    upper: &Curve,
    lower: Option<&Curve>,
) -> Result<Id, OpError> {
    let up = upper.build(b, value)?;
    let Some(lower) = lower else { return Ok(up) };
    let turned = b.neg(value)?;
    let down = lower.build(b, turned)?;
    // Two looks at one component cost a factor of two.
    b.formula([up, down, value], |[up, down, x]| {
        let larger = up + (down - up).then(functions::relu);
        (larger - 2.0f64.ln()).then(functions::relu) + x * 0.0
    })
}

/// The knots that a piecewise linear curve needs to stay within [`THIN`] of all of them.
fn thinned(knots: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let Some(&first) = knots.first() else { return Vec::new() };
    let mut kept = vec![first];
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut last = first;
    for &(x, y) in &knots[1..] {
        let (x0, y0) = kept[kept.len() - 1];
        let slope = (y - y0) / (x - x0);
        if slope < low || slope > high {
            kept.push(last);
            let (x0, y0) = last;
            low = (y - THIN - y0) / (x - x0);
            high = (y + THIN - y0) / (x - x0);
        } else {
            low = low.max((y - THIN - y0) / (x - x0));
            high = high.min((y + THIN - y0) / (x - x0));
        }
        last = (x, y);
    }
    if kept[kept.len() - 1] != last {
        kept.push(last);
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use taste_graph::{Dim, Fact, Graph};
    use taste_stats::random::Random;

    use super::*;

    fn draws(count: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..count).map(|_| random.normal()).collect()
    }

    #[test]
    fn a_curve_counts_below_the_tail_and_is_a_line_beyond_it() {
        for count in [20, 300, 3000] {
            let values = draws(count, count as u64);
            let curve = Curve::fit(&values);
            let (n, (q, m)) = (count as f64, curve.tail);
            let reach = |v: f64| values.iter().filter(|a| **a >= v).count() as f64;
            for &v in &values {
                let want = if v <= q {
                    -((1.0 + reach(v)) / (n + 1.0)).ln()
                } else {
                    -TAIL.ln() + (v - q) / m
                };
                // Values within a hundredth of a deviation of each other are one.
                let near = (1.0 + reach(v - 0.02)) / (1.0 + reach(v));
                let slack = 2.0 * THIN + if v <= q { near.ln() } else { 0.02 / m };
                assert!((curve.at(v) - want).abs() < slack, "{count}: {v}: {} {want}", curve.at(v));
            }
            assert!(curve.at(-100.0).abs() < 1e-12);
            assert!((curve.at(q + 2.0 * m) - (2.0 - TAIL.ln())).abs() < 0.02 / m);
            assert!((curve.at(1e9) - MOST).abs() < 1e-6);
            assert!(curve.from.len() < 300, "{}", curve.from.len());
        }
    }

    #[test]
    fn equal_values_are_no_evidence_and_what_is_above_them_is() {
        let equal = Curve::fit(&[3.0; 40]);
        assert!(equal.at(3.0).abs() < 1e-9 && equal.at(2.9).abs() < 1e-9);
        assert!(equal.at(3.1) > MOST - 1e-6);
        // Most are zero, as outside of a range: those are none, the others beyond the tail.
        let mut mostly = vec![0.0; 97];
        mostly.extend([0.5, 1.0, 2.0]);
        let mostly = Curve::fit(&mostly);
        assert!(mostly.at(0.0).abs() < 1e-9 && mostly.at(0.5) > -TAIL.ln());
        let few = Curve::fit(&draws(10, 1));
        assert!(few.tail.1 > 0.3, "{few:?}");
        let ties = Curve::fit(&[0.0, 0.0, 0.0, 1.0, 1.0, 2.0]);
        assert!(ties.at(0.0).abs() < 1e-9 && (ties.at(1.0) + (4.0f64 / 7.0).ln()).abs() < 1e-9);
    }

    #[test]
    fn no_piece_is_so_steep_that_rounding_shows() {
        // Two values that all but coincide at the tail.
        let values: Vec<f64> = (0..400)
            .map(|i| if i < 370 { draws(1, i)[0] } else { 2.5 + 1e-9 * i as f64 })
            .collect();
        let curve = Curve::fit(&values);
        assert!(curve.slope.iter().all(|s| *s < 400.0), "{:?}", curve.slope);
    }

    #[test]
    fn a_graph_says_what_the_curve_says_on_either_side() {
        let values = draws(500, 7);
        let upper = Curve::fit(&values);
        let lower = Curve::fit(&values.iter().map(|v| -v).collect::<Vec<_>>());
        let mut graph = Graph::new();
        let x = graph.input("x", Fact::float(vec![Dim::BATCH, Dim::from(1)]));
        let mut b = Build::new(&mut graph);
        let one = evidence(&mut b, x, &upper, None).expect("builds");
        let two = evidence(&mut b, x, &upper, Some(&lower)).expect("builds");
        // The last number is beyond all that its own precision resolves.
        let at = [-4.0, -1.0, 0.0, 0.3, 1.9, 5.0, 400.0, 1e30, f64::NAN];
        let feeds = HashMap::from([(x, Tensor::floats(&[9, 1], at.to_vec()).expect("nine"))]);
        let found = graph.eval(&[one, two], &feeds, 9).expect("runs");
        let column =
            |i: usize| found[i].as_float().expect("floats").iter().copied().collect::<Vec<_>>();
        let (one, two) = (column(0), column(1));
        for (i, &v) in at.iter().enumerate().take(8) {
            assert!((one[i] - upper.at(v)).abs() < 1e-9, "{v}: {}", one[i]);
            let want = (upper.at(v).max(lower.at(-v)) - 2.0f64.ln()).max(0.0);
            assert!((two[i] - want).abs() < 1e-9, "{v}: {} {want}", two[i]);
        }
        assert!(one[8].is_nan() && two[8].is_nan());
    }
}
