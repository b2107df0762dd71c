//! Formulas with the usual signs.

use std::{
    cell::RefCell,
    ops::{Add, Mul, Neg, Sub},
};

use crate::{Build, Id, OpError};

impl Build<'_> {
    /// Builds a formula of values and numbers.
    ///
    /// ```
    /// use taste_graph::{Build, Dim, Fact, Graph};
    ///
    /// let mut graph = Graph::new();
    /// let [x, y, z] = ["x", "y", "z"].map(|n| graph.input(n, Fact::float(vec![Dim::BATCH])));
    /// let mut b = Build::new(&mut graph);
    /// let formula = b.formula([x, y, z], |[x, y, z]| 2.0 * x * y - z.square())?;
    ///
    /// // The same, step by step.
    /// let twice = b.scale(x, 2.0)?;
    /// let product = b.mul(twice, y)?;
    /// let square = b.square(z)?;
    /// assert_eq!(b.sub(product, square)?, formula);
    /// # Ok::<(), taste_graph::OpError>(())
    /// ```
    pub fn formula<const K: usize>(
        &mut self,
        values: [Id; K],
        write: impl for<'s> FnOnce([Term<'s>; K]) -> Term<'s>,
    ) -> Result<Id, OpError> {
        let sheet = Formula { build: RefCell::new(self), problem: RefCell::new(None) };
        let result = write(values.map(|id| Term { id, sheet: &sheet })).id;
        match sheet.problem.into_inner() {
            Some(problem) => Err(problem),
            None => Ok(result),
        }
    }
}

/// A value in a formula. Products and sums of terms add nodes; the first that fails makes the whole formula fail.
#[derive(Clone, Copy)]
pub struct Term<'s> {
    id: Id,
    sheet: &'s dyn Sheet,
}

impl Term<'_> {
    /// The square.
    #[must_use]
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method itself is of one lifetime"
    )]
    pub fn square(self) -> Self {
        self.then(|b, x| b.square(x))
    }

    /// The sum over axes, which stay with size 1.
    #[must_use]
    pub fn sum(self, axes: &[usize]) -> Self {
        self.then(|b, x| b.sum(x, axes))
    }

    /// Any function of the value, as `x.then(functions::exp)`.
    #[must_use]
    pub fn then(self, function: impl FnOnce(&mut Build<'_>, Id) -> Result<Id, OpError>) -> Self {
        let (id, mut function) = (self.id, Some(function));
        let mut push = |b: &mut Build<'_>| match function.take() {
            Some(function) => function(b, id),
            None => Ok(id),
        };
        Self { id: self.sheet.push(id, &mut push), ..self }
    }
}

/// What formulas are written on: adds a node, or keeps the problem and gives back another value.
trait Sheet {
    fn push(
        &self,
        otherwise: Id,
        push: &mut dyn FnMut(&mut Build<'_>) -> Result<Id, OpError>,
    ) -> Id;
}

struct Formula<'b, 'g> {
    build: RefCell<&'b mut Build<'g>>,
    problem: RefCell<Option<OpError>>,
}

impl Sheet for Formula<'_, '_> {
    fn push(
        &self,
        otherwise: Id,
        push: &mut dyn FnMut(&mut Build<'_>) -> Result<Id, OpError>,
    ) -> Id {
        if self.problem.borrow().is_some() {
            return otherwise;
        }
        let pushed = match self.build.try_borrow_mut() {
            Ok(mut build) => push(&mut build),
            Err(_) => Err(OpError::invalid("a term of a formula inside a function of another")),
        };
        pushed.unwrap_or_else(|problem| {
            *self.problem.borrow_mut() = Some(problem);
            otherwise
        })
    }
}

impl Neg for Term<'_> {
    type Output = Self;

    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method itself is of one lifetime"
    )]
    fn neg(self) -> Self {
        self.then(|b, x| b.neg(x))
    }
}

/// A sign between two terms, and between a term and a number on either side.
macro_rules! sign {
    ($sign:ident, $name:ident, |$b:ident, $x:ident, $y:ident| $terms:expr, $right:expr, $left:expr) => {
        impl<'s> $sign for Term<'s> {
            type Output = Self;

            fn $name(self, other: Self) -> Self {
                let $y = other.id;
                self.then(|$b, $x| $terms)
            }
        }

        impl<'s> $sign<f64> for Term<'s> {
            type Output = Self;

            fn $name(self, $y: f64) -> Self {
                self.then(|$b, $x| $right)
            }
        }

        impl<'s> $sign<Term<'s>> for f64 {
            type Output = Term<'s>;

            fn $name(self, term: Term<'s>) -> Term<'s> {
                let $y = self;
                term.then(|$b, $x| $left)
            }
        }
    };
}

sign!(Add, add, |b, x, y| b.add(x, y), b.offset(x, y), b.offset(x, y));
sign!(Sub, sub, |b, x, y| b.sub(x, y), b.offset(x, -y), b.from_offset(y, x));
sign!(Mul, mul, |b, x, y| b.mul(x, y), b.scale(x, y), b.scale(x, y));

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::{Dim, Fact, Graph, Tensor};

    #[test]
    fn signs_mean_what_they_say() {
        let mut graph = Graph::new();
        let fact = || Fact::float(vec![Dim::BATCH]);
        let (x, y) = (graph.input("x", fact()), graph.input("y", fact()));
        let mut b = Build::new(&mut graph);
        let formulas = [
            b.formula([x, y], |[x, y]| x + y * 2.0 - 1.0),
            b.formula([x, y], |[x, y]| 3.0 - x * (y - x)),
            b.formula([x], |[x]| -(2.0 * x + 0.5).square()),
            b.formula([x, y], |[x, y]| (1.0 + x * y).sum(&[0])),
            b.formula([x], |[x]| x.then(|b, x| b.offset(x, 7.0)) - 7.0),
        ]
        .map(|f| f.expect("builds"));
        let one = |v: f64| Tensor::floats(&[1], vec![v]).expect("one value");
        let feeds = HashMap::from([(x, one(1.5)), (y, one(-4.0))]);
        let values = graph.eval(&formulas, &feeds, 1).expect("evaluates");
        assert_eq!(values, [-7.5, 11.25, -12.25, -5.0, 1.5].map(one));
    }

    #[test]
    fn the_first_problem_is_the_formulas() {
        let mut graph = Graph::new();
        let x = graph.input("x", Fact::float(vec![Dim::from(2)]));
        let y = graph.input("y", Fact::float(vec![Dim::from(3)]));
        let mut b = Build::new(&mut graph);
        let wanted = b.add(x, y).expect_err("2 and 3 do not broadcast");
        assert_eq!(b.formula([x, y], |[x, y]| (x + y) * (x - y)), Err(wanted));
        let nested = b.formula([x], |[x]| x.then(|_, _| Ok((x + x).id)));
        assert!(nested.is_err_and(|e| e.to_string().contains("inside a function of another")));
    }
}
