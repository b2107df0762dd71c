//! The law of a bet's mean given the calibration set.
//!
//! Given n calibration scores without ties, a new score falls between neighbours with probabilities that are
//! Dirichlet(1, …, 1) over all calibration sets. So the mean of a bet b given the set is W = Σ b S, and the quantile of W at
//! 1 − δ is what b must be divided by so that, with probability 1 − δ, its mean given the set is at most 1.
//!
//! W > B just if Q = Σ (b − B) E > 0 for independent exponential E, and P(Q > 0) follows from the moment generating
//! function M of Q by Poisson summation of e^{λx} P(Q > x):
//! (h/2π) Σ M(λ + imh)/(λ + imh) over all m is P(Q > 0) and terms that are not negative and shrink as e^{−2πλ/h}: so it
//! is an upper bound, as tight as is asked for.

use std::f64::consts::PI;

/// The relative error that sums are computed to.
const PRECISION: f64 = 1e-9;
/// The relative width at which a quantile is found.
const WIDTH: f64 = 1e-9;

/// A bet by bin, with the number of ranks in each.
#[derive(Clone, Copy, Debug)]
pub struct Binned<'a> {
    /// What the bet multiplies by.
    pub values: &'a [f64],
    /// How many ranks a bin holds.
    pub widths: &'a [f64],
}

impl Binned<'_> {
    /// The mean over all ranks.
    pub fn mean(self) -> f64 {
        self.sum(|b| b) / self.ranks()
    }

    fn ranks(self) -> f64 {
        self.widths.iter().sum()
    }

    fn sum(self, of: impl Fn(f64) -> f64) -> f64 {
        self.values.iter().zip(self.widths).map(|(&b, w)| w * of(b)).sum()
    }

    /// P(W > bound) over calibration sets, for bounds above the mean; 1 at or below it.
    pub fn tail(self, bound: f64) -> f64 {
        let Some(saddle) = Saddle::of(self, bound) else {
            return if self.values.iter().all(|&b| b <= bound) { 0.0 } else { 1.0 };
        };
        saddle.probability()
    }

    /// The least bound with P(W > bound) ≤ delta, from above.
    pub fn quantile(self, delta: f64) -> f64 {
        self.least_bound(|bound| self.tail(bound) <= delta)
    }

    /// The same by the bound of Chernoff, inf over λ of M(λ): larger, in closed form.
    pub fn chernoff_quantile(self, delta: f64) -> f64 {
        self.least_bound(|bound| {
            let largest = self.values.iter().copied().fold(f64::NEG_INFINITY, f64::max) - bound;
            let excess = self.sum(|b| b - bound);
            if largest <= 0.0 || excess >= 0.0 {
                return largest <= 0.0;
            }
            let slope = |l: f64| self.sum(|b| (b - bound) / (1.0 - l * (b - bound)));
            let l = root(1.0 / largest, |l| slope(l) > 0.0);
            log_moment(self, bound, l) <= libm::log(delta)
        })
    }

    /// The least number above the mean that suffices, to a relative width, from above.
    fn least_bound(self, suffices: impl Fn(f64) -> bool) -> f64 {
        let mean = self.mean();
        let square = self.sum(|b| (b - mean) * (b - mean)) / self.ranks();
        let spread = (square / self.ranks()).sqrt();
        if spread == 0.0 {
            return mean;
        }
        let (mut low, mut high) = (mean, mean + 3.0 * spread);
        while !suffices(high) {
            low = high;
            high = mean + 1.7 * (high - mean);
        }
        while high - low > WIDTH * high.abs() {
            let middle = low.midpoint(high);
            if suffices(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }
}

/// ln M(λ) = −Σ w ln(1 − λ(b − B)).
fn log_moment(bet: Binned<'_>, bound: f64, l: f64) -> f64 {
    -bet.sum(|b| libm::log1p(-l * (b - bound)))
}

/// The point between 0 and `end` from which on a condition holds.
fn root(end: f64, beyond: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0f64, end);
    for _ in 0..60 {
        let middle = low.midpoint(high);
        if beyond(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    low.midpoint(high)
}

/// The line in the complex plane along which the sum is taken.
struct Saddle<'a> {
    bet: Binned<'a>,
    bound: f64,
    /// Where M(λ)/λ is least.
    at: f64,
    /// ln M(λ).
    log_moment: f64,
    /// The distance of terms.
    step: f64,
}

impl<'a> Saddle<'a> {
    /// Nothing where the tail is 0 or 1.
    fn of(bet: Binned<'a>, bound: f64) -> Option<Self> {
        let largest = bet.values.iter().copied().fold(f64::NEG_INFINITY, f64::max) - bound;
        if largest <= 0.0 || bet.sum(|b| b - bound) >= 0.0 {
            return None;
        }
        let slope = |l: f64| bet.sum(|b| (b - bound) / (1.0 - l * (b - bound)));
        let at = root(1.0 / largest, |l| slope(l) > 1.0 / l);
        let further = at.midpoint(1.0 / largest);
        let (here, there) = (log_moment(bet, bound, at), log_moment(bet, bound, further));
        // The other terms of the Poisson sum stay below the precision.
        let digits = -libm::log(PRECISION) + (-here).max(0.0);
        let step = 2.0 * PI * (at / digits).min((further - at) / (digits + there.max(0.0)));
        Some(Self { bet, bound, at, log_moment: here, step })
    }

    fn probability(&self) -> f64 {
        let mut sum = 0.5 * libm::exp(self.log_moment) / self.at;
        let tilted = |b: f64| (b - self.bound) / (1.0 - self.at * (b - self.bound));
        let slopes: Vec<f64> = self.bet.values.iter().map(|&b| tilted(b)).collect();
        let mut u = self.step;
        loop {
            // ln(1 − iy) = ½ ln(1 + y²) − i arctan y.
            let (mut size, mut angle) = (0.0, 0.0);
            for (slope, width) in slopes.iter().zip(self.bet.widths) {
                let y = u * slope;
                size -= 0.5 * width * libm::log1p(y * y);
                angle += width * libm::atan(y);
            }
            let real = self.at * libm::cos(angle) + u * libm::sin(angle);
            sum += libm::exp(self.log_moment + size) * real / (self.at * self.at + u * u);
            if size < libm::log(PRECISION) - 3.0 {
                return sum * self.step / PI;
            }
            u += self.step;
        }
    }
}
