use ndarray::{Array2, Axis, s};

use super::{Border, Picture, Plane, PlaneRef, each_channel, size};

/// Where a pixel comes from: x' = a·x + b·y + c, y' = d·x + e·y + f, divided by g·x + h·y + 1. Coordinates count from the
/// middle of the picture.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Affine {
    pub(in super::super) x: [f64; 3],
    pub(in super::super) y: [f64; 3],
    pub(in super::super) depth: [f64; 2],
}

impl Affine {
    /// Without perspective.
    pub(in super::super) fn flat(x: [f64; 3], y: [f64; 3]) -> Self {
        Self { x, y, depth: [0.0; 2] }
    }
}

/// Every pixel from the place that the map says, between four pixels by their nearness, black beyond the edge.
pub(in super::super) fn warped(picture: &Picture, map: &Affine) -> Picture {
    let (height, width) = size(picture);
    let (middle_y, middle_x) = ((height - 1) as f64 / 2.0, (width - 1) as f64 / 2.0);
    each_channel(picture, |plane| {
        Plane::from_shape_fn((height, width), |(row, column)| {
            let (x, y) = (column as f64 - middle_x, row as f64 - middle_y);
            let of = |[a, b, c]: [f64; 3]| a * x + b * y + c;
            let depth = map.depth[0] * x + map.depth[1] * y + 1.0;
            let from_x = of(map.x) / depth + middle_x;
            let from_y = of(map.y) / depth + middle_y;
            let inside = |at: f64, size: usize| at >= -0.5 && at < size as f64 - 0.5;
            if inside(from_x, width) && inside(from_y, height) {
                bilinear(plane, from_y, from_x, Border::Nearest)
            } else {
                0.0
            }
        })
    })
}

/// Turned about the middle, counter-clockwise, black beyond the edge.
pub(in super::super) fn turned(picture: &Picture, degrees: f64) -> Picture {
    let (sine, cosine) = degrees.to_radians().sin_cos();
    warped(picture, &Affine::flat([cosine, -sine, 0.0], [sine, cosine, 0.0]))
}

/// Every channel at places that the map says for a row and a column, as (y, x).
pub(in super::super) fn mapped(
    picture: &Picture,
    border: Border,
    place: impl Fn(usize, usize) -> (f64, f64),
) -> Picture {
    let places = Array2::from_shape_fn(size(picture), |(y, x)| place(y, x));
    each_channel(picture, |plane| places.map(|&(y, x)| bilinear(plane, y, x, border)))
}

/// The value between four pixels.
#[expect(clippy::cast_possible_truncation, reason = "a number of pixels")]
fn bilinear(plane: &PlaneRef, y: f64, x: f64, border: Border) -> f64 {
    let (height, width) = plane.dim();
    let (top, left) = (y.floor(), x.floor());
    let (down, right) = (y - top, x - left);
    let row = |i: isize| border.place(top as isize + i, height);
    let column = |j: isize| border.place(left as isize + j, width);
    let at = |i, j| plane[[row(i), column(j)]];
    (1.0 - down) * ((1.0 - right) * at(0, 0) + right * at(0, 1))
        + down * ((1.0 - right) * at(1, 0) + right * at(1, 1))
}

/// The middle of a picture, enlarged to its size.
pub(in super::super) fn zoomed(picture: &Picture, factor: f64) -> Picture {
    each_channel(picture, |plane| zoomed_plane(plane, factor))
}

/// [`zoomed`] of one channel: the middle ⌈size/factor⌉ pixels are stretched to the nearest whole number of pixels, corners
/// to corners, and the middle of what comes out is kept.
pub(in super::super) fn zoomed_plane(plane: &PlaneRef, factor: f64) -> Plane {
    let (height, width) = plane.dim();
    let (top, rows, row_skip) = window(height, factor);
    let (left, columns, column_skip) = window(width, factor);
    let crop = plane.slice(s![top..top + rows.0, left..left + columns.0]);
    let scale = |(from, to): (usize, usize)| {
        if to > 1 { (from - 1) as f64 / (to - 1) as f64 } else { 1.0 }
    };
    let (down, right) = (scale(rows), scale(columns));
    let mut out = Plane::zeros((height, width));
    for (y, mut line) in out.axis_iter_mut(Axis(0)).enumerate() {
        for (x, value) in line.iter_mut().enumerate() {
            let from = ((y + row_skip) as f64 * down, (x + column_skip) as f64 * right);
            *value = bilinear(&crop, from.0, from.1, Border::Nearest);
        }
    }
    out
}

/// Where the middle starts, how many pixels it has and will have, and how many of these are left out in front.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "numbers of pixels")]
fn window(size: usize, factor: f64) -> (usize, (usize, usize), usize) {
    let kept = ((size as f64 / factor).ceil() as usize).clamp(1, size);
    let stretched = ((kept as f64 * factor).round_ties_even() as usize).max(size);
    ((size - kept) / 2, (kept, stretched), (stretched - size) / 2)
}
