//! Random points to start from.

use ndarray::Array2;
use taste_stats::random::Random;

use super::{Norm, Task, ball::narrow, task::each_row};

/// What random numbers are drawn for.
const INSIDE: u64 = 1;
const SURFACE: u64 = 2;

/// Keeps quotients finite.
const TINY: f64 = 1e-12;

/// A uniform point of the ball around every sample, clipped to the box; for L2 the distance is uniform, too.
pub(super) fn inside(task: &Task<'_>) -> Array2<f32> {
    moved(task, INSIDE, |random, norm, change| match norm {
        Norm::Linf => cube(random, change),
        Norm::L2 => {
            direction(random, change);
            scale(change, random.uniform());
        }
    })
}

/// A random point of the ball's surface around every sample, clipped to the box. `number` tells several apart.
pub(super) fn surface(task: &Task<'_>, number: u64) -> Array2<f32> {
    moved(task, SURFACE + number, |random, norm, change| match norm {
        Norm::Linf => {
            cube(random, change);
            let most = change.iter().fold(0.0f64, |most, c| most.max(c.abs()));
            scale(change, 1.0 / most.max(TINY));
        }
        Norm::L2 => direction(random, change),
    })
}

fn moved(
    task: &Task<'_>,
    purpose: u64,
    draw: impl Fn(&mut Random, Norm, &mut [f64]) + Send + Sync,
) -> Array2<f32> {
    let ball = task.ball;
    let mut points = task.x.clone();
    each_row(&mut points, |i, point| {
        let mut change = vec![0.0; point.len()];
        draw(&mut task.random(i, purpose), ball.norm(), &mut change);
        for (value, change) in point.iter_mut().zip(change) {
            *value = narrow(f64::from(*value) + ball.eps() * change);
        }
        ball.project(task.row(i), point);
    });
    points
}

/// A uniform direction of length 1.
fn direction(random: &mut Random, change: &mut [f64]) {
    for entry in &mut *change {
        *entry = random.normal();
    }
    let length = change.iter().map(|c| c * c).sum::<f64>().sqrt();
    scale(change, 1.0 / length.max(TINY));
}

/// Entries from −1 to 1.
fn cube(random: &mut Random, change: &mut [f64]) {
    for entry in change {
        *entry = 2.0 * random.uniform() - 1.0;
    }
}

fn scale(change: &mut [f64], factor: f64) {
    for entry in change {
        *entry *= factor;
    }
}
