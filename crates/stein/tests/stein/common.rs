//! Small models and data for the tests.

use ndarray::{ArrayD, IxDyn};
use taste_data::{InMemory, Samples};
use taste_engine::Model;
use taste_graph::{Build, Id};
use taste_onnx::{DimSpec, ElemType, builders, proto::GraphProto};
use taste_stein::{
    Error,
    score::{ScoreModel, Specification},
    stats::random::Random,
};

#[expect(clippy::cast_possible_truncation, reason = "models and samples are single precision")]
fn single(value: f64) -> f32 {
    value as f32
}

/// A network of dense layers; the last one has no activation.
pub(crate) fn network(widths: &[usize], activation: &str, seed: u64) -> Model {
    let mut random = Random::new(seed);
    let mut graph = GraphProto { name: "network".into(), ..GraphProto::default() };
    let mut current = "x".to_owned();
    for (i, pair) in widths.windows(2).enumerate() {
        let [from, to] = *pair else { continue };
        let scale = (1.5 / from as f64).sqrt();
        let draw = |random: &mut Random, n: usize, scale: f64| -> Vec<f32> {
            (0..n).map(|_| single(random.normal() * scale)).collect()
        };
        let (w, b) = (format!("w{i}"), format!("b{i}"));
        graph.initializer.push(builders::tensor_f32(
            &w,
            &[from, to],
            &draw(&mut random, from * to, scale),
        ));
        graph.initializer.push(builders::tensor_f32(&b, &[to], &draw(&mut random, to, 0.3)));
        let out = format!("z{i}");
        graph.node.push(builders::node("Gemm", &[&current, &w, &b], &[&out], &format!("dense{i}")));
        current = out;
        if i + 2 < widths.len() {
            let out = format!("h{i}");
            graph.node.push(builders::node(activation, &[&current], &[&out], &format!("act{i}")));
            current = out;
        }
    }
    let batch = DimSpec::Symbol("N".into());
    let dims = |n: usize| [batch.clone(), DimSpec::Fixed(n as i64)];
    graph.input.push(builders::value_info("x", ElemType::F32, &dims(widths[0])));
    graph.output.push(builders::value_info(
        &current,
        ElemType::F32,
        &dims(widths[widths.len() - 1]),
    ));
    Model::from_onnx("network.onnx", taste_onnx::Model::new(builders::model(graph, 20)))
}

/// Standard normal samples, moved by `shift` in every entry.
pub(crate) fn normal(rows: usize, dimension: usize, shift: f64, seed: u64) -> InMemory {
    let mut random = Random::new(seed);
    let values = (0..rows * dimension).map(|_| single(random.normal() + shift)).collect();
    let array =
        ArrayD::from_shape_vec(IxDyn(&[rows, dimension]), values).expect("rows × dimension");
    InMemory::new("normal", array)
}

/// s(y) = −factor · y: the score of a standard normal, if the factor is 1.
#[derive(Debug)]
pub(crate) struct Scaled(pub(crate) f64);

impl ScoreModel for Scaled {
    fn describe(&self) -> serde_json::Value {
        serde_json::json!({ "family": "scaled", "factor": self.0 })
    }

    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error> {
        Ok(b.scale(y, -self.0)?)
    }
}

impl Specification for Scaled {
    fn learns(&self) -> bool {
        false
    }

    fn fit(&self, _: &dyn Samples, _: u64) -> Result<Box<dyn ScoreModel>, Error> {
        Ok(Box::new(Self(self.0)))
    }
}
