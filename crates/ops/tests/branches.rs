//! Branches whose condition is known when a model is read.

use std::collections::HashMap;

use ndarray::arr1;
use taste_graph::Tensor;
use taste_onnx::{
    DimSpec, ElemType, Model, builders,
    proto::{AttributeProto, AttributeType, GraphProto, NodeProto},
};
use taste_ops::{ImportError, Imported, import};

const UNKNOWN: &str = "its condition is not known for every input and every batch size";

fn branch(name: &str, nodes: Vec<NodeProto>, out: &str) -> AttributeProto {
    let graph = GraphProto {
        name: name.to_owned(),
        node: nodes,
        initializer: vec![builders::tensor_f32("w", &[], &[3.0])],
        output: vec![builders::value_info(out, ElemType::F32, &[])],
        ..Default::default()
    };
    AttributeProto {
        name: name.to_owned(),
        r#type: AttributeType::Graph.into(),
        g: Some(Box::new(graph)),
        ..Default::default()
    }
}

/// y = 3 · 2x if the condition holds and 2x + 3 otherwise, where 2x is computed for the branches alone.
fn choice(condition: &str, out: &str) -> NodeProto {
    let node = |op: &str| vec![builders::node(op, &["double", "w"], &["inner"], op)];
    let mut choice = builders::node("If", &[condition], &[out], out);
    choice.attribute = vec![
        branch("then_branch", node("Mul"), "inner"),
        branch("else_branch", node("Add"), "inner"),
    ];
    choice
}

fn read(conditions: [&str; 2]) -> Result<Imported, ImportError> {
    let x = builders::value_info("x", ElemType::F32, &[DimSpec::Symbol("N".into())]);
    let flag = builders::value_info("flag", ElemType::Bool, &[DimSpec::Fixed(1)]);
    let mut as_bool = builders::node("Cast", &["beyond"], &["not four"], "not four");
    as_bool.attribute = vec![builders::attr_int("to", 9)];
    let graph = GraphProto {
        name: "choices".to_owned(),
        node: vec![
            choice(conditions[0], "a"),
            choice(conditions[1], "b"),
            builders::node("Sub", &["a", "b"], &["y"], "y"),
            builders::node("Add", &["x", "x"], &["double"], "double"),
            builders::node("Shape", &["x"], &["size"], "size"),
            builders::node("Equal", &["size", "one"], &["single"], "single"),
            builders::node("Equal", &["size", "four"], &["are four"], "are four"),
            builders::node("Greater", &["size", "none"], &["some"], "some"),
            builders::node("Sub", &["size", "four"], &["beyond"], "beyond"),
            as_bool,
            builders::node("Div", &["size", "size"], &["unit"], "unit"),
            builders::node("Equal", &["unit", "four"], &["never"], "never"),
        ],
        initializer: vec![
            builders::tensor_bool("yes", &[], &[true]),
            builders::tensor_bool("no", &[1], &[false]),
            builders::tensor_i64("none", &[1], &[0]),
            builders::tensor_i64("one", &[1], &[1]),
            builders::tensor_i64("four", &[1], &[4]),
        ],
        input: vec![x, flag],
        output: vec![builders::value_info("y", ElemType::F32, &[DimSpec::Symbol("N".into())])],
        ..Default::default()
    };
    import(&Model::new(builders::model(graph, 17)), &[], &HashMap::new())
}

#[test]
fn the_chosen_branch_sees_the_names_around_it() {
    let Imported { graph, inputs, outputs, .. } = read(["yes", "no"]).expect("imports");
    let feeds = HashMap::from([(inputs[0].1, Tensor::from(arr1(&[1.0, -2.0]).into_dyn()))]);
    let y = graph.eval(&[outputs[0].1], &feeds, 2).expect("evaluates");
    assert_eq!(y[0], Tensor::from(arr1(&[6.0 - 5.0, -12.0 + 1.0]).into_dyn()));
}

#[test]
fn a_condition_that_holds_for_every_batch_size_is_known() {
    for batch in [1, 2, 4] {
        let Imported { graph, inputs, outputs, .. } = read(["some", "never"]).expect("imports");
        let x = Tensor::floats(&[batch], vec![1.0; batch]).expect("ones");
        let y = graph.eval(&[outputs[0].1], &HashMap::from([(inputs[0].1, x)]), batch);
        assert_eq!(
            y.expect("evaluates")[0],
            Tensor::floats(&[batch], vec![1.0; batch]).expect("ones")
        );
    }
}

/// A batch of one, and one of four, takes the other branch than a large one.
#[test]
fn a_condition_that_some_batch_size_changes_is_a_problem_of_its_node() {
    for condition in ["single", "are four", "not four"] {
        let Err(ImportError::Nodes(problems)) = read([condition, "yes"]) else {
            panic!("{condition}: a choice that depends on the batch size");
        };
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert_eq!([problem.node.as_str(), problem.reason.as_str()], ["a", UNKNOWN]);
    }
}

#[test]
fn a_condition_that_is_computed_is_a_problem_of_its_node() {
    let Err(ImportError::Nodes(problems)) = read(["yes", "flag"]) else {
        panic!("a choice that depends on an input");
    };
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    assert_eq!([problem.node.as_str(), problem.op.as_str()], ["b", "If"]);
    assert_eq!(problem.reason, UNKNOWN);
}
