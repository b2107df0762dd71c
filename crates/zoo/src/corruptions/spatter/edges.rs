use ndarray::Array2;

use super::super::picture::{Border, Plane, correlate};

/// Edges by Canny's rule (1986): where the gradient is steepest across the edge and above `high`, or above `low` and
/// joined to such a place. The gradient is Sobel's, its size the sum of both parts.
pub(super) fn canny(plane: &Plane, low: f64, high: f64) -> Array2<bool> {
    let sobel = Plane::from(vec![[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]]);
    let across = correlate(plane, &sobel, Border::Nearest);
    let down = correlate(plane, &sobel.t().to_owned(), Border::Nearest);
    let steep = across.mapv(f64::abs) + down.mapv(f64::abs);
    let (height, width) = plane.dim();
    let at = |y: usize, x: usize, dy: isize, dx: isize| -> f64 {
        let place = y.checked_add_signed(dy).zip(x.checked_add_signed(dx));
        place.and_then(|(y, x)| steep.get([y, x])).copied().unwrap_or(0.0)
    };
    let is_ridge = |y: usize, x: usize| {
        let (gx, gy, size) = (across[[y, x]], down[[y, x]], steep[[y, x]]);
        if gy.abs() < 0.414_213_562_373_095 * gx.abs() {
            size > at(y, x, 0, -1) && size >= at(y, x, 0, 1)
        } else if gy.abs() > 2.414_213_562_373_095 * gx.abs() {
            size > at(y, x, -1, 0) && size >= at(y, x, 1, 0)
        } else {
            let way = if gx * gy < 0.0 { -1 } else { 1 };
            size > at(y, x, -1, -way) && size > at(y, x, 1, way)
        }
    };
    let candidate =
        Array2::from_shape_fn((height, width), |(y, x)| steep[[y, x]] > low && is_ridge(y, x));
    let mut edge = Array2::from_elem((height, width), false);
    let strong = |&(y, x): &(usize, usize)| candidate[[y, x]] && steep[[y, x]] > high;
    let all = (0..height).flat_map(|y| (0..width).map(move |x| (y, x)));
    let mut open: Vec<(usize, usize)> = all.filter(strong).collect();
    while let Some((y, x)) = open.pop() {
        if std::mem::replace(&mut edge[[y, x]], true) {
            continue;
        }
        for ny in y.saturating_sub(1)..(y + 2).min(height) {
            for nx in x.saturating_sub(1)..(x + 2).min(width) {
                if candidate[[ny, nx]] && !edge[[ny, nx]] {
                    open.push((ny, nx));
                }
            }
        }
    }
    edge
}

/// The distance from the nearest edge by steps of a king and of a knight (Borgefors 1986), as long as an edge is there.
pub(super) fn distance(edge: &Array2<bool>) -> Plane {
    const STEPS: [(isize, isize, f64); 8] = [
        (0, -1, 1.0),
        (-1, 0, 1.0),
        (-1, -1, 1.4),
        (-1, 1, 1.4),
        (-1, -2, 2.1969),
        (-1, 2, 2.1969),
        (-2, -1, 2.1969),
        (-2, 1, 2.1969),
    ];
    const FAR: f64 = 1e9;
    let (height, width) = edge.dim();
    let mut out = edge.mapv(|is| if is { 0.0 } else { FAR });
    let mut pass = |sign: isize| {
        for k in 0..height * width {
            let k = if sign > 0 { k } else { height * width - 1 - k };
            let (y, x) = (k / width, k % width);
            let from = |&(dy, dx, step): &(isize, isize, f64)| {
                let place = (y.checked_add_signed(sign * dy)?, x.checked_add_signed(sign * dx)?);
                out.get(place).map(|v| v + step)
            };
            let nearest = STEPS.iter().filter_map(from).fold(out[[y, x]], f64::min);
            out[[y, x]] = nearest;
        }
    };
    pass(1);
    pass(-1);
    out
}
