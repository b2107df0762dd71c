//! Curves from (0, 0) to (1, 1) that bets follow: how often a shifted score has a rank in the first share u of all.

use taste_stats::normal;

use super::bins::Bins;

/// The bet on a shift by so many standard deviations of a normal score, by bin: the share of shifted samples in the bin
/// over its share of all ranks, where the share up to u is G(u) = Φ(Φ⁻¹(u) + shift). G is concave, so the bet falls.
pub(super) fn shifted(shift: f64, bins: &Bins) -> Vec<f64> {
    let all = bins.ranks() as f64;
    let ends: Vec<f64> = bins.shares().collect();
    ends.windows(2)
        .zip(bins.widths())
        .map(|(pair, width)| all * between(shift, pair[0], pair[1]) / width)
        .collect()
}

/// G(to) − G(from), from whichever tail loses no digits.
fn between(shift: f64, from: f64, to: f64) -> f64 {
    let [low, high] = [from, to].map(|u| normal::quantile(u) + shift);
    if from > 0.5 {
        normal::upper(low) - normal::upper(high)
    } else {
        normal::cdf(high) - normal::cdf(low)
    }
}
