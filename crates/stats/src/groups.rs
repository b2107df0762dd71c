//! Means of rows by group, in double precision and mergeable.

use serde::{Deserialize, Serialize};

use crate::{Error, error::refused};

/// How many rows of every group were seen, and their mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupMeans {
    width: usize,
    groups: Vec<Group>,
    /// Rows without a group, and the smallest number that is none.
    without: u64,
    stray: Option<i64>,
}

/// A group that no row was seen of takes no memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Group {
    count: u64,
    mean: Vec<f64>,
}

impl GroupMeans {
    /// Of the groups 0 to `groups` and rows of `width` entries, none seen so far.
    pub fn new(groups: usize, width: usize) -> Self {
        Self { width, groups: vec![Group::default(); groups], without: 0, stray: None }
    }

    /// Adds a row, which is finite, to its group. A row without a group, or with one that is not there, is counted apart.
    pub fn push(&mut self, group: Option<i64>, row: &[f32]) -> Result<(), Error> {
        if row.len() != self.width {
            let got = row.len();
            return Err(refused(format!(
                "rows of {} entries were wanted, but one has {got}",
                self.width
            )));
        }
        let Some(number) = group else {
            self.without += 1;
            return Ok(());
        };
        let found = usize::try_from(number).ok().and_then(|g| self.groups.get_mut(g));
        let Some(group) = found else {
            self.stray = Some(self.stray.map_or(number, |s| s.min(number)));
            return Ok(());
        };
        group.join(1, row.iter().map(|&v| f64::from(v)));
        Ok(())
    }

    /// Adds what others have seen.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        if (self.width, self.groups.len()) != (other.width, other.groups.len()) {
            return Err(refused("means of different groups"));
        }
        for (own, new) in self.groups.iter_mut().zip(&other.groups) {
            own.join(new.count, new.mean.iter().copied());
        }
        self.without += other.without;
        self.stray = [self.stray, other.stray].into_iter().flatten().min();
        Ok(())
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Rows of a group.
    pub fn count(&self, group: usize) -> u64 {
        self.groups.get(group).map_or(0, |g| g.count)
    }

    /// The mean of a group; none without rows.
    pub fn mean(&self, group: usize) -> Option<&[f64]> {
        self.groups.get(group).filter(|g| g.count > 0).map(|g| &*g.mean)
    }

    /// The first group that no row was seen of.
    pub fn absent(&self) -> Option<usize> {
        self.groups.iter().position(|g| g.count == 0)
    }

    /// Rows without a group.
    pub fn without(&self) -> u64 {
        self.without
    }

    /// The smallest number of a row that is none of a group.
    pub fn stray(&self) -> Option<i64> {
        self.stray
    }
}

impl Group {
    fn join(&mut self, count: u64, mean: impl Iterator<Item = f64>) {
        if count == 0 {
            return;
        }
        self.count += count;
        if self.mean.is_empty() {
            self.mean = mean.collect();
            return;
        }
        let share = count as f64 / self.count as f64;
        self.mean.iter_mut().zip(mean).for_each(|(own, new)| *own += share * (new - *own));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_merge_to_the_whole_and_strays_are_named() {
        let rows: Vec<(Option<i64>, [f32; 2])> =
            (0..60i16).map(|i| (Some(i64::from(i % 3)), [f32::from(i), 1.0])).collect();
        let of = |rows: &[(Option<i64>, [f32; 2])]| {
            let mut means = GroupMeans::new(4, 2);
            for (group, row) in rows {
                means.push(*group, row).expect("fits");
            }
            means
        };
        let mut parts = of(&rows[..17]);
        parts.merge(&of(&rows[17..])).expect("fits");
        let whole = of(&rows);
        for group in 0..3usize {
            let exact = (0..20).map(|i| (group + 3 * i) as f64).sum::<f64>() / 20.0;
            for means in [&parts, &whole] {
                let found = means.mean(group).expect("rows");
                assert!((found[0] - exact).abs() < 1e-12 && (found[1] - 1.0).abs() < 1e-12);
                assert_eq!(means.count(group), 20);
            }
        }
        assert_eq!((whole.absent(), whole.mean(3)), (Some(3), None));
        let odd = of(&[(Some(7), [0.0; 2]), (Some(-1), [0.0; 2]), (None, [0.0; 2])]);
        assert_eq!((odd.stray(), odd.without()), (Some(-1), 1));
        assert!(whole.clone().push(Some(0), &[0.0]).is_err());
        assert!(whole.clone().merge(&GroupMeans::new(3, 2)).is_err());
    }
}
