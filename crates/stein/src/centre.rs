//! What is taken off residuals.

use std::{fmt, str::FromStr};

use ndarray::ArrayView2;
use taste_choice::Choice;
use taste_detector::Baseline;
use taste_stats::quantile::median;

use crate::{Error, names};

/// What is taken off residuals before they are joined: the switch of the paper's first algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Centre {
    /// Their means on held-out samples.
    #[default]
    Mean,
    /// Their medians there.
    Median,
    /// Nothing.
    None,
}

/// Every baseline.
pub const BASELINES: &[(Choice, Centre)] = &[
    (
        Choice { name: "mean", usage: "mean", about: "the mean residual of held-out samples" },
        Centre::Mean,
    ),
    (
        Choice {
            name: "median",
            usage: "median",
            about: "the median residual of held-out samples, which few extremes do not move",
        },
        Centre::Median,
    ),
    (
        Choice { name: "none", usage: "none", about: "nothing: residuals stay as they are" },
        Centre::None,
    ),
];

impl FromStr for Centre {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        names::read("baseline", BASELINES, text)
    }
}

impl fmt::Display for Centre {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(names::of(BASELINES, self))
    }
}

impl Centre {
    /// One number for every column, from how they varied and from some rows.
    pub(crate) fn of(self, baseline: &Baseline, rows: Option<ArrayView2<'_, f32>>) -> Vec<f64> {
        let columns = baseline.means.len();
        match (self, rows) {
            (Self::None, _) => vec![0.0; columns],
            (Self::Median, Some(rows)) => {
                let middle = |c: usize| {
                    let column: Vec<f64> = rows.column(c).iter().map(|&v| f64::from(v)).collect();
                    median(&column).unwrap_or(baseline.means[c])
                };
                (0..columns).map(middle).collect()
            }
            _ => baseline.means.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;

    use super::*;

    #[test]
    fn a_baseline_reads_what_it_writes_and_takes_what_it_says() {
        let rows = arr2(&[[1.0, -4.0], [2.0, 0.0], [9.0, 1.0]]);
        let varied = Baseline { means: vec![4.0, -1.0], ..Baseline::default() };
        for (text, want) in [("mean", [4.0, -1.0]), ("median", [2.0, 0.0]), ("none", [0.0, 0.0])] {
            let centre: Centre = text.parse().expect("a baseline");
            assert_eq!(centre.to_string(), text);
            assert_eq!(centre.of(&varied, Some(rows.view())), want);
        }
        let message = "meen".parse::<Centre>().expect_err("mistyped").to_string();
        assert!(message.contains("did you mean mean?"), "{message}");
    }
}
