//! Ranks in bins: a bet is flat on each.

/// Ranks in the first bin. A bet on fewer would cost its normaliser more than it wins, as the share of samples beyond the
/// largest calibration score is known least.
const FIRST: usize = 5;

/// Bins of the ranks 1 to n + 1: narrow where ranks are small, nowhere wider than a fiftieth of them all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bins {
    /// The last rank of every bin, after a zero.
    edges: Vec<usize>,
}

impl Bins {
    pub(super) fn new(samples: usize) -> Self {
        let all = samples + 1;
        let mut edges = vec![0, FIRST.min(all)];
        let mut last = FIRST.min(all);
        while last < all {
            last = all.min(last + (3 * last / 20 + 1).min(all / 50 + 1));
            edges.push(last);
        }
        Self { edges }
    }

    /// All ranks: n + 1.
    pub(super) fn ranks(&self) -> usize {
        self.edges.last().copied().unwrap_or(0)
    }

    /// The bin of a rank from 1 on; ranks beyond the last are in the last.
    pub(super) fn of(&self, rank: usize) -> usize {
        let rank = rank.clamp(1, self.ranks());
        self.edges.partition_point(|&edge| edge < rank) - 1
    }

    /// How many ranks every bin holds.
    pub(super) fn widths(&self) -> Vec<f64> {
        self.edges.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect()
    }

    /// The edges as shares of all ranks, from 0 to 1.
    pub(super) fn shares(&self) -> impl Iterator<Item = f64> + '_ {
        let all = self.ranks() as f64;
        self.edges.iter().map(move |&edge| edge as f64 / all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_narrow_where_it_counts() {
        let bins = Bins::new(1000);
        assert_eq!(bins.edges.len(), 64);
        assert_eq!(bins.edges[..9], [0, 5, 6, 7, 9, 11, 13, 15, 18]);
        assert_eq!(bins.edges[62..], [992, 1001]);
        assert_eq!([1, 5, 6, 1001, 4000].map(|rank| bins.of(rank)), [0, 0, 1, 62, 62]);
        for n in [19, 100, 5000] {
            let bins = Bins::new(n);
            assert!((bins.widths().iter().sum::<f64>() - (n + 1) as f64).abs() < 0.5);
            assert!((1..=n + 1).all(|rank| {
                let bin = bins.of(rank);
                bins.edges[bin] < rank && rank <= bins.edges[bin + 1]
            }));
        }
    }
}
