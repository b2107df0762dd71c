use super::{
    Act, Corruption, Suite,
    picture::{Border, Plane, correlate, each_channel, gaussian},
};

/// The radius of the disk, and the blur of its edge.
const DISKS: [(f64, f64); 5] = [(0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1.0, 0.2), (1.5, 0.1)];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "defocus-blur",
    "a lens out of focus: the mean over a disk with a soft edge (Hendrycks and Dietterich 2019)",
    Graded(|picture, level, _| {
        let kernel = disk(DISKS[level]);
        each_channel(picture, |plane| correlate(plane, &kernel, Border::Mirror))
    })
);

/// The pixels within the radius, softened by three by three pixels of a Gaussian.
fn disk((radius, edge): (f64, f64)) -> Plane {
    const HALF: usize = 3;
    let far = |i: usize| (i as f64 - HALF as f64).powi(2);
    let side = 2 * HALF + 1;
    let sharp =
        Plane::from_shape_fn((side, side), |(i, j)| f64::from(far(i) + far(j) <= radius * radius));
    let total = sharp.sum();
    // Tails cut at one pixel.
    gaussian(&(sharp / total), edge, 1.0 / edge, Border::Mirror)
}
