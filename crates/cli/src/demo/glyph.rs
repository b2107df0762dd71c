//! Glyphs: a few shapes, each drawn a little differently every time.

use std::f64::consts::TAU;

use ndarray::Array2;
use taste_stats::random::Random;

use super::canvas::{self, Point, SIDE};

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Bar,
    Cross,
    Ring,
    Triangle,
    Square,
    Hook,
    Zigzag,
}

impl Shape {
    /// The classes that the classifier learns, in the order of its outputs.
    pub(super) const KNOWN: [Self; 6] =
        [Self::Bar, Self::Cross, Self::Ring, Self::Triangle, Self::Square, Self::Hook];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bar => "bar",
            Self::Cross => "cross",
            Self::Ring => "ring",
            Self::Triangle => "triangle",
            Self::Square => "square",
            Self::Hook => "hook",
            Self::Zigzag => "zigzag",
        }
    }

    /// Its class, if the classifier learns it.
    pub(super) fn label(self) -> Option<usize> {
        Self::KNOWN.iter().position(|&known| known == self)
    }

    /// Lines within the circle of radius 1.
    fn lines(self) -> Vec<Vec<Point>> {
        match self {
            Self::Bar => vec![vec![[0.0, -1.0], [0.0, 1.0]]],
            Self::Cross => {
                vec![vec![[0.0, -0.9], [0.0, 0.9]], vec![[-0.9, 0.0], [0.9, 0.0]]]
            }
            Self::Ring => vec![corners(24, 0.85, 0.0)],
            Self::Triangle => vec![corners(3, 1.0, -0.25)],
            Self::Square => vec![corners(4, 1.0, 0.125)],
            Self::Hook => vec![vec![[-0.6, -0.9], [-0.6, 0.8], [0.8, 0.8]]],
            Self::Zigzag => {
                vec![vec![[-0.8, -0.8], [0.8, -0.8], [-0.8, 0.8], [0.8, 0.8]]]
            }
        }
    }
}

/// A regular polygon, closed; `turn` is where its first corner lies, as a part of a full turn.
fn corners(count: u32, radius: f64, turn: f64) -> Vec<Point> {
    (0..=count)
        .map(|k| {
            let angle = TAU * (f64::from(k) / f64::from(count) + turn);
            [radius * angle.cos(), radius * angle.sin()]
        })
        .collect()
}

/// How a shape lies on its image and how it is drawn.
#[derive(Clone, Debug)]
pub(super) struct Pose {
    pub(super) centre: Point,
    pub(super) radius: f64,
    /// In radians, clockwise.
    pub(super) angle: f64,
    pub(super) slant: f64,
    pub(super) thickness: f64,
    pub(super) ink: f64,
}

impl Pose {
    /// As the training data vary.
    pub(super) fn draw(random: &mut Random) -> Self {
        let mut between = |low: f64, high: f64| low + (high - low) * random.uniform();
        let middle = SIDE as f64 / 2.0;
        Self {
            centre: [middle + between(-1.0, 1.0), middle + between(-1.0, 1.0)],
            radius: between(4.6, 5.6),
            angle: between(-0.12, 0.12),
            slant: between(-0.15, 0.15),
            thickness: between(1.4, 2.2),
            ink: between(0.3, 1.0),
        }
    }

    /// Where a point of a shape comes to lie.
    fn place(&self, [x, y]: Point) -> Point {
        let x = x + self.slant * y;
        let (sin, cos) = self.angle.sin_cos();
        [
            self.centre[0] + self.radius * (cos * x - sin * y),
            self.centre[1] + self.radius * (sin * x + cos * y),
        ]
    }

    pub(super) fn image(&self, shape: Shape) -> Array2<f32> {
        let mut image = canvas::black();
        for line in shape.lines() {
            let line: Vec<Point> = line.into_iter().map(|p| self.place(p)).collect();
            canvas::stroke(&mut image, &line, self.thickness, self.ink);
        }
        image
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of many drawings of a shape.
    fn mean(shape: Shape, seed: u64) -> Array2<f32> {
        let mut random = Random::new(seed);
        let drawn = (0..400).map(|_| Pose::draw(&mut random).image(shape));
        drawn.fold(canvas::black(), |sum, image| sum + image) / 400.0
    }

    #[test]
    fn shapes_differ_more_than_their_drawings_do() {
        let apart = |a: &Array2<f32>, b: &Array2<f32>| {
            a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt()
        };
        let shapes: Vec<Shape> = Shape::KNOWN.into_iter().chain([Shape::Zigzag]).collect();
        for &shape in &shapes {
            let own = mean(shape, 1);
            let spread = apart(&own, &mean(shape, 2));
            for &other in shapes.iter().filter(|&&other| other != shape) {
                let distance = apart(&own, &mean(other, 1));
                assert!(distance > 4.0 * spread, "{shape:?} and {other:?}: {distance}, {spread}");
            }
        }
    }

    #[test]
    fn shapes_lie_within_their_image() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            for shape in Shape::KNOWN {
                let image = Pose::draw(&mut random).image(shape);
                let corners = [[0, 0], [0, 15], [15, 0], [15, 15]];
                assert!(corners.iter().all(|&at| image[at] < 0.5), "{shape:?}");
                assert!(image.iter().all(|v| (0.0..=1.0).contains(v)) && image.sum() > 3.0);
            }
        }
    }

    #[test]
    fn labels_are_places_among_the_known() {
        for (place, shape) in Shape::KNOWN.into_iter().enumerate() {
            assert_eq!(shape.label(), Some(place));
        }
        assert_eq!(Shape::Zigzag.label(), None);
    }
}
