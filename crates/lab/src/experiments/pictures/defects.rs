//! Local defects that are drawn into pictures.

use ndarray::{Array2, ArrayD, Axis, s};
use taste_stats::random::Random;

use super::{Picture, Pictures};

/// Kinds of defects.
pub(crate) const DEFECTS: [&str; 5] = ["noise", "erased", "foreign", "bright", "blurred"];

/// Good pictures, and as many with a defect of each kind: a square of a quarter of the side, at a random place.
pub(crate) fn marked(good: &ArrayD<f32>, seed: u64) -> Pictures {
    let count = good.shape()[0];
    let mut of: Vec<Picture> =
        (0..count).map(|_| Picture { kind: "good".to_owned(), mask: None }).collect();
    let mut parts = vec![good.clone()];
    for (stream, kind) in DEFECTS.iter().enumerate() {
        let mut random = Random::stream(seed, stream as u64);
        let mut values = good.clone();
        for at in 0..count {
            let other = good.index_axis(Axis(0), (at + 1) % count).to_owned();
            let mut picture = values.index_axis_mut(Axis(0), at);
            let (height, width) = (picture.shape()[1], picture.shape()[2]);
            let side = (height.min(width) / 4).max(2);
            // Within the middle, where pictures have something to differ from.
            let mut place = |size: usize| size / 8 + random.below(size - size / 4 - side + 1);
            let (top, left) = (place(height), place(width));
            let rows = (top, top + side);
            let columns = (left, left + side);
            let mut square = picture.slice_mut(s![.., rows.0..rows.1, columns.0..columns.1]);
            let mean = square.mean().unwrap_or(0.0);
            match *kind {
                "noise" => square.mapv_inplace(|v| {
                    #[expect(clippy::cast_possible_truncation, reason = "a pixel")]
                    let noise = 0.25 * random.normal() as f32;
                    (v + noise).clamp(0.0, 1.0)
                }),
                "erased" => square.fill(0.0),
                "foreign" => square.assign(&other.slice(s![.., ..;-1, ..]).slice(s![
                    ..,
                    rows.0..rows.1,
                    columns.0..columns.1
                ])),
                "bright" => square.mapv_inplace(|v| (v + 0.35).min(1.0)),
                _ => square.mapv_inplace(|v| mean + 0.2 * (v - mean)),
            }
            let mask = Array2::from_shape_fn((height, width), |(r, c)| {
                (rows.0..rows.1).contains(&r) && (columns.0..columns.1).contains(&c)
            });
            of.push(Picture { kind: (*kind).to_owned(), mask: Some(mask) });
        }
        parts.push(values);
    }
    let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
    let values = ndarray::concatenate(Axis(0), &views).unwrap_or_else(|_| good.clone());
    Pictures { values, of }
}
