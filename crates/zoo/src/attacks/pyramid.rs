//! Changes of the Square attack for L2: pyramids of opposite signs side by side, and mass that moves between two windows
//! (Andriushchenko, Croce, Flammarion and Hein 2020, section 3.4).

use taste_stats::random::Random;

use super::{
    Ball,
    ball::narrow,
    grid::{Grid, Window},
    square::random_sign,
};

const TINY: f32 = 1e-12;

/// Puts a change of length eps into a point: x + ε·δ/‖δ‖, in the ball and the box.
pub(super) fn apply(ball: &Ball, x: &[f32], change: &[f32], point: &mut [f32]) {
    let scale = narrow(ball.eps()) / (length(change.iter()) + TINY);
    for ((value, x), change) in point.iter_mut().zip(x).zip(change) {
        *value = x + scale * change;
    }
    ball.project(x, point);
}

/// Pyramids of random signs on tiles of a fifth of the height.
pub(super) fn tiles(grid: Grid, random: &mut Random) -> Vec<f32> {
    let mut change = vec![0.0; grid.channels * grid.height * grid.width];
    let side = (grid.height / 5).clamp(1, grid.width);
    let margin = (grid.height - 5 * side.min(grid.height / 5)) / 2;
    let starts = |size: usize| {
        (0..size / side).map(move |k| margin + k * side).filter(move |s| s + side <= size)
    };
    for top in starts(grid.height) {
        for left in starts(grid.width) {
            let shape = pair(side, random);
            let window = Window { top, left, height: side, width: side };
            for channel in 0..grid.channels {
                let sign = random_sign(random);
                let mut cells = shape.iter();
                window.each(|line, column| {
                    change[grid.at(channel, line, column)] =
                        sign * cells.next().copied().unwrap_or(0.0);
                });
            }
        }
    }
    change
}

/// The change of a point, of which one window is emptied in favour of another.
pub(super) fn moved(
    ball: &Ball,
    grid: Grid,
    share: f64,
    x: &[f32],
    point: &[f32],
    random: &mut Random,
) -> Vec<f32> {
    let odd = grid.side(share, 3) | 1;
    let side = odd.min(grid.height).min(grid.width);
    let (to, from) = (grid.place(side, random), grid.place(side, random));
    let mut change: Vec<f32> = point.iter().zip(x).map(|(p, x)| p - x).collect();
    let eps = narrow(ball.eps());
    let unused = (eps * eps - length(change.iter()).powi(2)).max(0.0) / grid.channels as f32;
    let shape = pair(side, random);
    for channel in 0..grid.channels {
        let own = window_length(grid, channel, to, &change);
        let mut square = own * own;
        from.each(|line, column| {
            if !to.holds(line, column) {
                square += change[grid.at(channel, line, column)].powi(2);
            }
        });
        let sign = random_sign(random);
        let mut cells = shape.iter();
        let mut new = Vec::with_capacity(shape.len());
        to.each(|line, column| {
            let old = change[grid.at(channel, line, column)] / (TINY + own);
            new.push(sign * cells.next().copied().unwrap_or(0.0) + old);
        });
        let scale = (unused + square).sqrt() / (TINY + length(new.iter()));
        from.each(|line, column| change[grid.at(channel, line, column)] = 0.0);
        let mut cells = new.into_iter();
        to.each(|line, column| {
            change[grid.at(channel, line, column)] = scale * cells.next().unwrap_or(0.0);
        });
    }
    change
}

fn window_length(grid: Grid, channel: usize, window: Window, change: &[f32]) -> f32 {
    let mut square = 0.0;
    window.each(|line, column| square += change[grid.at(channel, line, column)].powi(2));
    square.sqrt()
}

fn length<'a>(values: impl Iterator<Item = &'a f32>) -> f32 {
    let square: f64 = values.map(|v| f64::from(*v) * f64::from(*v)).sum();
    narrow(square.sqrt())
}

/// Two pyramids of opposite signs, one above the other or side by side, of length 1 together.
fn pair(side: usize, random: &mut Random) -> Vec<f32> {
    let upper = side / 2;
    let mut cells = pyramid(upper, side);
    cells.extend(pyramid(side - upper, side).into_iter().map(|v| -v));
    let scale = 1.0 / (length(cells.iter()) + TINY);
    for value in &mut cells {
        *value *= scale;
    }
    if random.bits() >> 63 == 0 {
        return cells;
    }
    let turned = |i: usize| cells[i % side * side + i / side];
    (0..cells.len()).map(turned).collect()
}

/// A pyramid of length 1: at a distance r from the middle, in steps to any of the eight neighbours, the sum of 1/k² from r + 1 up to
/// half the longer side.
fn pyramid(height: usize, width: usize) -> Vec<f32> {
    let layers = (height / 2).max(width / 2) + 1;
    let (middle, centre) = (height / 2, width / 2);
    let value = |i: usize| {
        let distance = (i / width).abs_diff(middle).max((i % width).abs_diff(centre));
        (distance + 1..=layers).map(|k| 1.0 / (k * k) as f32).sum::<f32>()
    };
    let mut cells: Vec<f32> = (0..height * width).map(value).collect();
    let scale = 1.0 / (length(cells.iter()) + TINY);
    for value in &mut cells {
        *value *= scale;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attacks::{Bounds, Norm};

    #[test]
    fn a_pyramid_falls_from_its_middle() {
        let cells = pyramid(3, 5);
        assert!((length(cells.iter()) - 1.0).abs() < 1e-6);
        let row = &cells[5..10];
        assert!(row[2] > row[1] && row[1] > row[0] && row[0] > 0.0);
        assert!((row[1] - row[3]).abs() < 1e-7 && (cells[2] - cells[12]).abs() < 1e-7);
    }

    #[test]
    fn two_pyramids_cancel_and_have_length_one() {
        let mut random = Random::new(3);
        let both = [pair(5, &mut random), pair(5, &mut random), pair(5, &mut random)];
        for cells in both {
            assert!((length(cells.iter()) - 1.0).abs() < 1e-6);
            assert!(cells.iter().any(|v| *v > 0.0) && cells.iter().any(|v| *v < 0.0));
        }
    }

    #[test]
    fn moved_mass_keeps_the_ball_full() {
        let ball = Ball::new(Norm::L2, 0.5, Bounds::default()).expect("a ball");
        let grid = Grid::of(&[2, 9, 9]);
        let mut random = Random::new(5);
        let x = vec![0.5f32; 2 * 81];
        let mut point = x.clone();
        let first = tiles(grid, &mut random);
        apply(&ball, &x, &first, &mut point);
        for _ in 0..50 {
            let change = moved(&ball, grid, 0.1, &x, &point, &mut random);
            assert!(length(change.iter()) < 0.5 * (1.0 + 1e-3), "{}", length(change.iter()));
            apply(&ball, &x, &change, &mut point);
            let far = Norm::L2.distance(&x, &point);
            assert!(far <= 0.5 && far > 0.499, "{far}");
        }
    }
}
