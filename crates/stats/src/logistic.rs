//! Logistic regression on one number.

/// The chance of an event as 1/(1 + exp(−(intercept + slope·x))).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logistic {
    /// The logit at x = 0.
    pub intercept: f64,
    /// What it grows by with x.
    pub slope: f64,
}

/// A little mass that pulls the slope to zero, so that data which a threshold separates have a finite one.
const RIDGE: f64 = 1e-3;

impl Logistic {
    /// By maximum likelihood (Newton's method): the mean of the fitted chances is the share of events.
    pub fn fit(x: &[f64], events: &[bool]) -> Self {
        let n = x.len().min(events.len()) as f64;
        let share = (events.iter().filter(|e| **e).count() as f64 + 0.5) / (n + 1.0);
        let mut found = Self { intercept: (share / (1.0 - share)).ln(), slope: 0.0 };
        for _ in 0..50 {
            let (mut g0, mut g1, mut h00, mut h01, mut h11) = (0.0, 0.0, 1e-9, 0.0, RIDGE);
            g1 -= RIDGE * found.slope;
            for (&x, &event) in x.iter().zip(events) {
                let p = found.chance(x);
                let (off, weight) = (f64::from(u8::from(event)) - p, p * (1.0 - p));
                g0 += off;
                g1 += off * x;
                h00 += weight;
                h01 += weight * x;
                h11 += weight * x * x;
            }
            let determinant = h00 * h11 - h01 * h01;
            if determinant.abs() < 1e-300 {
                break;
            }
            let step = [(h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant];
            // Far from the optimum a full step overshoots.
            let size = step[0].abs().max(step[1].abs());
            let scale = if size > 2.0 { 2.0 / size } else { 1.0 };
            found.intercept += scale * step[0];
            found.slope += scale * step[1];
            if size < 1e-10 {
                break;
            }
        }
        found
    }

    /// The chance at x.
    pub fn chance(&self, x: f64) -> f64 {
        1.0 / (1.0 + (-(self.intercept + self.slope * x)).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_known_curve_is_found_and_the_mean_is_kept() {
        let truth = Logistic { intercept: -2.0, slope: 1.5 };
        let mut random = Random::new(1);
        let x: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let events: Vec<bool> = x.iter().map(|&x| random.uniform() < truth.chance(x)).collect();
        let found = Logistic::fit(&x, &events);
        assert!(
            (found.intercept + 2.0).abs() < 0.08 && (found.slope - 1.5).abs() < 0.08,
            "{found:?}"
        );
        let mean = x.iter().map(|&x| found.chance(x)).sum::<f64>() / 20_000.0;
        let share = events.iter().filter(|e| **e).count() as f64 / 20_000.0;
        assert!((mean - share).abs() < 1e-6, "{mean} {share}");
    }

    #[test]
    fn separated_or_equal_events_have_finite_curves() {
        let x: Vec<f64> = (0..40).map(f64::from).collect();
        let split: Vec<bool> = x.iter().map(|x| *x >= 20.0).collect();
        let found = Logistic::fit(&x, &split);
        assert!(found.slope.is_finite() && found.chance(0.0) < 0.1 && found.chance(39.0) > 0.9);
        let none = Logistic::fit(&x, &[false; 40]);
        assert!(none.chance(10.0) < 0.05 && none.intercept.is_finite(), "{none:?}");
    }
}
