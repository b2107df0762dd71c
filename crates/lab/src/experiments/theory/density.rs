//! A mixture of two Gaussians of the plane, whose score is known.

use taste_stats::random::Random;

use crate::experiments::plane::Point;

/// Gaussians with axes along the coordinates.
#[derive(Clone, Debug)]
pub(super) struct Mixture {
    parts: Vec<Gaussian>,
}

#[derive(Clone, Copy, Debug)]
struct Gaussian {
    weight: f64,
    mean: Point,
    deviation: Point,
}

impl Gaussian {
    fn density(&self, x: Point) -> f64 {
        let one = |i: usize| {
            let z = (x[i] - self.mean[i]) / self.deviation[i];
            (-z * z / 2.0).exp() / (self.deviation[i] * std::f64::consts::TAU.sqrt())
        };
        self.weight * one(0) * one(1)
    }

    fn score(&self, x: Point) -> Point {
        [0, 1].map(|i| -(x[i] - self.mean[i]) / self.deviation[i].powi(2))
    }
}

impl Mixture {
    /// The p of the page.
    pub(super) fn p() -> Self {
        let first = Gaussian { weight: 0.6, mean: [-0.8, 0.0], deviation: [0.7, 1.0] };
        let second = Gaussian { weight: 0.4, mean: [1.2, 0.6], deviation: [0.9, 0.6] };
        Self { parts: vec![first, second] }
    }

    /// One Gaussian with the means and deviations of another mixture: a score model that is wrong.
    pub(super) fn blurred(of: &Self) -> Self {
        let moment = |power: i32, i: usize| -> f64 {
            let part = |g: &Gaussian| match power {
                1 => g.weight * g.mean[i],
                _ => g.weight * (g.mean[i].powi(2) + g.deviation[i].powi(2)),
            };
            of.parts.iter().map(part).sum()
        };
        let mean = [moment(1, 0), moment(1, 1)];
        let deviation = [0, 1].map(|i| (moment(2, i) - mean[i].powi(2)).sqrt());
        Self { parts: vec![Gaussian { weight: 1.0, mean, deviation }] }
    }

    /// The mixture moved, and stretched by a factor.
    pub(super) fn changed(&self, by: Point, stretch: f64) -> Self {
        let part = |g: &Gaussian| Gaussian {
            mean: [g.mean[0] + by[0], g.mean[1] + by[1]],
            deviation: g.deviation.map(|d| d * stretch),
            ..*g
        };
        Self { parts: self.parts.iter().map(part).collect() }
    }

    pub(super) fn density(&self, x: Point) -> f64 {
        self.parts.iter().map(|g| g.density(x)).sum()
    }

    /// ∇ log p.
    pub(super) fn score(&self, x: Point) -> Point {
        let total = self.density(x);
        self.parts.iter().fold([0.0; 2], |sum, g| {
            let (share, score) = (g.density(x) / total, g.score(x));
            [sum[0] + share * score[0], sum[1] + share * score[1]]
        })
    }

    pub(super) fn draw(&self, count: usize, random: &mut Random) -> Vec<Point> {
        let mut one = || {
            let part = &self.parts[random.position(self.parts.iter().map(|g| g.weight))];
            let mut at = |i: usize| part.mean[i] + part.deviation[i] * random.normal();
            [at(0), at(1)]
        };
        (0..count).map(|_| one()).collect()
    }
}
