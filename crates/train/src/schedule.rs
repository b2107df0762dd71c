//! The rate of every step.

/// How the rate falls after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decay {
    /// Not at all.
    #[default]
    Constant,
    /// Along half a cosine, to zero at the last step.
    Cosine,
}

/// A rate that rises in a line and then stays or falls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Schedule {
    pub(crate) rate: f64,
    pub(crate) warm_up: usize,
    pub(crate) decay: Decay,
    pub(crate) steps: usize,
}

impl Schedule {
    /// The rate of a step, counted from 0.
    pub(crate) fn at(&self, step: usize) -> f64 {
        if step < self.warm_up {
            return self.rate * (step + 1) as f64 / self.warm_up as f64;
        }
        match self.decay {
            Decay::Constant => self.rate,
            Decay::Cosine => {
                let rest = self.steps.saturating_sub(self.warm_up).max(1) as f64;
                let done = ((step - self.warm_up) as f64 / rest).min(1.0);
                self.rate * 0.5 * (1.0 + (std::f64::consts::PI * done).cos())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_and_falls() {
        let schedule = Schedule { rate: 2.0, warm_up: 4, decay: Decay::Cosine, steps: 12 };
        let rates: Vec<f64> = (0..12).map(|step| schedule.at(step)).collect();
        assert_eq!(rates[..5], [0.5, 1.0, 1.5, 2.0, 2.0]);
        assert!((rates[8] - 1.0).abs() < 1e-12);
        assert!(rates[11] > 0.0 && rates[11] < 0.1);
        assert!(rates[4..].is_sorted_by(|a, b| a > b));
    }
}
