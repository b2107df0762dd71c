//! The nearest point of a hyperplane within the box.

use super::{Bounds, Norm, ball::narrow};

/// Steps of Newton's method: each passes a kink, and few are ever needed.
const MOST_STEPS: usize = 200;

/// The smallest change δ of a point, by its norm, with w·δ = −`residual` and the changed point in the box; if there is none, the
/// change within the box that comes nearest to it. `residual` is w·x − b for the plane w·x = b.
///
/// The solution moves every entry against the slope, by min(λ, room) for the largest change and by min(λ·|w|, room) for the sum of
/// squares, where room is how far the box lets it. What that does to w·x is a concave function of λ with kinks, and Newton's
/// method from below reaches its root in finitely many steps.
pub(super) fn nearest(
    norm: Norm,
    bounds: &Bounds,
    point: &[f32],
    w: &[f32],
    residual: f64,
    change: &mut [f32],
) {
    let way = if residual >= 0.0 { -1.0 } else { 1.0 };
    let wanted = residual.abs();
    // How far the box lets an entry go.
    let room = |entry: usize| -> f64 {
        let (low, high) = bounds.of(entry);
        let value = f64::from(point[entry]);
        let up = way * f64::from(w[entry]) > 0.0;
        (if up { f64::from(high) - value } else { value - f64::from(low) }).max(0.0)
    };
    let speed = |slope: f64| match norm {
        Norm::Linf => 1.0,
        Norm::L2 => slope,
    };
    let mut lambda = 0.0;
    let mut reachable = true;
    for _ in 0..MOST_STEPS {
        let (mut reached, mut rate) = (0.0, 0.0);
        for (entry, slope) in w.iter().enumerate() {
            let slope = f64::from(*slope).abs();
            let (goes, room) = (speed(slope), room(entry));
            if lambda * goes < room {
                reached += slope * lambda * goes;
                rate += slope * goes;
            } else {
                reached += slope * room;
            }
        }
        let short = wanted - reached;
        if short <= wanted * 1e-14 {
            break;
        }
        if rate <= 0.0 {
            reachable = false;
            break;
        }
        let next = lambda + short / rate;
        if next <= lambda {
            break;
        }
        lambda = next;
    }
    for (entry, (change, slope)) in change.iter_mut().zip(w).enumerate() {
        let slope = f64::from(*slope);
        let far = room(entry);
        let length = if reachable { far.min(lambda * speed(slope.abs())) } else { far };
        *change = if slope == 0.0 { 0.0 } else { narrow(way * slope.signum() * length) };
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, proptest};

    use super::*;

    fn solve(norm: Norm, x: &[f32], w: &[f32], b: f64) -> Vec<f64> {
        let mut change = vec![0.0; x.len()];
        let residual = dot(w, x) - b;
        nearest(norm, &Bounds::default(), x, w, residual, &mut change);
        change.into_iter().map(f64::from).collect()
    }

    fn dot(w: &[f32], x: &[f32]) -> f64 {
        w.iter().zip(x).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    fn size(norm: Norm, change: &[f64]) -> f64 {
        match norm {
            Norm::Linf => change.iter().fold(0.0, |m: f64, c| m.max(c.abs())),
            Norm::L2 => change.iter().map(|c| c * c).sum::<f64>().sqrt(),
        }
    }

    #[test]
    fn a_plane_that_the_box_does_not_reach_is_come_nearest_to() {
        for norm in [Norm::Linf, Norm::L2] {
            let change = solve(norm, &[0.25, 0.5], &[1.0, -1.0], 5.0);
            assert_eq!(change, [0.75, -0.5], "{norm}");
            assert_eq!(solve(norm, &[0.25, 0.5], &[0.0, 0.0], 5.0), [0.0, 0.0]);
        }
    }

    #[test]
    fn a_point_of_the_plane_stays() {
        assert_eq!(solve(Norm::L2, &[0.25, 0.5], &[2.0, 1.0], 1.0), [0.0, 0.0]);
    }

    proptest! {
        #[test]
        fn the_plane_is_met_inside_the_box_and_no_shorter_change_does(
            x in prop::collection::vec(0.0f32..=1.0, 2..12),
            w in prop::collection::vec(-2.0f32..2.0, 12),
            other in prop::collection::vec(0.0f32..=1.0, 12),
            tries in prop::collection::vec(prop::collection::vec(-1.0f64..1.0, 12), 60),
        ) {
            let w = &w[..x.len()];
            let norm_of_w = w.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
            prop_assume!(norm_of_w > 0.1);
            // A plane through another point of the box can be reached.
            let b = dot(w, &other[..x.len()]);
            for norm in [Norm::Linf, Norm::L2] {
                let change = solve(norm, &x, w, b);
                let there: Vec<f64> = x.iter().zip(&change).map(|(a, c)| f64::from(*a) + c).collect();
                let met: f64 = w.iter().zip(&there).map(|(a, v)| f64::from(*a) * v).sum();
                prop_assert!((met - b).abs() < 1e-5, "{norm}: {met} for {b}");
                prop_assert!(there.iter().all(|v| (-1e-6..=1.0 + 1e-6).contains(v)));
                // Any other point of plane and box is as far at least: the other point, and mixtures of the two that are
                // moved along the plane as far as the box allows.
                for direction in &tries {
                    let d = &direction[..x.len()];
                    let along: f64 = w.iter().zip(d).map(|(a, v)| f64::from(*a) * v).sum();
                    let flat: Vec<f64> = d.iter().zip(w).map(|(v, a)| v - along * f64::from(*a) / norm_of_w.powi(2)).collect();
                    let fits = |t: f64| there.iter().zip(&flat).all(|(v, f)| (0.0..=1.0).contains(&(v + t * f)));
                    for t in [1e-3, 1e-2, 0.1, 0.5].into_iter().filter(|t| fits(*t)) {
                        let moved: Vec<f64> = change.iter().zip(&flat).map(|(c, f)| c + t * f).collect();
                        prop_assert!(size(norm, &moved) >= size(norm, &change) - 1e-5, "{norm}");
                    }
                }
            }
        }

        #[test]
        fn the_length_is_that_of_a_search_by_halves(
            x in prop::collection::vec(0.0f32..=1.0, 1..30),
            w in prop::collection::vec(-2.0f32..2.0, 30),
            share in 0.01f64..0.99,
        ) {
            let w = &w[..x.len()];
            // Downwards: every entry goes to the side that lowers w·x.
            let room: Vec<f64> = x.iter().zip(w).map(|(v, s)| f64::from(if *s > 0.0 { *v } else { 1.0 - *v })).collect();
            let most: f64 = room.iter().zip(w).map(|(r, s)| r * f64::from(s.abs())).sum();
            prop_assume!(most > 1e-2);
            let residual = share * most;
            for norm in [Norm::Linf, Norm::L2] {
                let moved = |lambda: f64| -> f64 {
                    room.iter().zip(w).map(|(r, s)| {
                        let s = f64::from(s.abs());
                        s * r.min(lambda * if norm == Norm::L2 { s } else { 1.0 })
                    }).sum()
                };
                let (mut low, mut high) = (0.0, 1e6);
                for _ in 0..200 {
                    let middle = 0.5 * (low + high);
                    if moved(middle) < residual { low = middle } else { high = middle }
                }
                let mut change = vec![0.0; x.len()];
                nearest(norm, &Bounds::default(), &x, w, residual, &mut change);
                for (i, c) in change.iter().enumerate().filter(|(i, _)| w[*i] != 0.0) {
                    let s = f64::from(w[i].abs());
                    let wanted = room[i].min(high * if norm == Norm::L2 { s } else { 1.0 });
                    prop_assert!((f64::from(c.abs()) - wanted).abs() < 1e-5, "{norm} {i}: {c} for {wanted}");
                }
            }
        }
    }
}
