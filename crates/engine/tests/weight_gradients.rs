//! Gradients in the weights of convolutions, as engines run them.

use ndarray::{ArrayD, IxDyn};
use taste_engine::{Backend, Value};
use taste_graph::{
    Build, Dim, Fact, Graph,
    diff::{Derivatives, vjp},
};
use taste_ops::layers;

const BATCH: usize = 3;

fn noise(shape: &[usize], mut seed: u64) -> ArrayD<f32> {
    ArrayD::from_shape_simple_fn(IxDyn(shape), || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    })
}

struct Case {
    inputs: usize,
    outputs: usize,
    size: Vec<usize>,
    kernel: Vec<usize>,
    stride: usize,
    pad: usize,
}

/// ∂⟨c, conv(x, w)⟩/∂w on the engine and in double precision.
fn agrees(case: &Case) {
    let Case { inputs, outputs, size, kernel, stride, pad } = case;
    let mut graph = Graph::new();
    let samples = |channels: usize, size: &[usize]| {
        let rest = size.iter().map(|&s| Dim::from(s));
        Fact::float([Dim::BATCH, Dim::from(channels)].into_iter().chain(rest).collect())
    };
    let weights = [&[*outputs, *inputs], &kernel[..]].concat();
    let x = graph.input("x", samples(*inputs, size));
    let w = graph.input("w", Fact::float(weights.iter().map(|&s| Dim::from(s)).collect()));
    let y = layers::convolve(&mut Build::new(&mut graph), x, w, *stride, *pad).expect("fits");
    let result: Vec<usize> = graph.fact(y).shape.iter().map(|d| d.at(BATCH)).collect();
    let c = graph.input("c", graph.fact(y).clone());
    let gradients = vjp(&mut Build::new(&mut graph), &Derivatives::from([(y, c)]), &[w]);
    let gradient = gradients.expect("derived")[0].expect("depends on the weights");
    let outputs = [("gradient".to_owned(), gradient)];
    let feeds = [
        ("x", noise(&[&[BATCH, *inputs], &size[..]].concat(), 1)),
        ("w", noise(&weights, 2)),
        ("c", noise(&result, 3)),
    ]
    .map(|(name, array)| (name, Value::F32(array)));
    let feeds: Vec<(&str, &Value)> = feeds.iter().map(|(name, value)| (*name, value)).collect();
    let [got, want] = [Backend::RTEN, Backend::REFERENCE].map(|backend| {
        let session = backend.compile(&graph, &outputs, 1).expect("compiled");
        session.run(&feeds).expect("runs")[0].to_f64()
    });
    assert_eq!(got.shape(), weights);
    let largest = want.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let off = (&got - &want).iter().fold(0.0f64, |m, v| m.max(v.abs()));
    assert!(off < 1e-5 * largest, "{weights:?} on {size:?}, {stride}, {pad}: off by {off}");
}

#[test]
fn in_all_geometries() {
    // Few channels, many, fewer results than inputs; kernels that are not square; one axis.
    for (inputs, outputs) in [(1, 3), (3, 20), (20, 3), (20, 18), (18, 20), (6, 6)] {
        for (size, kernel) in [
            (vec![7, 6], vec![3, 3]),
            (vec![7, 6], vec![1, 1]),
            (vec![8, 5], vec![2, 4]),
            (vec![11], vec![5]),
        ] {
            for stride in [1, 2, 3] {
                for pad in [0, 1, 2] {
                    let (size, kernel) = (size.clone(), kernel.clone());
                    agrees(&Case { inputs, outputs, size, kernel, stride, pad });
                }
            }
        }
    }
}
