//! Drops of water or mud on the lens.

mod edges;

use ndarray::{Array2, Axis};
use taste_stats::random::Random;

use super::{
    Act, Corruption, Picture, Suite,
    picture::{Border, Plane, box_of_three, clipped, correlate, gaussian, normal_plane, size},
};

/// How a liquid lies.
struct Liquid {
    mean: f64,
    deviation: f64,
    sigma: f64,
    least: f64,
    strength: f64,
    is_mud: bool,
}

const fn liquid(layer: [f64; 5], is_mud: bool) -> Liquid {
    let [mean, deviation, sigma, least, strength] = layer;
    Liquid { mean, deviation, sigma, least, strength, is_mud }
}

const LIQUIDS: [Liquid; 5] = [
    liquid([0.62, 0.1, 0.7, 0.7, 0.5], false),
    liquid([0.65, 0.1, 0.8, 0.7, 0.5], false),
    liquid([0.65, 0.3, 1.0, 0.69, 0.5], false),
    liquid([0.65, 0.1, 0.7, 0.69, 0.6], true),
    liquid([0.65, 0.1, 0.5, 0.68, 0.6], true),
];

const WATER: [f64; 3] = [175.0 / 255.0, 238.0 / 255.0, 238.0 / 255.0];
const MUD: [f64; 3] = [63.0 / 255.0, 42.0 / 255.0, 20.0 / 255.0];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "spatter",
    "drops of water, from severity 4 on of mud (Hendrycks and Dietterich 2019, extra)",
    Graded(|picture, level, random| {
        let liquid = &LIQUIDS[level];
        let layer = liquid.layer(size(picture), random);
        if liquid.is_mud { liquid.mud(picture, &layer) } else { liquid.water(picture, &layer) }
    })
);

impl Liquid {
    fn layer(&self, size: (usize, usize), random: &mut Random) -> Plane {
        let noise = normal_plane(size, self.mean, self.deviation, random);
        let smooth = gaussian(&noise, self.sigma, 4.0, Border::Nearest);
        smooth.mapv(|v| if v < self.least { 0.0 } else { v })
    }

    fn mud(&self, picture: &Picture, layer: &Plane) -> Picture {
        let wet = layer.mapv(|v| f64::from(v > self.least));
        let mask = gaussian(&wet, self.strength, 4.0, Border::Nearest);
        let mask = mask.mapv(|v| if v < 0.8 { 0.0 } else { v });
        let dry = mask.mapv(|v| 1.0 - v);
        coloured(&(picture * &dry), &mask, MUD)
    }

    /// Light on the rims of drops: the distance from their edges, embossed.
    fn water(&self, picture: &Picture, layer: &Plane) -> Picture {
        // As bytes, which wrap as those of the reference do.
        let bytes = layer.mapv(|v| (255.0 * v).floor().rem_euclid(256.0));
        let far = edges::distance(&edges::canny(&bytes, 50.0, 150.0)).mapv(|v| v.min(20.0));
        let far = box_of_three(&far).mapv(|v| (v + 1e-4).floor());
        let emboss = Array2::from(vec![[-2.0, -1.0, 0.0], [-1.0, 1.0, 1.0], [0.0, 1.0, 2.0]]);
        let rims = correlate(&equalised(&far), &emboss, Border::Mirror);
        let rims = rims.mapv(|v| v.clamp(0.0, 255.0));
        let light = bytes * box_of_three(&rims).mapv(f64::round);
        let most = light.iter().copied().fold(0.0, f64::max);
        let light = if most > 0.0 { light * (self.strength / most) } else { light };
        coloured(picture, &light, WATER)
    }
}

/// A colour laid over a picture, as much of it as the layer says.
fn coloured(picture: &Picture, layer: &Plane, colour: [f64; 3]) -> Picture {
    let mut out = picture.clone();
    let grey = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2];
    let is_grey = out.len_of(Axis(0)) == 1;
    for (mut plane, part) in out.outer_iter_mut().zip(colour) {
        plane.scaled_add(if is_grey { grey } else { part }, layer);
    }
    clipped(out)
}

/// Bytes spread over 0..=255 by their rank.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole numbers of a byte"
)]
fn equalised(plane: &Plane) -> Plane {
    let mut counts = [0.0; 256];
    for &v in plane {
        counts[v as usize] += 1.0;
    }
    let first = counts.iter().position(|c| *c > 0.0).unwrap_or(0);
    let others = plane.len() as f64 - counts[first];
    if others <= 0.0 {
        return plane.clone();
    }
    let mut levels = [0.0; 256];
    let mut sum = 0.0;
    for i in first + 1..256 {
        sum += counts[i];
        levels[i] = (255.0 * sum / others).round_ties_even();
    }
    plane.mapv(|v| levels[v as usize])
}
