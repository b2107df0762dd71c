//! The border of a set of entries.

use crate::drawing::Point;

/// The edges between entries that are in a set and entries that are not, as lines between the corners of
/// entries (column, row), neighbours on one line joined.
pub(super) fn outline(
    height: usize,
    width: usize,
    inside: impl Fn(usize, usize) -> bool,
) -> Vec<[Point; 2]> {
    let holds = |r: Option<usize>, c: Option<usize>| match (r, c) {
        (Some(r), Some(c)) => r < height && c < width && inside(r, c),
        _ => false,
    };
    let mut lines = Vec::new();
    for r in 0..=height {
        let edges = (0..width).map(|c| holds(r.checked_sub(1), Some(c)) != holds(Some(r), Some(c)));
        for (from, to) in runs(edges) {
            lines.push([[from as f64, r as f64], [to as f64, r as f64]]);
        }
    }
    for c in 0..=width {
        let edges =
            (0..height).map(|r| holds(Some(r), c.checked_sub(1)) != holds(Some(r), Some(c)));
        for (from, to) in runs(edges) {
            lines.push([[c as f64, from as f64], [c as f64, to as f64]]);
        }
    }
    lines
}

/// Where runs of `true` begin and end.
fn runs(flags: impl Iterator<Item = bool>) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (i, _) in flags.enumerate().filter(|f| f.1) {
        match runs.last_mut() {
            Some(run) if run.1 == i => run.1 = i + 1,
            _ => runs.push((i, i + 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_four_sides_and_the_rim_of_the_matrix_counts() {
        let lines = outline(4, 5, |r, c| (1..3).contains(&r) && c >= 3);
        let mut sides = vec![
            [[3.0, 1.0], [5.0, 1.0]],
            [[3.0, 3.0], [5.0, 3.0]],
            [[3.0, 1.0], [3.0, 3.0]],
            [[5.0, 1.0], [5.0, 3.0]],
        ];
        sides.retain(|s| !lines.contains(s));
        assert!(sides.is_empty() && lines.len() == 4, "{lines:?}");
        assert!(outline(4, 5, |_, _| false).is_empty());
        assert!(outline(0, 0, |_, _| true).is_empty());
    }
}
