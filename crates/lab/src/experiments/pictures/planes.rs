//! Maps as planes of numbers: smoothed, and brought to the size of a mask.

use ndarray::Array2;

/// A Gaussian blur; beyond the edge lies what is at the edge.
pub(crate) fn blurred(map: &Array2<f32>, deviation: f64) -> Array2<f32> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pixels")]
    let reach = (4.0 * deviation).ceil() as usize;
    let weight = |k: usize| (-0.5 * ((k as f64 - reach as f64) / deviation).powi(2)).exp();
    let total: f64 = (0..=2 * reach).map(weight).sum();
    #[expect(clippy::cast_possible_truncation, reason = "maps are single precision")]
    let weights: Vec<f32> = (0..=2 * reach).map(|k| (weight(k) / total) as f32).collect();
    let along = |map: &Array2<f32>| {
        let (rows, columns) = map.dim();
        // Turned, so that two of these do both directions.
        Array2::from_shape_fn((columns, rows), |(c, r)| {
            let at = |k: usize| (c + k).saturating_sub(reach).min(columns - 1);
            weights.iter().enumerate().map(|(k, w)| w * map[[r, at(k)]]).sum::<f32>()
        })
    };
    along(&along(map))
}

/// Bilinear interpolation to another height and width.
pub(crate) fn resized(map: &Array2<f32>, size: (usize, usize)) -> Array2<f32> {
    if map.dim() == size {
        return map.clone();
    }
    let place = |i: usize, from: usize, to: usize| {
        let last = (from - 1) as f64;
        let at = ((i as f64 + 0.5) * from as f64 / to as f64 - 0.5).clamp(0.0, last);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
        let low = at.floor() as usize;
        #[expect(clippy::cast_possible_truncation, reason = "maps are single precision")]
        let share = (at - low as f64) as f32;
        (low, (low + 1).min(from - 1), share)
    };
    let (height, width) = map.dim();
    Array2::from_shape_fn(size, |(r, c)| {
        let (top, bottom, down) = place(r, height, size.0);
        let (left, right, across) = place(c, width, size.1);
        let row = |r: usize| map[[r, left]] * (1.0 - across) + map[[r, right]] * across;
        row(top) * (1.0 - down) + row(bottom) * down
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_spreads_without_loss_and_sizes_change_and_come_back() {
        let mut map = Array2::zeros((40, 30));
        map[[20, 12]] = 5.0;
        let smooth = blurred(&map, 2.0);
        assert!((smooth.sum() - 5.0).abs() < 1e-3 && smooth[[20, 12]] < 0.3);
        assert!((smooth[[18, 12]] - smooth[[20, 14]]).abs() < 1e-6);
        let ramp = Array2::from_shape_fn((20, 20), |(r, c)| (r + 2 * c) as f32);
        let back = resized(&resized(&ramp, (80, 80)), (20, 20));
        assert!((1..19).all(|i| (back[[i, i]] - ramp[[i, i]]).abs() < 0.01));
    }
}
