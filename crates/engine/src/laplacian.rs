//! Ways to compute a Laplacian, or the diagonal of a Hessian, by name.

use std::{fmt, panic::RefUnwindSafe, str::FromStr, sync::Arc};

use taste_choice::{Arguments, Choice, Entry, pick};

use crate::{
    Error, Parts,
    derive::{Job, LAPLACIAN_METHODS, Problem, Schedule, first_that_suits},
};

/// A way to compute a Laplacian, as an entry of [`LAPLACIAN_METHODS`].
pub struct LaplacianKind {
    /// How users write it.
    pub choice: Choice,
    pub(crate) rule: &'static dyn Rule,
}

impl Entry for LaplacianKind {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

/// How far a result may be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accuracy {
    /// Exact but for rounding.
    Exact,
    /// Something is left out.
    Biased,
    /// An unbiased estimate, the mean of so many draws.
    Random {
        /// Draws that a standard error can be computed from.
        draws: usize,
    },
}

/// What makes a method: when it applies, what it costs, and the graph that it builds. `count` is the number behind the
/// colon of its name.
pub(crate) trait Rule: Sync + RefUnwindSafe {
    /// Reads what stands behind the name.
    fn read(&self, _arguments: &mut Arguments<'_>) -> Result<Option<usize>, taste_choice::Error> {
        Ok(None)
    }

    /// How far its results may be trusted.
    fn accuracy(&self, _count: Option<usize>) -> Accuracy {
        Accuracy::Exact
    }

    /// Whether it rests on logits that are piecewise affine in the input.
    fn needs_affine_body(&self) -> bool {
        false
    }

    /// Counts to show for an output of some width when someone asks which methods apply.
    fn examples(&self, _width: usize) -> Vec<Option<usize>> {
        vec![None]
    }

    /// What it costs, in words.
    fn cost(&self, p: &Problem, count: Option<usize>) -> String;

    /// With which count and for what reason it is the one to take, if no earlier one in the table is.
    fn suits(&self, _p: &Problem) -> Option<(Option<usize>, String)> {
        None
    }

    /// Why it does not apply.
    fn obstacle(&self, _p: &Problem, _count: Option<usize>) -> Option<String> {
        None
    }

    /// Adds second derivatives, and the gradient if it is wanted, to the graph and to `parts`.
    fn build(
        &self,
        p: &mut Problem,
        job: &Job,
        count: Option<usize>,
        parts: &mut Parts,
    ) -> Result<Arc<dyn Schedule>, Error>;
}

/// A way to compute a Laplacian or a Hessian's diagonal.
#[derive(Clone, Copy)]
pub struct LaplacianMethod {
    kind: &'static LaplacianKind,
    count: Option<usize>,
}

impl LaplacianMethod {
    pub(crate) const fn new(kind: &'static LaplacianKind, count: Option<usize>) -> Self {
        Self { kind, count }
    }

    /// Its entry in the table.
    pub fn kind(self) -> &'static LaplacianKind {
        self.kind
    }

    /// The number behind the colon: classes that are kept, probes or products.
    pub fn count(self) -> Option<usize> {
        self.count
    }

    /// How far its results may be trusted.
    pub fn accuracy(self) -> Accuracy {
        self.kind.rule.accuracy(self.count)
    }

    /// Whether the result is an estimate with a standard error.
    pub fn is_stochastic(self) -> bool {
        matches!(self.accuracy(), Accuracy::Random { .. })
    }

    /// Whether it rests on logits that are piecewise affine in the input.
    pub fn needs_affine_body(self) -> bool {
        self.kind.rule.needs_affine_body()
    }

    /// The method for a model, and why: itself, or what `auto` picks.
    pub(crate) fn resolve(self, p: &Problem) -> (Self, String) {
        if self == Self::AUTO { first_that_suits(p) } else { (self, "asked for".to_owned()) }
    }
}

/// At least 1 and of a size that a graph can have.
pub(crate) const COUNT: &str = "a number of at least 1";

/// Whether a number is a count.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "arguments are checked by reference")]
pub(crate) fn is_count(count: &usize) -> bool {
    (1..=1_000_000).contains(count)
}

impl Default for LaplacianMethod {
    fn default() -> Self {
        Self::AUTO
    }
}

impl PartialEq for LaplacianMethod {
    fn eq(&self, other: &Self) -> bool {
        self.kind.choice.name == other.kind.choice.name && self.count == other.count
    }
}

impl Eq for LaplacianMethod {}

impl FromStr for LaplacianMethod {
    type Err = taste_choice::Error;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let (kind, mut arguments) = pick("Laplacian method", LAPLACIAN_METHODS, s)?;
        let count = kind.rule.read(&mut arguments)?;
        arguments.finish()?;
        Ok(Self { kind, count })
    }
}

impl fmt::Display for LaplacianMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            Some(count) => write!(f, "{}:{count}", self.kind.choice.name),
            None => f.write_str(self.kind.choice.name),
        }
    }
}

impl fmt::Debug for LaplacianMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LaplacianMethod({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for name in [
            "auto",
            "exact",
            "closed-form",
            "closed-form:3",
            "probe:2",
            "hutchinson:5",
            "hutchpp:9",
        ] {
            assert_eq!(name.parse::<LaplacianMethod>().map(|m| m.to_string()).as_deref(), Ok(name));
        }
        for name in ["", "hutchinson:0", "hutchpp:10", "probe:x", "exact:2", "closed-form:-1"] {
            assert!(name.parse::<LaplacianMethod>().is_err(), "{name}");
        }
    }

    #[test]
    fn every_entry_is_read_without_a_number_and_written_so_that_it_is_read_again() {
        for kind in LAPLACIAN_METHODS {
            let plain: LaplacianMethod = kind.choice.name.parse().expect("a method");
            assert_eq!(plain.kind.choice, kind.choice);
            assert_eq!(plain.to_string().parse(), Ok(plain));
            assert!(kind.choice.usage.starts_with(kind.choice.name));
        }
        let message = "hutchison".parse::<LaplacianMethod>().expect_err("unknown").to_string();
        assert!(message.contains("did you mean hutchinson?"), "{message}");
    }

    #[test]
    fn a_name_without_a_number_means_what_it_always_did() {
        let read = |text: &str| text.parse::<LaplacianMethod>();
        assert_eq!(read("probe"), Ok(LaplacianMethod::probe(2)));
        assert_eq!(read("hutchinson"), Ok(LaplacianMethod::hutchinson(16)));
        assert_eq!(read("hutchpp"), Ok(LaplacianMethod::hutchpp(30)));
    }
}
