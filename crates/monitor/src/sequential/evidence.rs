//! Evidence of a change, sample by sample, in logarithms.

use serde::{Deserialize, Serialize};

use super::{Bets, Rank};

/// ln(1 + eˣ).
fn softplus(x: f64) -> f64 {
    x.max(0.0) + libm::log1p(libm::exp(-x.abs()))
}

/// ln(eˣ + eʸ).
fn log_add(x: f64, y: f64) -> f64 {
    let (low, high) = (x.min(y), x.max(y));
    if high == f64::NEG_INFINITY { high } else { high + libm::log1p(libm::exp(low - high)) }
}

/// The logarithm of the mean of exponentials; −∞ only if all are.
pub(crate) fn log_mean(logs: &[f64]) -> f64 {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    let sum: f64 = logs.iter().map(|l| libm::exp(l - largest)).sum();
    largest + libm::log(sum / logs.len() as f64)
}

/// What a stream of ranks says against "nothing has changed". The same ranks in the same order give the same state to the
/// last bit, however they are cut into batches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// ln R of Shiryaev and Roberts for every bet, since the last restart.
    sums: Vec<f64>,
    /// ln of the largest product of bets up to now, by Page, since the last restart.
    largest: Vec<f64>,
    /// The sum over all beginnings s, weighted by 1/(s(s + 1)), since the calibration: never restarted.
    lifetime: Vec<f64>,
    /// The largest lifetime evidence so far.
    lifetime_peak: f64,
    /// Samples since the calibration.
    samples: u64,
}

impl Evidence {
    /// Before the first sample.
    pub fn new(bets: &Bets) -> Self {
        let nothing = vec![f64::NEG_INFINITY; bets.len()];
        Self {
            sums: nothing.clone(),
            largest: vec![0.0; bets.len()],
            lifetime: nothing,
            lifetime_peak: 0.0,
            samples: 0,
        }
    }

    /// Takes the next sample.
    pub fn step(&mut self, bets: &Bets, rank: Rank) {
        self.samples += 1;
        let t = self.samples as f64;
        let begins = -libm::log(t * (t + 1.0));
        let states = self.sums.iter_mut().zip(&mut self.largest).zip(&mut self.lifetime);
        for (((sum, largest), lifetime), log) in states.zip(bets.logs(rank)) {
            *sum = log + softplus(*sum);
            *largest = log + largest.max(0.0);
            *lifetime = log + log_add(*lifetime, begins);
        }
        self.lifetime_peak = self.lifetime_peak.max(self.log_lifetime());
    }

    /// ln R: a stream without a change reaches R no sooner than every R samples on average.
    pub fn log(&self) -> f64 {
        log_mean(&self.sums)
    }

    /// ln M over the whole life, where M reaches 1/α with a chance of at most α if nothing ever changes.
    pub fn log_lifetime(&self) -> f64 {
        log_add(log_mean(&self.lifetime), -libm::log(self.samples as f64 + 1.0))
    }

    /// A p-value of "nothing has ever changed" that holds at any time.
    pub fn lifetime_p_value(&self) -> f64 {
        libm::exp(-self.lifetime_peak).min(1.0)
    }

    /// The bet with the most evidence: the shift that it is made for is about the one seen.
    pub fn leading(&self) -> usize {
        let most = self.largest.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        most.map_or(0, |(bet, _)| bet)
    }

    /// The logarithm of the largest product of each bet up to now.
    pub fn log_largest(&self) -> &[f64] {
        &self.largest
    }

    /// Samples since the calibration.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Begins anew after an alarm; evidence over the whole life goes on.
    pub fn restart(&mut self) {
        self.sums.fill(f64::NEG_INFINITY);
        self.largest.fill(0.0);
    }
}

/// Evidence that learns the calibration's own error from the stream: no normaliser and no δ, valid on average over
/// calibration sets, faster after a long quiet time, blind to slow drift.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learning {
    sums: Vec<f64>,
    /// The sum of every bet over all gaps seen so far.
    totals: Vec<f64>,
    samples: u64,
}

impl Learning {
    /// Before the first sample.
    pub fn new(bets: &Bets) -> Self {
        let all = (bets.setting().samples + 1) as f64;
        Self {
            sums: vec![f64::NEG_INFINITY; bets.len()],
            totals: vec![all; bets.len()],
            samples: 0,
        }
    }

    /// Takes the next sample.
    pub fn step(&mut self, bets: &Bets, rank: Rank) {
        self.samples += 1;
        let seen = bets.setting().samples as f64 + self.samples as f64;
        let states = self.sums.iter_mut().zip(&mut self.totals);
        for ((sum, total), (careful, bold)) in states.zip(bets.raw(rank)) {
            *sum = libm::log(careful) + libm::log(seen) - libm::log(*total) + softplus(*sum);
            *total += bold;
        }
    }

    /// ln R.
    pub fn log(&self) -> f64 {
        log_mean(&self.sums)
    }

    /// Begins anew after an alarm, and keeps what it has learnt.
    pub fn restart(&mut self) {
        self.sums.fill(f64::NEG_INFINITY);
    }
}
