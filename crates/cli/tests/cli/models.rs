//! Small models and data of a known distribution.

use ndarray::{Array2, ArrayD, Axis, Ix2, IxDyn};
use taste_onnx::{DimSpec, ElemType, builders, proto::GraphProto};
use taste_stats::random::Random;

use crate::common::Place;

/// A network of dense layers.
pub(crate) struct Network {
    /// Entries of the input, of every hidden layer and of the output.
    pub(crate) widths: &'static [usize],
    pub(crate) activation: &'static str,
    /// Whether a softmax comes last.
    pub(crate) softmax: bool,
    /// How many samples it takes at once, if that is fixed.
    pub(crate) batch: Option<i64>,
    /// Whether the file leaves the width of the input open.
    pub(crate) open: bool,
}

/// Four entries, three classes.
pub(crate) const CLASSIFIER: Network =
    Network { widths: &[4, 16, 3], activation: "Relu", softmax: false, batch: None, open: false };
/// Four entries, one number.
pub(crate) const REGRESSOR: Network =
    Network { widths: &[4, 16, 1], activation: "Tanh", ..CLASSIFIER };

impl Network {
    pub(crate) fn save(&self, place: &Place, name: &str) {
        let mut random = Random::new(1);
        let mut graph = GraphProto { name: "network".into(), ..GraphProto::default() };
        let mut value = "x".to_owned();
        let layers = self.widths.len() - 1;
        for i in 0..layers {
            let (from, to) = (self.widths[i], self.widths[i + 1]);
            let deviation = (1.5 / from as f64).sqrt();
            value = dense(&mut graph, &value, [from, to], deviation, &mut random);
            if i + 1 < layers {
                value = push(&mut graph, self.activation, &[&value]);
            }
        }
        if self.softmax {
            value = push(&mut graph, "Softmax", &[&value]);
        }
        let batch = self.batch.map_or(DimSpec::Symbol("N".into()), DimSpec::Fixed);
        let width = if self.open { DimSpec::Symbol("D".into()) } else { fixed(self.widths[0]) };
        graph.input = vec![builders::value_info("x", ElemType::F32, &[batch.clone(), width])];
        let width = fixed(self.widths[layers]);
        graph.output = vec![builders::value_info(&value, ElemType::F32, &[batch, width])];
        save(graph, place, name);
    }
}

/// A convolution, a `ReLU`, means over the image and a dense layer to three classes. Sides may stay open.
pub(crate) fn convolution(place: &Place, name: &str, sample: [usize; 3], open_sides: bool) {
    let mut random = Random::new(2);
    let mut graph = GraphProto { name: "convolution".into(), ..GraphProto::default() };
    let shape = [6, sample[0], 3, 3];
    let weights: Vec<f32> = (0..shape.iter().product()).map(|_| normal(&mut random, 0.5)).collect();
    graph.initializer.push(builders::tensor_f32("kernel", &shape, &weights));
    let value = push(&mut graph, "Conv", &["x", "kernel"]);
    let value = push(&mut graph, "Relu", &[&value]);
    let value = push(&mut graph, "GlobalAveragePool", &[&value]);
    let value = push(&mut graph, "Flatten", &[&value]);
    let value = dense(&mut graph, &value, [6, 3], 3.0, &mut random);
    let batch = DimSpec::Symbol("N".into());
    let side = |name: &str, size: usize| {
        if open_sides { DimSpec::Symbol(name.into()) } else { fixed(size) }
    };
    let dims = [batch.clone(), fixed(sample[0]), side("H", sample[1]), side("W", sample[2])];
    graph.input = vec![builders::value_info("x", ElemType::F32, &dims)];
    graph.output = vec![builders::value_info(&value, ElemType::F32, &[batch, fixed(3)])];
    save(graph, place, name);
}

fn fixed(size: usize) -> DimSpec {
    DimSpec::Fixed(i64::try_from(size).unwrap())
}

fn push(graph: &mut GraphProto, op: &str, inputs: &[&str]) -> String {
    let output = format!("v{}", graph.node.len());
    graph.node.push(builders::node(op, inputs, &[output.as_str()], ""));
    output
}

fn dense(
    graph: &mut GraphProto,
    x: &str,
    [from, to]: [usize; 2],
    deviation: f64,
    random: &mut Random,
) -> String {
    let i = graph.initializer.len();
    let (weights, biases) = (format!("w{i}"), format!("b{i}"));
    let mut draw = |n: usize, deviation: f64| -> Vec<f32> {
        (0..n).map(|_| normal(random, deviation)).collect()
    };
    let (w, b) = (draw(from * to, deviation), draw(to, 0.3));
    graph.initializer.push(builders::tensor_f32(&weights, &[from, to], &w));
    graph.initializer.push(builders::tensor_f32(&biases, &[to], &b));
    push(graph, "Gemm", &[x, &weights, &biases])
}

#[expect(clippy::cast_possible_truncation, reason = "models and data are single precision")]
fn normal(random: &mut Random, deviation: f64) -> f32 {
    (random.normal() * deviation) as f32
}

fn save(graph: GraphProto, place: &Place, name: &str) {
    taste_onnx::Model::new(builders::model(graph, 17)).save(&place.path(name)).unwrap();
}

/// Normal samples of four entries: correlated, of different scales, and moved by `shift` standard deviations.
pub(crate) fn samples(rows: usize, shift: f32, seed: u64) -> Array2<f32> {
    let mut random = Random::new(seed);
    let mut values = Array2::from_shape_fn((rows, 4), |_| normal(&mut random, 1.0) + shift);
    for mut row in values.axis_iter_mut(Axis(0)) {
        row[1] = 0.6 * row[0] + 0.8 * row[1];
        row[2] *= 0.5;
        row[3] = 1.0 + 1.5 * row[3];
    }
    values
}

/// Grey images in bytes: noise with a bright bar, upright or lying.
pub(crate) fn images(rows: usize, height: usize, width: usize, seed: u64) -> ArrayD<u8> {
    let mut random = Random::new(seed);
    let mut values = ArrayD::zeros(IxDyn(&[rows, height, width]));
    for mut image in values.axis_iter_mut(Axis(0)) {
        let (upright, at) = (random.below(2) == 0, random.below(height.min(width)));
        for ((y, x), v) in image.view_mut().into_dimensionality::<Ix2>().unwrap().indexed_iter_mut()
        {
            let bar = if (if upright { x } else { y }) == at { 120 } else { 0 };
            *v = u8::try_from(40 + random.below(60) + bar).unwrap();
        }
    }
    values
}

/// A place with `model.onnx`, `train.npy` and `new.npy`.
pub(crate) fn ready(model: &Network) -> Place {
    let place = Place::new();
    model.save(&place, "model.onnx");
    place.write("train.npy", &samples(500, 0.0, 3).into_dyn());
    place.write("new.npy", &samples(70, 0.0, 4).into_dyn());
    place
}

/// The same with `detector.onnx`.
pub(crate) fn fitted() -> Place {
    let place = ready(&CLASSIFIER);
    place.ok("fit --model model.onnx --score-model gaussian --data train.npy -o detector.onnx -q");
    place
}
