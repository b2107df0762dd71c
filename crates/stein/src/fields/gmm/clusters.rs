//! Clusters to start from: k-means from the seeds of k-means++ (Arthur and Vassilvitskii 2007).

use ndarray::{Array1, Array2, Axis};

use taste_stats::{linear, random::Random};

/// Standardised entries are cut here, so that rare extremes don't become clusters of their own.
const CUT: f64 = 4.0;
const STEPS: usize = 30;
/// The best of so many seedings is kept.
const SEEDINGS: usize = 5;

/// The cluster of every row.
pub(super) fn clusters(rows: &Array2<f64>, k: usize, random: &mut Random) -> Vec<usize> {
    if k == 1 {
        return vec![0; rows.nrows()];
    }
    let rows = rows.mapv(|v| v.clamp(-CUT, CUT));
    let squares = rows.map_axis(Axis(1), |r| r.dot(&r));
    let mut best: Option<(f64, Vec<usize>)> = None;
    for _ in 0..SEEDINGS {
        let found = lloyd(&rows, &squares, seeds(&rows, &squares, k, random));
        if best.as_ref().is_none_or(|b| found.0 < b.0) {
            best = Some(found);
        }
    }
    best.map_or_else(|| vec![0; rows.nrows()], |b| b.1)
}

/// Squared distances of every row to every centre.
fn distances(rows: &Array2<f64>, squares: &Array1<f64>, centres: &Array2<f64>) -> Array2<f64> {
    let mut distances = linear::inner_products(rows, centres) * -2.0;
    distances += &centres.map_axis(Axis(1), |c| c.dot(&c));
    distances += &squares.view().insert_axis(Axis(1));
    distances.mapv_into(|d| d.max(0.0))
}

/// Centres drawn one by one, by their squared distance to the nearest one so far.
fn seeds(rows: &Array2<f64>, squares: &Array1<f64>, k: usize, random: &mut Random) -> Array2<f64> {
    let mut centres = Array2::zeros((k, rows.ncols()));
    let mut nearest = Array1::from_elem(rows.nrows(), 1.0);
    for c in 0..k {
        let chosen = random.position(nearest.iter().copied());
        centres.row_mut(c).assign(&rows.row(chosen));
        let own = rows.select(Axis(0), &[chosen]);
        let to_chosen = distances(rows, squares, &own).remove_axis(Axis(1));
        if c == 0 {
            nearest = to_chosen;
        } else {
            nearest.zip_mut_with(&to_chosen, |n, d| *n = n.min(*d));
        }
    }
    centres
}

/// Assigns and averages in turn: the sum of squared distances, and the cluster of every row.
fn lloyd(rows: &Array2<f64>, squares: &Array1<f64>, mut centres: Array2<f64>) -> (f64, Vec<usize>) {
    let mut labels = vec![usize::MAX; rows.nrows()];
    let mut total = f64::INFINITY;
    for _ in 0..STEPS {
        let distances = distances(rows, squares, &centres);
        let mut changed = false;
        total = 0.0;
        for (label, row) in labels.iter_mut().zip(distances.rows()) {
            let (nearest, distance) = row
                .iter()
                .copied()
                .enumerate()
                .fold((0, f64::INFINITY), |best, d| if d.1 < best.1 { d } else { best });
            changed |= *label != nearest;
            *label = nearest;
            total += distance;
        }
        if !changed {
            break;
        }
        let mut sums = Array2::<f64>::zeros(centres.raw_dim());
        let mut counts = vec![0usize; centres.nrows()];
        for (row, &label) in rows.rows().into_iter().zip(&labels) {
            sums.row_mut(label).scaled_add(1.0, &row);
            counts[label] += 1;
        }
        for (c, &count) in counts.iter().enumerate().filter(|c| *c.1 > 0) {
            centres.row_mut(c).assign(&(&sums.row(c) / count as f64));
        }
    }
    (total, labels)
}
