//! Two nodes are one if their operators and arguments are equal, and only then.

use ndarray::{ArrayD, IxDyn};
use taste_graph::{
    Build, Calculus, Concrete, Dim, Emitter, Fact, Graph, Id, Lift, Op, OpError, Tensor,
    algebra::Constant, take,
};

/// x + attribute, where the attribute is whatever has a debug form.
macro_rules! offset {
    ($name:ident, $attribute:ty) => {
        #[derive(Debug)]
        pub(crate) struct $name(pub(crate) $attribute);

        impl Op for $name {
            fn name(&self) -> &'static str {
                "Offset"
            }

            fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
                take::<1, _>(args).map(|[x]| vec![x.clone()])
            }

            fn eval(&self, _args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
                Err(OpError::invalid(format!("{:?}: only identity matters", self.0)))
            }

            fn calculus(&self) -> Calculus<'_> {
                Calculus::Constant
            }

            fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
                Lift::Broadcast
            }

            fn write(
                &self,
                _e: &mut Emitter<'_>,
                _args: &[String],
            ) -> Result<Vec<String>, OpError> {
                Err(OpError::invalid(format!("{:?}: only identity matters", self.0)))
            }
        }
    };
}

offset!(Table, ArrayD<f64>);
offset!(Number, f64);

/// Another type of the same name, as another crate may have one.
mod elsewhere {
    use super::*;
    offset!(Number, f64);
}

fn start() -> (Graph, Id) {
    let mut graph = Graph::new();
    let x = graph.input("x", Fact::float(vec![Dim::BATCH, Dim::fixed(3)]));
    (graph, x)
}

/// Zeros with one other value in the middle.
fn table(value: f64) -> ArrayD<f64> {
    let mut table = ArrayD::zeros(IxDyn(&[40, 40]));
    table[[20, 20]] = value;
    table
}

#[test]
fn large_arrays_that_differ_in_one_element_are_two_operators() {
    let (mut graph, x) = start();
    let mut b = Build::new(&mut graph);
    let one = b.push(Table(table(1.0)), &[x]).expect("pushes");
    let other = b.push(Table(table(2.0)), &[x]).expect("pushes");
    let again = b.push(Table(table(1.0)), &[x]).expect("pushes");
    assert_ne!(one, other);
    assert_eq!(one, again);
}

#[test]
fn types_of_the_same_name_are_two_operators() {
    let (mut graph, x) = start();
    let mut b = Build::new(&mut graph);
    let here = b.push(Number(1.0), &[x]).expect("pushes");
    let there = b.push(elsewhere::Number(1.0), &[x]).expect("pushes");
    assert_ne!(here, there);
}

#[test]
fn numbers_that_differ_in_the_last_bit_or_the_sign_of_zero_are_two_operators() {
    let (mut graph, x) = start();
    let mut b = Build::new(&mut graph);
    let mut push = |value: f64| b.push(Number(value), &[x]).expect("pushes");
    let numbers = [0.1 + 0.2, 0.3, 0.0, -0.0].map(&mut push);
    assert_eq!(push(0.3), numbers[1]);
    let mut distinct = numbers.to_vec();
    distinct.dedup();
    assert_eq!(distinct.len(), 4);
}

#[test]
fn constants_that_are_pushed_are_compared_by_their_elements() {
    let mut graph = Graph::new();
    let [one, other, again] = [1.0, 2.0, 1.0].map(|value| {
        Build::new(&mut graph).push(Constant(table(value).into()), &[]).expect("pushes")
    });
    assert_ne!(one, other);
    assert_eq!(one, again);
    assert_eq!(graph.constant(table(2.0).into()), other);
}
