//! How far every place of an image is from the image's own distribution: nothing is learnt from other images.

use taste_graph::{Build, Dim, Id, OpError};
use taste_ops::functions;

/// The share of the places, those furthest out, that the distribution is fitted without.
const LEFT_OUT: f64 = 0.1;
/// Variances below this share of that of the first fit are none.
const LEAST: f64 = 1e-9;

/// The logarithm of the squared Mahalanobis distance over the number of channels: N × 1 × P, of values N × C × P. The
/// Gaussian is that of the image's own places, fitted again without those that are furthest out.
pub(super) fn distance(b: &mut Build<'_>, values: Id) -> Result<Id, OpError> {
    let [_, channels, places] = [0, 1, 2].map(|axis| b.fact(values).shape[axis].at(1));
    let rows = b.fact(values).shape[0];
    let all = b.zeros_like(values)?;
    let all = functions::slice(b, all, 1, 0, 1)?;
    let all = b.offset(all, 1.0)?;
    let first = from_weighted(b, values, all, channels)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let out = ((LEFT_OUT * places as f64) as usize).max(1);
    let flat = b.reshape(first, &[rows, Dim::from(places)])?;
    let [furthest, _] = functions::top_k(b, flat, 1, out)?;
    let limit = functions::slice(b, furthest, 1, out - 1, 1)?;
    let beyond = functions::at_most(b, limit, flat)?;
    let kept = b.from_offset(1.0, beyond)?;
    let kept = b.reshape(kept, &[rows, 1.into(), Dim::from(places)])?;
    let again = from_weighted(b, values, kept, channels)?;
    let share = b.scale(again, 1.0 / channels as f64)?;
    let share = functions::at_least(b, share, 1e-12)?;
    functions::log(b, share)
}

/// Squared distances from the Gaussian of weighted places, N × 1 × P: channels are made uncorrelated one after the other,
/// and what each adds is divided by its variance.
fn from_weighted(
    b: &mut Build<'_>,
    values: Id,
    weights: Id,
    channels: usize,
) -> Result<Id, OpError> {
    let count = b.sum(weights, &[2])?;
    let count = functions::at_least(b, count, 1.0)?;
    let one_by = functions::reciprocal(b, count)?;
    let mean_of = |b: &mut Build<'_>, x: Id| -> Result<Id, OpError> {
        let weighted = b.mul(x, weights)?;
        let sum = b.sum(weighted, &[2])?;
        b.mul(sum, one_by)
    };
    let mean = mean_of(b, values)?;
    let mut left = b.sub(values, mean)?;
    let mut terms = Vec::new();
    for channel in 0..channels {
        let own = functions::slice(b, left, 1, 0, 1)?;
        let square = b.square(own)?;
        let variance = mean_of(b, square)?;
        let variance = b.offset(variance, LEAST)?;
        let certain = functions::reciprocal(b, variance)?;
        terms.push(b.mul(square, certain)?);
        let rest = channels - channel - 1;
        if rest > 0 {
            let others = functions::slice(b, left, 1, 1, rest)?;
            let product = b.mul(others, own)?;
            let together = mean_of(b, product)?;
            let slope = b.mul(together, certain)?;
            let explained = b.mul(slope, own)?;
            left = b.sub(others, explained)?;
        }
    }
    let all = functions::concat(b, &terms, 1)?;
    b.sum(all, &[1])
}

/// Values less their median over places (N × P), without sign.
pub(super) fn from_median(b: &mut Build<'_>, values: Id) -> Result<Id, OpError> {
    let places = b.fact(values).shape[1].at(1);
    let half = places.div_ceil(2);
    let [upper, _] = functions::top_k(b, values, 1, half)?;
    let median = functions::slice(b, upper, 1, half - 1, 1)?;
    let off = b.sub(values, median)?;
    functions::abs(b, off)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use ndarray::{Array2, Axis};
    use taste_graph::{Fact, Graph, Tensor};
    use taste_stats::{linear, random::Random};

    use super::*;

    #[test]
    fn distances_are_those_of_the_inverse_covariance_without_the_furthest_places() {
        let (channels, places) = (3, 200);
        let mut random = Random::new(5);
        let mix = Array2::from_shape_fn((channels, channels), |_| random.normal());
        let mut values =
            mix.dot(&Array2::from_shape_fn((channels, places), |_| random.normal())) + 2.0;
        for place in 0..12 {
            values[[1, place]] += 40.0;
        }
        let mut graph = Graph::new();
        let shape = vec![Dim::BATCH, channels.into(), places.into()];
        let x = graph.input("x", Fact::float(shape));
        let found = distance(&mut Build::new(&mut graph), x).expect("builds");
        let fed = Tensor::floats(&[1, channels, places], values.iter().copied().collect());
        let feeds = HashMap::from([(x, fed.expect("as many"))]);
        let found = graph.eval(&[found], &feeds, 1).expect("runs").remove(0);
        let found: Vec<f64> = found.as_float().expect("floats").iter().copied().collect();

        let squared = |kept: &[usize]| {
            let own = values.select(Axis(1), kept);
            let mean = own.mean_axis(Axis(1)).expect("places").insert_axis(Axis(1));
            let off = &own - &mean;
            let precision = linear::inverse(&(off.dot(&off.t()) / kept.len() as f64)).expect("one");
            let all = &values - &mean;
            (&precision.dot(&all) * &all).sum_axis(Axis(0))
        };
        let first = squared(&(0..places).collect::<Vec<_>>());
        let mut order: Vec<usize> = (0..places).collect();
        order.sort_by(|a, b| first[*a].total_cmp(&first[*b]));
        let want = squared(&order[..places - 20]);
        for (place, got) in found.iter().enumerate() {
            let want = (want[place] / channels as f64).ln();
            assert!((got - want).abs() < 1e-5, "{place}: {got} {want}");
        }
        // What is far out does not hide in its own distribution.
        assert!(found[..12].iter().all(|far| *far > 4.0), "{:?}", &found[..12]);
    }
}
