use ndarray::s;
use taste_stats::random::Random;

use super::{
    Act, Corruption, Picture, Suite,
    picture::{Plane, between, clipped, luma, motion, normal_plane, size, zoomed_plane},
};

/// How snow lies and falls.
struct Snow {
    mean: f64,
    deviation: f64,
    zoom: f64,
    least: f64,
    radius: usize,
    sigma: f64,
    /// How much of the picture's own colour stays.
    own: f64,
}

const fn snow(flakes: [f64; 4], (radius, sigma): (usize, f64), own: f64) -> Snow {
    let [mean, deviation, zoom, least] = flakes;
    Snow { mean, deviation, zoom, least, radius, sigma, own }
}

const FALLS: [Snow; 5] = [
    snow([0.1, 0.2, 1.0, 0.6], (8, 3.0), 0.95),
    snow([0.1, 0.2, 1.0, 0.5], (10, 4.0), 0.9),
    snow([0.15, 0.3, 1.75, 0.55], (10, 4.0), 0.9),
    snow([0.25, 0.3, 2.25, 0.6], (12, 6.0), 0.85),
    snow([0.3, 0.3, 1.25, 0.65], (14, 12.0), 0.8),
];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "snow",
    "a whitened picture under falling flakes (Hendrycks and Dietterich 2019)",
    Graded(|picture, level, random| {
        let degrees = between(-135.0, -45.0, random);
        FALLS[level].falls_on(picture, degrees, random)
    })
);

pub(super) const LAST_FRAME: Corruption = corruption!(
    Cifar10P,
    "p-snow",
    "the last frame of CIFAR-10-P: snow that falls at −30°",
    Once(|picture, random| {
        snow([0.05, 0.3, 2.0, 0.5], (10, 2.0), 0.85).falls_on(picture, -30.0, random)
    })
);

impl Snow {
    fn falls_on(&self, picture: &Picture, degrees: f64, random: &mut Random) -> Picture {
        let flakes = normal_plane(size(picture), self.mean, self.deviation, random);
        let flakes = zoomed_plane(&flakes, self.zoom).mapv(|v| {
            let kept = if v < self.least { 0.0 } else { v.min(1.0) };
            (255.0 * kept).floor() / 255.0
        });
        let layer = motion(&flakes, self.radius, self.sigma, degrees);
        let layer: Plane = layer.mapv(|v| (255.0 * v).round() / 255.0);
        let white = luma(picture).mapv(|v| 1.5 * v + 0.5);
        let layers = &layer + &layer.slice(s![..;-1, ..;-1]);
        let mut out = picture.clone();
        for mut plane in out.outer_iter_mut() {
            ndarray::azip!((v in &mut plane, &white in &white, &snow in &layers) {
                *v = self.own * *v + (1.0 - self.own) * v.max(white) + snow;
            });
        }
        clipped(out)
    }
}
