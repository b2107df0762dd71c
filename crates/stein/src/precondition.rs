//! Which units residuals are in.
//!
//! The plain operator Δf + s·∇f adds up derivatives by columns of different units, so that a change of units changes every
//! verdict. With a metric A it is tr(A∇²f) + sᵀA∇f, whose mean under p vanishes as well: A = diag σ² makes it the plain
//! operator of standardised columns, A = Cov that of whitened ones.

use std::{fmt, str::FromStr};

use ndarray::{Array1, Array2};
use taste_choice::Choice;
use taste_detector::{
    Described,
    passes::{Gather, Gathered, Of, Watch},
};
use taste_engine::Metric;
use taste_stats::linear;

use crate::{
    Error,
    fields::{Spread, shrink},
    names, refused,
};

/// The metric A of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// The variances of the entries; those that do not vary are left out.
    Diagonal,
    /// Their covariance.
    Full,
    /// The identity: the paper's.
    None,
}

/// Every metric.
pub const PRECONDITIONS: &[(Choice, Precondition)] = &[
    (
        Choice {
            name: "diagonal",
            usage: "diagonal",
            about: "each entry in its standard deviations: no change of units changes a score",
        },
        Precondition::Diagonal,
    ),
    (
        Choice {
            name: "full",
            usage: "full",
            about: "whitened by the covariance: no invertible linear change of the entries changes a score",
        },
        Precondition::Full,
    ),
    (
        Choice { name: "none", usage: "none", about: "entries as they are, as in the paper" },
        Precondition::None,
    ),
];

/// Samples of more entries have no full covariance.
const MOST_ENTRIES: usize = 4096;
/// The name that samples have in passes.
const SAMPLES: &str = "samples for the metric";

impl FromStr for Precondition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        names::read("precondition", PRECONDITIONS, text)
    }
}

impl fmt::Display for Precondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(names::of(PRECONDITIONS, self))
    }
}

impl Precondition {
    /// As asked for; by default diagonal for tables, whose columns have units of their own, and none for images.
    pub(crate) fn resolve(asked: Option<Self>, data: &Described) -> Result<Self, Error> {
        let is_table = data.sample_shape.len() == 1;
        let own = asked.unwrap_or(if is_table { Self::Diagonal } else { Self::None });
        if own == Self::Full && data.dimension() > MOST_ENTRIES {
            return Err(refused(format!(
                "{}: a full covariance of {} entries is too large for a metric (at most {MOST_ENTRIES}): use diagonal",
                data.name,
                data.dimension()
            )));
        }
        Ok(own)
    }

    /// Asks for what it is learnt from, unless it is among `watches` already. Then: the name that it is under, if
    /// anything is learnt.
    pub(crate) fn watch(self, watches: &mut Vec<Watch>) -> Option<String> {
        let gather = match self {
            Self::Diagonal => Gather::Moments,
            Self::Full => Gather::Covariance,
            Self::None => return None,
        };
        if let Some(same) = watches.iter().find(|w| w.of == Of::Input && w.gather == gather) {
            return Some(same.name.clone());
        }
        watches.push(Watch::input(SAMPLES, gather));
        Some(SAMPLES.to_owned())
    }

    /// The metric.
    pub(crate) fn learn(
        self,
        seen: &Gathered,
        name: &str,
        data: &Described,
    ) -> Result<Metric, Error> {
        match self {
            Self::None => Ok(Metric::default()),
            Self::Diagonal => {
                let moments = seen.moments(name)?;
                let mean = Array1::from(moments.mean().unwrap_or_default().to_vec());
                let variances = Array1::from(moments.variance().unwrap_or_default());
                let spread = spread(&variances, &mean, data)?;
                Ok(Metric::diagonal(roots(&spread).to_vec()))
            }
            Self::Full => {
                let covariance = seen.covariance(name)?;
                let matrix = covariance.matrix().unwrap_or_default();
                let spread = spread(&matrix.diag().to_owned(), &covariance.mean(), data)?;
                whitening(&matrix, &spread, seen.used()).ok_or_else(|| {
                    refused(format!("{}: the covariance of the samples has no root", data.name))
                })
            }
        }
    }
}

fn spread(variances: &Array1<f64>, mean: &Array1<f64>, data: &Described) -> Result<Spread, Error> {
    Spread::new(variances, mean).ok_or_else(|| {
        refused(format!(
            "{}: all samples are equal, so there are no deviations to measure entries in",
            data.name
        ))
    })
}

/// Standard deviations, 0 where nothing varies.
fn roots(spread: &Spread) -> Array1<f64> {
    let mut roots = spread.deviations();
    for &i in &spread.constant {
        roots[i] = 0.0;
    }
    roots
}

/// R = D·C^½ for the standard deviations D and the shrunk correlations C: units go into D alone.
fn whitening(covariance: &Array2<f64>, spread: &Spread, count: usize) -> Option<Metric> {
    let (mut correlations, _) = shrink(covariance, spread, count, None);
    let deviations = spread.deviations();
    for ((i, j), c) in correlations.indexed_iter_mut() {
        *c /= deviations[i] * deviations[j];
    }
    correlations.diag_mut().fill(1.0);
    let mut root = linear::inner_products(&correlations, &linear::inverse_root(&correlations)?);
    for (mut row, scale) in root.rows_mut().into_iter().zip(&roots(spread)) {
        row *= *scale;
    }
    Some(Metric::full(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_precondition_reads_what_it_writes() {
        for (choice, entry) in PRECONDITIONS {
            assert_eq!(choice.name.parse::<Precondition>().expect("an entry"), *entry);
            assert_eq!(entry.to_string(), choice.name);
        }
        let message = "diag".parse::<Precondition>().expect_err("cut off").to_string();
        assert!(message.contains("diagonal"), "{message}");
    }

    #[test]
    fn tables_have_units_and_images_have_not() {
        let of = |sample_shape: Vec<usize>| Described { sample_shape, ..Described::default() };
        let resolve = |asked, shape: &[usize]| Precondition::resolve(asked, &of(shape.to_vec()));
        assert_eq!(resolve(None, &[4]).expect("a table"), Precondition::Diagonal);
        assert_eq!(resolve(None, &[1, 4, 4]).expect("images"), Precondition::None);
        let full = Some(Precondition::Full);
        assert_eq!(resolve(full, &[4096]).expect("few entries"), Precondition::Full);
        let message = resolve(full, &[4097]).expect_err("too many").to_string();
        assert!(message.contains("4097 entries"), "{message}");
    }
}
