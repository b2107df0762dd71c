//! The reference interpreter: every node in double precision, one after the other.

use std::collections::HashMap;

use crate::{Dim, Graph, Id, OpError, Tensor, algebra::Input, graph::downcast};

impl Graph {
    /// Computes `ends` for a batch of `batch`, given a tensor for every input they need.
    pub fn eval(
        &self,
        ends: &[Id],
        feeds: &HashMap<Id, Tensor>,
        batch: usize,
    ) -> Result<Vec<Tensor>, OpError> {
        let stops: Vec<Id> = feeds.keys().copied().collect();
        let order = self.ancestors(ends, &stops);
        let mut uses: HashMap<Id, usize> = HashMap::new();
        for arg in order.iter().flat_map(|&n| &self.nodes()[n].args).chain(ends) {
            *uses.entry(*arg).or_default() += 1;
        }
        let mut values = feeds.clone();
        for n in order {
            let node = &self.nodes()[n];
            if downcast::<Input>(&*node.op).is_some() && values.contains_key(&node.outs[0]) {
                continue;
            }
            let args: Vec<Tensor> = node.args.iter().map(|a| values[a].clone()).collect();
            let op = node.op.with_batch(Dim::fixed(batch)).unwrap_or_else(|| node.op.clone());
            let results = op.eval(&args).map_err(|e| {
                OpError::invalid(format!("{}: {e}", node.label.as_deref().unwrap_or(op.name())))
            })?;
            values.extend(node.outs.iter().copied().zip(results));
            for arg in &node.args {
                if let Some(left) = uses.get_mut(arg) {
                    *left -= 1;
                    if *left == 0 && !feeds.contains_key(arg) {
                        values.remove(arg);
                    }
                }
            }
        }
        Ok(ends.iter().map(|e| values[e].clone()).collect())
    }
}
