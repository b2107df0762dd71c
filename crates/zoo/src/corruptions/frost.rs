use taste_stats::random::Random;

use super::{
    Act, Corruption, Suite,
    picture::{Border, Plane, between, clipped, gaussian, plasma, size},
};

/// How much of the picture stays, and how much frost is added.
const SHARES: [(f64, f64); 5] = [(1.0, 0.2), (1.0, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)];

/// The colour of ice.
const ICE: [f64; 3] = [0.86, 0.95, 1.0];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "frost",
    "ice on the lens, with the shares of Hendrycks and Dietterich 2019; drawn as clouds and crystals, where they cut it from photographs",
    Graded(|picture, level, random| {
        let (own, share) = SHARES[level];
        let ice = frozen(size(picture), random);
        let mut out = own * picture;
        let colours = out.shape()[0] == 3;
        for (mut plane, tint) in out.outer_iter_mut().zip(ICE) {
            let tint = if colours { tint } else { 0.94 };
            plane.scaled_add(share * tint, &ice);
        }
        clipped(out)
    })
);

/// Clouds of rime with crystals on them, from 0 to 1.
fn frozen((height, width): (usize, usize), random: &mut Random) -> Plane {
    let clouds = plasma((height, width), 2.0, random);
    let mut needles = Plane::zeros((height, width));
    let side = height.min(width) as f64;
    let count = 4 + random.below(4);
    for _ in 0..count {
        let start =
            [between(-0.1, 1.1, random) * height as f64, between(-0.1, 1.1, random) * width as f64];
        let (angle, length) = (between(0.0, 360.0, random), between(0.25, 0.6, random) * side);
        for arm in 0..6 {
            fern(&mut needles, start, angle + 60.0 * f64::from(arm), length);
        }
    }
    let needles = gaussian(&needles, 0.5, 4.0, Border::Nearest);
    (0.3 + 0.35 * clouds + needles).mapv(|v| v.min(1.0))
}

/// A needle with shorter ones on both sides, at 60° as ice grows.
fn fern(into: &mut Plane, start: [f64; 2], degrees: f64, length: f64) {
    needle(into, start, degrees, length);
    let (sine, cosine) = degrees.to_radians().sin_cos();
    for branch in 1..6 {
        let along = f64::from(branch) / 6.0;
        let place = [start[0] + along * length * sine, start[1] + along * length * cosine];
        for side in [-60.0, 60.0] {
            needle(into, place, degrees + side, 0.4 * (1.0 - along) * length);
        }
    }
}

/// A line that grows fainter, in steps of half a pixel.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "numbers of pixels")]
fn needle(into: &mut Plane, start: [f64; 2], degrees: f64, length: f64) {
    const BRIGHT: f64 = 0.5;
    let (sine, cosine) = degrees.to_radians().sin_cos();
    let (height, width) = into.dim();
    let steps = (2.0 * length) as usize;
    for step in 0..steps {
        let far = step as f64 / 2.0;
        let (y, x) = (start[0] + far * sine, start[1] + far * cosine);
        let inside = |at: f64, size: usize| at.round() >= 0.0 && at.round() < size as f64;
        if inside(y, height) && inside(x, width) {
            let place = [y.round() as usize, x.round() as usize];
            into[place] = into[place].max(BRIGHT * (1.0 - far / length));
        }
    }
}
