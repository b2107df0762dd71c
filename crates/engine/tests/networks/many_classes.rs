//! All classes at once, where there are many.

use ndarray::Array2;
use taste_engine::{Error, ErrorKind, LaplacianMethod, Model, Request, Target, Wants};

use crate::common::{matrix, model, node, noise};

fn network(hidden: usize, classes: usize) -> Model {
    let weights = [noise(5, hidden, 1), noise(hidden, classes, 2)];
    let nodes = vec![
        node("MatMul", &["x", "a"], "h"),
        node("Relu", &["h"], "r"),
        node("MatMul", &["r", "b"], "y"),
    ];
    let [a, b]: [Array2<f32>; 2] = weights;
    model(nodes, vec![matrix("a", &a), matrix("b", &b)], 5, classes)
}

fn method(model: &Model, target: Target, asked: LaplacianMethod) -> Result<String, Error> {
    let wants = Wants { laplacian: true, ..Wants::default() };
    let target = Some(target);
    let request = Request { target, laplacian_method: asked, wants, ..Request::default() };
    Ok(model.derive(&request)?.laplacian_method().to_string())
}

#[test]
fn every_class_is_derived_by_the_closed_form_if_that_is_bounded() {
    let many = network(8, 300);
    let auto = LaplacianMethod::AUTO;
    assert_eq!(method(&many, Target::every_prob(), auto).expect("derived"), "closed-form");
    assert_eq!(method(&many, Target::prob(None), auto).expect("derived"), "probe:16");
}

#[test]
fn an_estimate_of_one_class_says_what_gives_all() {
    let probe = LaplacianMethod::probe(4);
    let refused = [
        method(&network(8, 300), Target::every_prob(), probe),
        // Half a gigabyte is not taken without being asked.
        method(&network(400_000, 130), Target::every_prob(), LaplacianMethod::AUTO),
    ];
    for (error, message) in refused.into_iter().map(|r| r.expect_err("one class")).zip([
        "the Laplacians of all 300 classes are asked for, and probe:4 estimates that of one: closed-form computes all \
         of them",
        "the Laplacians of all 130 classes are asked for, and probe:16 estimates that of one: closed-form computes all \
         of them",
    ]) {
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::EveryClass, message));
    }
}
