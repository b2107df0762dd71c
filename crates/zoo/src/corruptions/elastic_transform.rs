use taste_stats::random::Random;

use super::{
    Act, Corruption, Picture, Suite,
    picture::{Border, Plane, between, gaussian, mapped, size},
};

/// How far pixels move, how smoothly, and how far the corners of the whole do, in shares of the picture's size.
const WAVES: [(f64, f64, f64); 5] =
    [(0.0, 0.0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03)];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "elastic-transform",
    "a sheet that is pulled and waved (Hendrycks and Dietterich 2019, after Simard 2003)",
    Graded(|picture, level, random| {
        let (height, width) = size(picture);
        let side = height.min(width) as f64;
        let (far, smooth, pull) = WAVES[level];
        let pulled = pulled(picture, pull * side, random);
        let mut moves = || -> Plane {
            let noise = Plane::from_shape_simple_fn((height, width), || between(-1.0, 1.0, random));
            gaussian(&noise, smooth * side, 3.0, Border::Reflect) * (far * side)
        };
        let (right, down) = (moves(), moves());
        mapped(&pulled, Border::Reflect, |y, x| (y as f64 + down[[y, x]], x as f64 + right[[y, x]]))
    })
);

/// Three points about the middle are moved by up to `pull` pixels, and all others follow.
fn pulled(picture: &Picture, pull: f64, random: &mut Random) -> Picture {
    let (height, width) = size(picture);
    let (middle_y, middle_x) = ((height / 2) as f64, (width / 2) as f64);
    let third = (height.min(width) / 3) as f64;
    let before = [
        [middle_x + third, middle_y + third],
        [middle_x + third, middle_y - third],
        [middle_x - third, middle_y - third],
    ];
    let mut after = before;
    for v in after.iter_mut().flatten() {
        *v += between(-pull, pull, random);
    }
    // A place after the change is q₀ + s·(q₁ − q₀) + t·(q₂ − q₁), and was at the same s and t before.
    let [q0, q1, q2] = after;
    let (a, b) = ([q1[0] - q0[0], q1[1] - q0[1]], [q2[0] - q1[0], q2[1] - q1[1]]);
    let area = a[0] * b[1] - a[1] * b[0];
    let area = if area.abs() < 1e-9 { 1e-9 } else { area };
    mapped(picture, Border::Mirror, |y, x| {
        let (dx, dy) = (x as f64 - q0[0], y as f64 - q0[1]);
        let (s, t) = ((dx * b[1] - dy * b[0]) / area, (a[0] * dy - a[1] * dx) / area);
        let at = |c: usize| {
            before[0][c] + s * (before[1][c] - before[0][c]) + t * (before[2][c] - before[1][c])
        };
        (at(1), at(0))
    })
}
