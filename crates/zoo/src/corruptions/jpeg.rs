use std::f64::consts::PI;

use ndarray::{Axis, s};

use super::{
    Act, Corruption, Picture, Suite,
    picture::{Border, Plane, from_ycc, to_ycc},
};

const QUALITIES: [f64; 5] = [80.0, 65.0, 58.0, 50.0, 40.0];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "jpeg-compression",
    "JPEG at a low quality, colours at half the size (Hendrycks and Dietterich 2019)",
    Graded(|picture, level, _| compressed(picture, QUALITIES[level]))
);

/// Steps for lightness and for colour (ITU-T T.81, annex K).
const LIGHT: [[u8; 8]; 8] = [
    [16, 11, 10, 16, 24, 40, 51, 61],
    [12, 12, 14, 19, 26, 58, 60, 55],
    [14, 13, 16, 24, 40, 57, 69, 56],
    [14, 17, 22, 29, 51, 87, 80, 62],
    [18, 22, 37, 56, 68, 109, 103, 77],
    [24, 35, 55, 64, 81, 104, 113, 92],
    [49, 64, 78, 87, 103, 121, 120, 101],
    [72, 92, 95, 98, 112, 100, 103, 99],
];
const COLOUR: [[u8; 8]; 8] = [
    [17, 18, 24, 47, 99, 99, 99, 99],
    [18, 21, 26, 66, 99, 99, 99, 99],
    [24, 26, 56, 99, 99, 99, 99, 99],
    [47, 66, 99, 99, 99, 99, 99, 99],
    [99, 99, 99, 99, 99, 99, 99, 99],
    [99, 99, 99, 99, 99, 99, 99, 99],
    [99, 99, 99, 99, 99, 99, 99, 99],
    [99, 99, 99, 99, 99, 99, 99, 99],
];

/// What a picture is after JPEG: nothing is lost but in rounding to steps, so no bits are written.
fn compressed(picture: &Picture, quality: f64) -> Picture {
    if picture.shape()[0] != 3 {
        let light = picture.index_axis(Axis(0), 0).mapv(|v| (255.0 * v).round());
        return stepped(&light, &LIGHT, quality).mapv(|v| v / 255.0).insert_axis(Axis(0));
    }
    let [light, blue, red] = to_ycc(picture);
    let size = light.dim();
    let colour = |plane: &Plane| doubled(&stepped(&halved(plane), &COLOUR, quality), size);
    from_ycc(&[stepped(&light, &LIGHT, quality), colour(&blue), colour(&red)])
}

/// Means of two by two pixels, halves up and down in turns.
fn halved(plane: &Plane) -> Plane {
    let (height, width) = plane.dim();
    Plane::from_shape_fn((height.div_ceil(2), width.div_ceil(2)), |(y, x)| {
        let at =
            |i: usize, j: usize| plane[[(2 * y + i).min(height - 1), (2 * x + j).min(width - 1)]];
        let bias = if x % 2 == 0 { 1.0 } else { 2.0 };
        ((at(0, 0) + at(0, 1) + at(1, 0) + at(1, 1) + bias) / 4.0).floor()
    })
}

/// Twice the size: three parts of the nearest pixel to one of the next, on both axes.
fn doubled(plane: &Plane, (height, width): (usize, usize)) -> Plane {
    let (rows, columns) = plane.dim();
    let next = |at: usize, size: usize| {
        let way = if at.is_multiple_of(2) { -1 } else { 1 };
        (at / 2, Border::Nearest.place((at / 2) as isize + way, size))
    };
    Plane::from_shape_fn((height, width), |(y, x)| {
        let ((near_y, far_y), (near_x, far_x)) = (next(y, rows), next(x, columns));
        let column = |x: usize| 3.0 * plane[[near_y, x]] + plane[[far_y, x]];
        let bias = if x.is_multiple_of(2) { 8.0 } else { 7.0 };
        ((3.0 * column(near_x) + column(far_x) + bias) / 16.0).floor()
    })
}

/// Blocks of eight by eight pixels, their cosine transform rounded to steps.
fn stepped(plane: &Plane, table: &[[u8; 8]; 8], quality: f64) -> Plane {
    let scale = if quality < 50.0 { (5000.0 / quality).floor() } else { 200.0 - 2.0 * quality };
    let step = Plane::from_shape_fn((8, 8), |(i, j)| {
        ((f64::from(table[i][j]) * scale + 50.0) / 100.0).floor().clamp(1.0, 255.0)
    });
    let basis = Plane::from_shape_fn((8, 8), |(k, n)| {
        let size = if k == 0 { 0.125f64.sqrt() } else { 0.5 };
        size * (PI * (2 * n + 1) as f64 * k as f64 / 16.0).cos()
    });
    let (height, width) = plane.dim();
    let mut out = plane.clone();
    for top in (0..height).step_by(8) {
        for left in (0..width).step_by(8) {
            // What a block lacks at the edge is the last pixel.
            let block = Plane::from_shape_fn((8, 8), |(i, j)| {
                plane[[(top + i).min(height - 1), (left + j).min(width - 1)]] - 128.0
            });
            // In eighths, so that what lies between two steps goes to the larger one whatever the rounding.
            let eighths = basis.dot(&block).dot(&basis.t()).mapv(|v| (8.0 * v).round());
            let kept = (eighths / (8.0 * &step)).mapv(f64::round) * &step;
            let block = basis.t().dot(&kept).dot(&basis);
            let (bottom, right) = ((top + 8).min(height), (left + 8).min(width));
            let kept = block.slice(s![..bottom - top, ..right - left]);
            let kept = kept.mapv(|v| (v + 128.0).round().clamp(0.0, 255.0));
            out.slice_mut(s![top..bottom, left..right]).assign(&kept);
        }
    }
    out
}
