use ndarray::{ArrayD, IxDyn};

use super::*;

const ROWS: usize = 4;

/// A network of each kind of layer, with its loss.
fn networks() -> [(&'static str, Network, Loss); 4] {
    let mlp = Network::new(&[3]).dense(5).tanh().dense(4).layer_norm().gelu().dense(3);
    let convolutional = Network::new(&[2, 6, 6])
        .conv(3, 3)
        .relu()
        .average_pool(2)
        .conv_stride(4, 3, 2)
        .silu()
        .flatten()
        .dense(3);
    let residual = Network::new(&[2, 8, 8])
        .conv(4, 3)
        .group_norm(2)
        .residual(|n| n.conv_stride(6, 3, 2).softplus().conv(6, 3))
        .max_pool(2)
        .global_average()
        .dense(3);
    let images = Network::new(&[1, 4, 4]).conv(2, 3).average_pool(2).silu().enlarge(2).conv(1, 3);
    [
        ("mlp", mlp, Loss::CrossEntropy),
        ("convolutional", convolutional, Loss::CrossEntropy),
        ("residual", residual, Loss::CrossEntropy),
        ("images", images, Loss::Squares),
    ]
}

/// The formula that the golden file's script uses too.
fn wave(shape: &[usize], phase: f64, size: f64) -> ArrayD<f64> {
    let mut at = 0.0f64;
    ArrayD::from_shape_simple_fn(IxDyn(shape), || {
        let value = size * (0.7 * at + 0.1 * at * (at % 7.0) + phase).sin();
        at += 1.0;
        value
    })
}

fn batch(network: &Network, loss: Loss) -> Batch {
    let shape = [&[ROWS], network.sample_shape()].concat();
    let result = [&[ROWS], &network.result_shape().expect("a network")[..]].concat();
    let target = match loss {
        Loss::CrossEntropy => ArrayD::from_shape_fn(IxDyn(&result), |at| {
            f64::from(u8::from(at[0] % result[1] == at[1]))
        }),
        Loss::Squares => wave(&result, 0.3, 1.0),
    };
    Batch { input: wave(&shape, 0.5, 1.0).into(), target: target.into(), level: None }
}

fn weights(network: &Network) -> Vec<(String, Value)> {
    let parameters = network.parameters(0).expect("a network");
    let entries = parameters.iter().enumerate().map(|(number, (name, values))| {
        let around = if values.ndim() == 1 { 1.0 } else { 0.0 };
        (name.to_owned(), (wave(values.shape(), number as f64, 0.4) + around).into())
    });
    entries.collect()
}

#[test]
fn gradients_are_differences_of_losses() {
    for (name, network, loss) in networks() {
        let mut step = Step::compile(&network, loss, &Backend::REFERENCE, 1).expect("a graph");
        let (batch, mut weights) = (batch(&network, loss), weights(&network));
        let (_, gradients) = step.run(&batch, &weights).expect("a step");
        assert_eq!(gradients.len(), weights.len());
        let width = 1e-5;
        for number in 0..weights.len() {
            let count = gradients[number].len();
            for entry in (0..count).step_by(count.div_ceil(8)) {
                let mut at = |offset: f64| {
                    let Value::F64(values) = &mut weights[number].1 else { unreachable!() };
                    let slot = values.iter_mut().nth(entry).expect("an entry");
                    let kept = *slot;
                    *slot += offset;
                    let (loss, _) = step.run(&batch, &weights).expect("a step");
                    let Value::F64(values) = &mut weights[number].1 else { unreachable!() };
                    *values.iter_mut().nth(entry).expect("an entry") = kept;
                    loss
                };
                let slope = (at(width) - at(-width)) / (2.0 * width);
                let gradient = f64::from(*gradients[number].iter().nth(entry).expect("an entry"));
                assert!(
                    (slope - gradient).abs() < 1e-5 * (1.0 + slope.abs()),
                    "{name}, {}, entry {entry}: {gradient} for {slope}",
                    weights[number].0
                );
            }
        }
    }
}

/// Compares with `PyTorch`: `tests/fixtures/make_golden.py`.
fn agrees_with_pytorch(backend: &Backend, tolerance: f64) {
    let golden: serde_json::Value =
        serde_json::from_str(include_str!("../../tests/fixtures/golden.json")).expect("JSON");
    let number = |v: &serde_json::Value| v.as_f64().expect("a number");
    for (name, network, loss) in networks() {
        let golden = &golden[name];
        let mut step = Step::compile(&network, loss, backend, 2).expect("a graph");
        let weights = weights(&network);
        let (total, gradients) = step.run(&batch(&network, loss), &weights).expect("a step");
        let close = |got: f64, want: f64, what: &str| {
            let fits = (got - want).abs() < tolerance * (1.0 + want.abs());
            assert!(fits, "{name}, {what}: {got} for {want}");
        };
        close(total, number(&golden["loss"]), "the loss");
        assert_eq!(golden["norms"].as_array().map(Vec::len), Some(gradients.len()));
        for (at, gradient) in gradients.iter().enumerate() {
            let gradient = gradient.mapv(f64::from);
            let pattern = wave(gradient.shape(), 0.9, 1.0);
            let norm = gradient.mapv(|g| g * g).sum().sqrt();
            close(norm, number(&golden["norms"][at]), &weights[at].0);
            close((gradient * pattern).sum(), number(&golden["products"][at]), &weights[at].0);
        }
    }
}

#[test]
fn gradients_are_those_of_pytorch() {
    agrees_with_pytorch(&Backend::REFERENCE, 1e-6);
}

#[test]
fn the_embedded_engine_agrees_with_pytorch() {
    agrees_with_pytorch(&Backend::RTEN, 2e-5);
}

#[test]
fn a_layer_that_does_not_fit_is_named() {
    let network = Network::new(&[1, 4, 4]).conv(2, 3).dense(3);
    let error = network.parameters(0).expect_err("a misfit").to_string();
    assert!(error.contains("dense at position 1") && error.contains("flatten"), "{error}");
    let network = Network::new(&[1, 4, 4]).residual(super::super::network::Network::flatten);
    let error = network.parameters(0).expect_err("a misfit").to_string();
    assert!(error.contains("residual at position 0"), "{error}");
    assert!(Network::new(&[3]).dense(0).parameters(0).is_err());
    assert!(Network::new(&[1, 4, 4]).max_pool(5).parameters(0).is_err());
    assert!(Network::new(&[1, 4, 4]).conv_stride(1, 3, 0).parameters(0).is_err());
}
