use std::collections::HashSet;

use crate::Model;

impl Model {
    /// The model with some of its outputs only, and with nothing that those do not need. Subgraphs count as
    /// needing every name that occurs in them.
    #[must_use]
    pub fn with_outputs(&self, names: &[&str]) -> Self {
        let mut model = self.clone();
        let Some(graph) = &mut model.proto.graph else { return model };
        graph.output.retain(|o| names.contains(&o.name.as_str()));
        let mut needed: HashSet<String> = graph.output.iter().map(|o| o.name.clone()).collect();
        let mut kept = Vec::with_capacity(graph.node.len());
        for node in std::mem::take(&mut graph.node).into_iter().rev() {
            if node.output.iter().any(|o| needed.contains(o)) {
                needed.extend(node.input.iter().cloned());
                for inner in node.attribute.iter().filter_map(|a| a.g.as_deref()) {
                    inner.node.iter().for_each(|n| needed.extend(n.input.iter().cloned()));
                    needed.extend(inner.output.iter().map(|o| o.name.clone()));
                }
                kept.push(node);
            }
        }
        kept.reverse();
        graph.node = kept;
        graph.initializer.retain(|t| needed.contains(&t.name));
        model
    }
}

#[cfg(test)]
mod tests {
    use crate::{DimSpec, ElemType, Model, builders, proto::GraphProto};

    #[test]
    fn what_the_remaining_outputs_do_not_need_is_gone() {
        let dims = [DimSpec::Fixed(2)];
        let info = |name: &str| builders::value_info(name, ElemType::F32, &dims);
        let graph = GraphProto {
            node: vec![
                builders::node("Mul", &["x", "two"], &["y"], "mul"),
                builders::node("Add", &["y", "one"], &["z"], "add"),
                builders::node("Neg", &["y"], &["w"], "neg"),
            ],
            initializer: vec![
                builders::tensor_f32("one", &[], &[1.0]),
                builders::tensor_f32("two", &[], &[2.0]),
            ],
            input: vec![info("x")],
            output: vec![info("z"), info("w")],
            ..GraphProto::default()
        };
        let model = Model::new(builders::model(graph, 17)).with_outputs(&["w"]);
        let graph = model.proto.graph.unwrap_or_default();
        let names: Vec<&str> = graph.node.iter().map(|n| n.name.as_str()).collect();
        assert_eq!(names, ["mul", "neg"]);
        assert_eq!(graph.initializer.len(), 1);
        assert_eq!(graph.output.len(), 1);
    }
}
