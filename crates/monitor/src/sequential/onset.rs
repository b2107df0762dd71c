//! When a change began.

use serde::{Deserialize, Serialize};

use super::{Bets, Rank, curve::shifted};
use crate::Error;

/// When a change began, counted from 1 since the last restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Onset {
    /// The earliest sample, if the shift was at least the assumed one from its start.
    pub earliest: usize,
    /// It had begun by this sample, whatever the shift.
    pub latest: usize,
    /// How many samples in between are possible.
    pub possible: usize,
    /// The most likely one.
    pub likely: usize,
}

/// When the change behind an alarm began, from the ranks since the last restart up to the alarm.
///
/// Each end errs with a chance of at most `alpha`. The later end rests on nothing but the calibration: evidence had grown
/// before. The earlier end assumes a shift of at least `least_shift` standard deviations from its start on. Nothing where
/// every sample is ruled out.
pub fn onset(
    bets: &Bets,
    ranks: &[Rank],
    alpha: f64,
    least_shift: f64,
) -> Result<Option<Onset>, Error> {
    onset_after(bets, &vec![0.0; bets.len()], ranks, alpha, least_shift)
}

/// The same where the first ranks are no longer at hand: `before` are the largest products of bets up to them, as
/// logarithms.
pub(crate) fn onset_after(
    bets: &Bets,
    before: &[f64],
    ranks: &[Rank],
    alpha: f64,
    least_shift: f64,
) -> Result<Option<Onset>, Error> {
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(Error::Setting { name: "error rate", wanted: "between 0 and 1", found: alpha });
    }
    if !(least_shift > 0.0 && least_shift.is_finite()) {
        let (name, wanted) = ("assumed shift", "above 0");
        return Err(Error::Setting { name, wanted, found: least_shift });
    }
    // Products of bets that end just before a sample: large ones say that the change was there already.
    let mut products = before.to_vec();
    products.resize(bets.len(), 0.0);
    let most = libm::log(bets.len() as f64 / alpha);
    let mut still_quiet = Vec::with_capacity(ranks.len());
    for &rank in ranks {
        still_quiet.push(products.iter().all(|&p| p < most));
        for (product, log) in products.iter_mut().zip(bets.logs(rank)) {
            *product = log + product.max(0.0);
        }
    }
    let leading = products.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    let leading = leading.map_or(0, |(bet, _)| bet);
    // Products of the assumed shift's bet, turned over, from a sample to the end: large ones say that it was not yet there.
    let turned: Vec<f64> =
        shifted(least_shift, bets.bins()).iter().map(|b| -libm::log(*b)).collect();
    let is_lower = bets.shift(leading).is_some_and(|shift| shift < 0.0);
    let all = bets.bins().ranks() + 1;
    let mut against = 0.0f64;
    let mut already: Vec<bool> = ranks
        .iter()
        .rev()
        .map(|rank| {
            let bold = if is_lower { all.saturating_sub(rank.high) } else { rank.low };
            against = against.max(0.0) + turned[bets.bins().of(bold)];
            against < -libm::log(alpha)
        })
        .collect();
    already.reverse();
    let possible: Vec<usize> = still_quiet
        .iter()
        .zip(&already)
        .enumerate()
        .filter(|(_, (quiet, begun))| **quiet && **begun)
        .map(|(i, _)| i + 1)
        .collect();
    let (Some(&earliest), Some(&latest)) = (possible.first(), possible.last()) else {
        return Ok(None);
    };
    let likely = lowest(ranks.iter().filter_map(|&rank| bets.logs(rank).nth(leading)));
    Ok(Some(Onset { earliest, latest, possible: possible.len(), likely }))
}

/// The position from 1 on behind which a running sum is never lower again.
fn lowest(logs: impl Iterator<Item = f64>) -> usize {
    let (mut sum, mut least, mut at) = (0.0, 0.0, 1);
    let mut logs = logs.enumerate().peekable();
    while let Some((i, log)) = logs.next() {
        sum += log;
        // The sum behind the last sample is no beginning.
        if sum < least && logs.peek().is_some() {
            (least, at) = (sum, i + 2);
        }
    }
    at
}
