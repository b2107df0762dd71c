//! Adding one graph to another.

use std::collections::HashMap;

use crate::{
    Dim, Fact, Graph, Id, OpError,
    algebra::{Input, ShapeOf},
    graph::downcast,
};

/// A value of a graph in place of an argument of another one, if there is one: of a node, at a position.
pub type Instead<'a> = dyn FnMut(&mut Graph, usize, usize) -> Result<Option<Id>, OpError> + 'a;

impl Graph {
    /// Adds what `outputs` of another graph need, with values of this graph in place of its inputs, and returns
    /// what the outputs are here. The other graph's batch becomes whatever the values say, say 3·N.
    pub fn absorb(
        &mut self,
        other: &Self,
        bind: &[(Id, Id)],
        outputs: &[Id],
    ) -> Result<Vec<Id>, OpError> {
        self.absorb_with(other, bind, outputs, &mut |_, _, _| Ok(None))
    }

    /// [`Self::absorb`], with values of this graph in place of single arguments too: `instead` is asked for each node and
    /// position.
    pub fn absorb_with(
        &mut self,
        other: &Self,
        bind: &[(Id, Id)],
        outputs: &[Id],
        instead: &mut Instead<'_>,
    ) -> Result<Vec<Id>, OpError> {
        let batch = self.bound_batch(other, bind)?;
        self.count_stored(other.stored_len());
        let mut here: HashMap<Id, Id> = bind.iter().copied().collect();
        let bound: Vec<Id> = bind.iter().map(|b| b.0).collect();
        for n in other.ancestors(outputs, &bound) {
            let node = &other.nodes()[n];
            let args = node.args.iter().enumerate();
            let args: Vec<Id> = args
                .map(|(position, a)| Ok(instead(self, n, position)?.unwrap_or(here[a])))
                .collect::<Result<_, OpError>>()?;
            self.set_label(node.label.as_deref());
            let results = if let Some(input) = downcast::<Input>(&*node.op) {
                Err(OpError::invalid(format!("nothing is bound to input {:?}", input.name)))
            } else if let Some(tensor) = other.as_constant(node.outs[0]) {
                Ok(vec![self.constant(tensor.clone())])
            } else if downcast::<ShapeOf>(&*node.op).is_some() {
                self.shape_of(args[0]).map(|shape| vec![shape])
            } else {
                let op = node.op.with_batch(batch).unwrap_or_else(|| node.op.clone());
                self.push(op, &args)
            };
            self.set_label(None);
            let results = results.map_err(|cause| match &node.label {
                Some(label) => OpError::invalid(format!("node {label:?}: {cause}")),
                None => cause,
            })?;
            here.extend(node.outs.iter().copied().zip(results));
        }
        Ok(outputs.iter().map(|o| here[o]).collect())
    }

    /// What the batch of `other` is here, if the values that are bound fit its inputs.
    fn bound_batch(&self, other: &Self, bind: &[(Id, Id)]) -> Result<Dim, OpError> {
        let facts = || bind.iter().map(|&(input, value)| (other.fact(input), self.fact(value)));
        let batch = facts()
            .flat_map(|(want, got)| want.shape.iter().zip(&got.shape))
            .find_map(|(want, got)| (*want == Dim::BATCH).then_some(*got))
            .unwrap_or(Dim::BATCH);
        for (want, got) in facts() {
            let shape = want.shape.iter().map(|d| d.with_batch(batch)).collect();
            let want = Fact { dtype: want.dtype, shape };
            if want != *got {
                return Err(OpError::Shape {
                    what: "a value in place of an input",
                    want: want.to_string(),
                    got: got.to_string(),
                });
            }
        }
        Ok(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Build, Tensor};

    /// (x + x summed over the columns) · w for x: N × 2.
    fn small() -> (Graph, [Id; 3]) {
        let mut graph = Graph::new();
        let x = graph.input("x", Fact::float(vec![Dim::BATCH, Dim::from(2)]));
        let w = graph.input("w", Fact::float(vec![]));
        let mut b = Build::new(&mut graph);
        let sum = b.sum(x, &[1]).expect("a sum");
        let spread = b.expand(sum, &[Dim::BATCH, Dim::from(2)]).expect("spread");
        let moved = b.add(x, spread).expect("a sum");
        let y = b.mul(moved, w).expect("a product");
        (graph, [x, w, y])
    }

    #[test]
    fn a_graph_within_a_graph_gives_the_same_values_for_a_batch_of_another_size() {
        let (other, [x, w, y]) = small();
        let mut host = Graph::new();
        let u = host.input("u", Fact::float(vec![Dim::BATCH, Dim::from(4)]));
        let doubled = Dim { per_batch: 2, fixed: 0 };
        let rows = Build::new(&mut host).reshape(u, &[doubled, Dim::from(2)]).expect("reshaped");
        let three = host.constant(Tensor::scalar(3.0));
        let out = host.absorb(&other, &[(x, rows), (w, three)], &[y]).expect("absorbed")[0];
        assert_eq!(host.fact(out).shape, [doubled, Dim::from(2)]);
        let values = Tensor::floats(&[1, 4], vec![1.0, 2.0, 5.0, -1.0]).expect("4 values");
        let results = host.eval(&[out], &HashMap::from([(u, values)]), 1).expect("runs");
        let want = Tensor::floats(&[2, 2], vec![12.0, 15.0, 27.0, 9.0]).expect("4 values");
        assert_eq!(results[0], want);
    }

    #[test]
    fn misfits_are_errors_that_say_what_was_wanted() {
        let (other, [x, w, y]) = small();
        let mut host = Graph::new();
        let u = host.input("u", Fact::float(vec![Dim::BATCH, Dim::from(3)]));
        let one = host.constant(Tensor::scalar(1.0));
        let message = host.absorb(&other, &[(x, u), (w, one)], &[y]).expect_err("3 for 2");
        assert!(message.to_string().contains("wanted float[N×2], got float[N×3]"), "{message}");
        let v = host.input("v", Fact::float(vec![Dim::BATCH, Dim::from(2)]));
        let message = host.absorb(&other, &[(x, v)], &[y]).expect_err("w is missing");
        assert!(message.to_string().contains("nothing is bound to input \"w\""), "{message}");
    }
}
