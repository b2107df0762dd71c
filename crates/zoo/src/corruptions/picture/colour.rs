use ndarray::{Axis, s};

use super::{Picture, Plane, size};

/// Lightness by the weights of ITU-R 601.
pub(in super::super) fn luma(picture: &Picture) -> Plane {
    match picture.shape()[0] {
        3 => {
            let channel = |c| picture.index_axis(Axis(0), c);
            0.299 * &channel(0) + 0.587 * &channel(1) + 0.114 * &channel(2)
        }
        _ => picture.index_axis(Axis(0), 0).to_owned(),
    }
}

/// Changes saturation and value of every pixel (hue, saturation, value; all from 0 to 1). Grey pictures are taken as
/// colours without saturation, and their lightness is kept of what comes out.
pub(in super::super) fn hsv_change(
    picture: &Picture,
    change: impl Fn(f64, f64) -> (f64, f64),
) -> Picture {
    let (height, width) = size(picture);
    let is_grey = picture.shape()[0] != 3;
    let mut out = Picture::zeros((3, height, width));
    for y in 0..height {
        for x in 0..width {
            let of = |c: usize| picture[[if is_grey { 0 } else { c }, y, x]];
            let [hue, saturation, value] = to_hsv([of(0), of(1), of(2)]);
            let (saturation, value) = change(saturation, value);
            let colour = from_hsv([hue, saturation.clamp(0.0, 1.0), value.clamp(0.0, 1.0)]);
            for (c, part) in colour.into_iter().enumerate() {
                out[[c, y, x]] = part;
            }
        }
    }
    if is_grey { luma(&out).insert_axis(Axis(0)) } else { out }
}

fn to_hsv([r, g, b]: [f64; 3]) -> [f64; 3] {
    let value = r.max(g).max(b);
    let spread = value - r.min(g).min(b);
    if spread <= 0.0 {
        return [0.0, 0.0, value];
    }
    let sixth = if b >= value {
        4.0 + (r - g) / spread
    } else if g >= value {
        2.0 + (b - r) / spread
    } else {
        (g - b) / spread
    };
    [(sixth / 6.0).rem_euclid(1.0), spread / value, value]
}

#[expect(clippy::cast_possible_truncation, reason = "a number of sixths of a circle")]
fn from_hsv([hue, saturation, value]: [f64; 3]) -> [f64; 3] {
    let sixth = (6.0 * hue).floor();
    let part = 6.0 * hue - sixth;
    let low = value * (1.0 - saturation);
    let falling = value * (1.0 - part * saturation);
    let rising = value * (1.0 - (1.0 - part) * saturation);
    match sixth as i64 % 6 {
        0 => [value, rising, low],
        1 => [falling, value, low],
        2 => [low, value, rising],
        3 => [low, falling, value],
        4 => [rising, low, value],
        _ => [value, low, falling],
    }
}

/// Lightness and two differences of colour as JPEG has them, all in 0..255 and centred on 128 for the differences.
pub(in super::super) fn to_ycc(picture: &Picture) -> [Plane; 3] {
    // Weights in units of 1/65536; halves of the differences go down, as they do in libjpeg.
    const LIGHT: [f64; 4] = [19595.0, 38470.0, 7471.0, 32768.0];
    const BLUE: [f64; 4] = [-11059.0, -21709.0, 32768.0, 8_421_375.0];
    const RED: [f64; 4] = [32768.0, -27439.0, -5329.0, 8_421_375.0];
    let channel = |c: usize| picture.slice(s![c, .., ..]).mapv(|v| (255.0 * v).round());
    let (r, g, b) = (channel(0), channel(1), channel(2));
    [LIGHT, BLUE, RED].map(|[of_r, of_g, of_b, offset]| {
        let sum = of_r * &r + of_g * &g + of_b * &b + offset;
        sum.mapv(|v| (v / 65536.0).floor())
    })
}

/// The way back from [`to_ycc`].
pub(in super::super) fn from_ycc([light, blue, red]: &[Plane; 3]) -> Picture {
    let (height, width) = light.dim();
    Picture::from_shape_fn((3, height, width), |(c, y, x)| {
        let (l, b, r) = (light[[y, x]], blue[[y, x]] - 128.0, red[[y, x]] - 128.0);
        let value = match c {
            0 => l + 1.402 * r,
            1 => l - 0.344_136 * b - 0.714_136 * r,
            _ => l + 1.772 * b,
        };
        value.round().clamp(0.0, 255.0) / 255.0
    })
}
