//! Pictures, and what is done to them by more than one corruption.

mod blur;
mod colour;
mod motion;
mod plasma;
mod warp;

use ndarray::{Array2, Array3, ArrayRef2, Axis};
use taste_stats::random::Random;

pub(super) use blur::{Border, box_of_three, correlate, gaussian, smooth};
pub(super) use colour::{from_ycc, hsv_change, luma, to_ycc};
pub(super) use motion::motion;
pub(super) use plasma::plasma;
pub(super) use warp::{Affine, mapped, turned, warped, zoomed, zoomed_plane};

/// Channels (one or three), height and width; entries from 0 to 1.
pub type Picture = Array3<f64>;

/// One channel.
pub(super) type Plane = Array2<f64>;

/// One channel, or a part of it, wherever it lies.
pub(super) type PlaneRef = ArrayRef2<f64>;

/// Height and width.
pub(super) fn size(picture: &Picture) -> (usize, usize) {
    (picture.shape()[1], picture.shape()[2])
}

/// Entries brought back to 0..1.
pub(super) fn clipped(mut picture: Picture) -> Picture {
    picture.mapv_inplace(|v| v.clamp(0.0, 1.0));
    picture
}

/// Every channel by itself.
pub(super) fn each_channel(
    picture: &Picture,
    mut change: impl FnMut(&PlaneRef) -> Plane,
) -> Picture {
    let mut out = picture.clone();
    for (mut to, from) in out.axis_iter_mut(Axis(0)).zip(picture.axis_iter(Axis(0))) {
        to.assign(&change(&from));
    }
    out
}

/// Steps of 1/255, as a file of bytes has them; halves go up.
pub(super) fn rounded(mut picture: Picture) -> Picture {
    picture.mapv_inplace(|v| (255.0 * v.clamp(0.0, 1.0) + 0.5).floor() / 255.0);
    picture
}

/// Independent normal numbers.
pub(super) fn normal_plane(
    (height, width): (usize, usize),
    mean: f64,
    deviation: f64,
    random: &mut Random,
) -> Plane {
    Plane::from_shape_simple_fn((height, width), || mean + deviation * random.normal())
}

/// A number within `low..high`.
pub(super) fn between(low: f64, high: f64, random: &mut Random) -> f64 {
    low + (high - low) * random.uniform()
}
