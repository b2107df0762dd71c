//! Where an attack may move a sample: a ball around it, cut with the box that entries lie in.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use taste_choice::{Choice, pick};
use taste_data::{Dataset, Samples};
use taste_detector::{Error, refused};

/// How the size of a change is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// The largest change of an entry.
    #[default]
    Linf,
    /// The root of the sum of squares.
    L2,
}

const NORMS: &[Choice] = &[
    Choice { name: "linf", usage: "linf", about: "the largest change of an entry" },
    Choice { name: "l2", usage: "l2", about: "the root of the sum of squares" },
];

impl FromStr for Norm {
    type Err = taste_choice::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (found, arguments) = pick("norm", NORMS, text)?;
        arguments.finish()?;
        Ok(if found.name == "l2" { Self::L2 } else { Self::Linf })
    }
}

impl fmt::Display for Norm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linf => "linf",
            Self::L2 => "l2",
        })
    }
}

impl Norm {
    /// The size of the change from one point to another, in double precision.
    pub fn distance(self, from: &[f32], to: &[f32]) -> f64 {
        let changes = from.iter().zip(to).map(|(a, b)| f64::from(*b) - f64::from(*a));
        match self {
            Self::Linf => changes.fold(0.0, |most, c| most.max(c.abs())),
            Self::L2 => changes.map(|c| c * c).sum::<f64>().sqrt(),
        }
    }
}

/// What the entries of a sample lie between.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Bounds {
    /// The same for all.
    All(f32, f32),
    /// Each entry its own.
    Each(Vec<(f32, f32)>),
}

impl Default for Bounds {
    fn default() -> Self {
        Self::All(0.0, 1.0)
    }
}

impl Bounds {
    /// From the smallest to the largest value in data: of each column of a table, and of all entries of other samples.
    pub fn found(data: &Dataset) -> Result<Self, Error> {
        const ROWS: usize = 4096;
        let entries: usize = data.sample_shape().iter().product();
        let mut each = vec![(f32::INFINITY, f32::NEG_INFINITY); entries];
        for chunk in data.chunks(ROWS)? {
            for (i, &value) in chunk?.values.iter().enumerate() {
                let (low, high) = &mut each[i % entries];
                (*low, *high) = (low.min(value), high.max(value));
            }
        }
        if data.is_table() {
            return Ok(Self::Each(each));
        }
        let all = each.into_iter().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        Ok(all.map_or_else(Self::default, |(low, high)| Self::All(low, high)))
    }

    /// Those of an entry.
    pub fn of(&self, entry: usize) -> (f32, f32) {
        match self {
            Self::All(low, high) => (*low, *high),
            Self::Each(all) => all[entry],
        }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(low, high) => write!(f, "[{low}, {high}]"),
            Self::Each(_) => f.write_str("each entry between its smallest and largest value"),
        }
    }
}

/// A ball around every sample, and the box.
#[derive(Clone, Debug)]
pub struct Ball {
    norm: Norm,
    eps: f64,
    bounds: Bounds,
}

/// Rounding of x + δ to single precision may lengthen δ by a little.
const INSIDE: f64 = 1.0 - 1e-6;

impl Ball {
    /// A ball of radius `eps` above 0.
    pub fn new(norm: Norm, eps: f64, bounds: Bounds) -> Result<Self, Error> {
        if !(eps > 0.0 && eps.is_finite()) {
            return Err(refused(format!(
                "eps is how far a sample may be moved, a number above 0; got {eps}"
            )));
        }
        let is_empty = |(low, high): &(f32, f32)| !(low <= high && (high - low).is_finite());
        let bad = match &bounds {
            Bounds::All(low, high) => Some((*low, *high)).filter(|b| is_empty(b) || b.0 >= b.1),
            Bounds::Each(all) => all.iter().find(|b| is_empty(b)).copied(),
        };
        if let Some((low, high)) = bad {
            return Err(refused(format!("the box from {low} to {high} holds no samples")));
        }
        Ok(Self { norm, eps, bounds })
    }

    /// How changes are measured.
    pub fn norm(&self) -> Norm {
        self.norm
    }

    /// The radius.
    pub fn eps(&self) -> f64 {
        self.eps
    }

    /// The box.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// The first entry of a sample that lies outside of the box.
    pub(super) fn outside(&self, x: &[f32]) -> Option<(usize, f32)> {
        let is_out = |&(entry, &value): &(usize, &f32)| {
            let (low, high) = self.bounds.of(entry);
            !(low <= value && value <= high)
        };
        x.iter().enumerate().find(is_out).map(|(entry, value)| (entry, *value))
    }

    /// Brings a point back into the box.
    pub(super) fn clip(&self, point: &mut [f32]) {
        for (entry, value) in point.iter_mut().enumerate() {
            let (low, high) = self.bounds.of(entry);
            *value = value.clamp(low, high);
        }
    }

    /// Brings a point back into the ball around `x` and into the box. For L2 it is clipped and the change then shortened,
    /// which is inside of both, if not the nearest point.
    pub(super) fn project(&self, x: &[f32], point: &mut [f32]) {
        match self.norm {
            Norm::Linf => {
                for (entry, (value, &centre)) in point.iter_mut().zip(x).enumerate() {
                    let (low, high) = self.bounds.of(entry);
                    let centre = f64::from(centre);
                    let low = low.max(at_least(centre - self.eps));
                    let high = high.min(at_most(centre + self.eps));
                    // Where no number lies between them but the centre, eps is below the precision.
                    *value = value.max(low).min(high);
                }
            }
            Norm::L2 => {
                self.clip(point);
                let mut radius = self.eps;
                loop {
                    let length = Norm::L2.distance(x, point);
                    if length <= self.eps {
                        return;
                    }
                    radius *= INSIDE;
                    let scale = radius / length;
                    for (value, &centre) in point.iter_mut().zip(x) {
                        let centre = f64::from(centre);
                        *value = narrow(centre + (f64::from(*value) - centre) * scale);
                    }
                }
            }
        }
    }

    /// Moves a point by a step of this length along a gradient: along its signs, or along its direction for L2.
    pub(super) fn step(&self, point: &mut [f32], gradient: &[f32], length: f64) {
        let scale = match self.norm {
            Norm::Linf => {
                let length = narrow(length);
                for (value, slope) in point.iter_mut().zip(gradient) {
                    *value += length * sign(*slope);
                }
                return;
            }
            Norm::L2 => {
                let square: f64 = gradient.iter().map(|g| f64::from(*g) * f64::from(*g)).sum();
                narrow(length / (square.sqrt() + TINY))
            }
        };
        for (value, slope) in point.iter_mut().zip(gradient) {
            *value += scale * slope;
        }
    }
}

/// Added to what is divided by.
const TINY: f64 = 1e-12;

/// −1, 0 or 1; 0 of what is no number.
pub(super) fn sign(value: f32) -> f32 {
    f32::from(i8::from(value > 0.0) - i8::from(value < 0.0))
}

/// In single precision.
#[expect(clippy::cast_possible_truncation, reason = "samples are in single precision")]
pub(super) fn narrow(value: f64) -> f32 {
    value as f32
}

/// The smallest number of single precision that is not below a value.
fn at_least(value: f64) -> f32 {
    let near = narrow(value);
    if f64::from(near) < value { near.next_up() } else { near }
}

/// The largest number of single precision that is not above a value.
fn at_most(value: f64) -> f32 {
    let near = narrow(value);
    if f64::from(near) > value { near.next_down() } else { near }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, proptest};

    use super::*;

    fn ball(norm: Norm, eps: f64) -> Ball {
        Ball::new(norm, eps, Bounds::default()).expect("a ball")
    }

    #[test]
    fn radii_and_boxes_that_hold_nothing_are_refused() {
        for eps in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Ball::new(Norm::L2, eps, Bounds::default()).is_err(), "{eps}");
        }
        for (low, high) in [(1.0, 0.0), (0.5, 0.5), (f32::NAN, 1.0), (0.0, f32::INFINITY)] {
            assert!(Ball::new(Norm::Linf, 0.1, Bounds::All(low, high)).is_err(), "{low} {high}");
        }
        // A column that does not vary stays as it is.
        assert!(Ball::new(Norm::Linf, 0.1, Bounds::Each(vec![(2.0, 2.0), (0.0, 1.0)])).is_ok());
    }

    #[test]
    fn names_of_norms_are_read_and_suggested() {
        assert_eq!("l2".parse::<Norm>().expect("a norm"), Norm::L2);
        assert_eq!("linf".parse::<Norm>().expect("a norm"), Norm::Linf);
        let message = "lin".parse::<Norm>().expect_err("none").to_string();
        assert!(message.contains("did you mean linf?"), "{message}");
    }

    #[test]
    fn steps_follow_signs_or_the_direction() {
        let mut point = [0.5f32, 0.5, 0.5];
        ball(Norm::Linf, 0.1).step(&mut point, &[3.0, -0.1, 0.0], 0.25);
        let wanted = [0.75f32, 0.25, 0.5];
        assert!(point.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-7), "{point:?}");
        let mut point = [0.5f32, 0.5, 0.5];
        ball(Norm::L2, 0.1).step(&mut point, &[3.0, -4.0, 0.0], 0.5);
        let length = Norm::L2.distance(&[0.5; 3], &point);
        assert!((length - 0.5).abs() < 1e-6 && point[1] < point[0], "{point:?}");
    }

    proptest! {
        #[test]
        fn what_is_projected_lies_in_the_ball_and_the_box(
            x in prop::collection::vec(0.0f32..=1.0, 1..40),
            moves in prop::collection::vec(-3.0f32..3.0, 40),
            eps in 1e-5f64..2.0,
        ) {
            for norm in [Norm::Linf, Norm::L2] {
                let mut point: Vec<f32> = x.iter().zip(&moves).map(|(a, b)| a + b).collect();
                ball(norm, eps).project(&x, &mut point);
                prop_assert!(norm.distance(&x, &point) <= eps, "{norm}");
                prop_assert!(point.iter().all(|v| (0.0..=1.0).contains(v)));
                let mut again = point.clone();
                ball(norm, eps).project(&x, &mut again);
                prop_assert_eq!(&again, &point, "points inside stay");
            }
        }

        #[test]
        fn the_projection_of_linf_is_the_nearest_point(
            x in 0.0f32..=1.0, moved in -3.0f32..3.0, eps in 1e-3f64..1.0,
        ) {
            let mut point = [moved];
            ball(Norm::Linf, eps).project(&[x], &mut point);
            let nearest = (0..=10_000)
                .map(|i| f64::from(x) + eps * (f64::from(i) / 5_000.0 - 1.0))
                .filter(|p| (0.0..=1.0).contains(p))
                .map(|p| (p - f64::from(moved)).abs())
                .fold(f64::INFINITY, f64::min);
            let found = (f64::from(point[0]) - f64::from(moved)).abs();
            prop_assert!(found <= nearest + 1e-6, "{found} and {nearest}");
        }
    }
}
