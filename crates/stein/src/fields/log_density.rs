//! A network that computes log p(y), up to a constant: its gradient is the score.

use std::{path::Path, sync::Arc};

use serde_json::{Value, json};
use taste_choice::{Arguments, Choice};
use taste_detector::refused;
use taste_engine::{Graft, Model};
use taste_graph::{Build, Id, diff};

use super::{Field, FieldFamily, FieldSpec, Learner, Learning};
use crate::Error;

pub(super) const FAMILY: FieldFamily = FieldFamily {
    choice: Choice {
        name: "log-density",
        usage: "log-density:FILE",
        about: "a network that computes log p(y) up to a constant; its gradient is the score",
    },
    read,
};

#[derive(Debug)]
struct Asked {
    file: String,
}

fn read(mut arguments: Arguments<'_>) -> Result<Arc<dyn FieldSpec>, Error> {
    let file = arguments.file(&[])?;
    arguments.finish()?;
    Ok(Arc::new(Asked { file }))
}

impl FieldSpec for Asked {
    fn learns(&self) -> bool {
        false
    }

    fn begin(&self, _: &Learner<'_>) -> Result<Learning, Error> {
        Ok(Learning::done(LogDensity { model: Model::open(Path::new(&self.file))? }))
    }
}

#[derive(Debug)]
struct LogDensity {
    model: Model,
}

impl Field for LogDensity {
    fn describe(&self) -> Value {
        json!({ "family": "log-density", "file": self.model.name() })
    }

    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error> {
        let name = self.model.name();
        let output = self.model.graft(b, y, &Graft::default())?;
        let fact = b.fact(output);
        if fact.at(1).len() != 1 {
            return Err(refused(format!(
                "{name}: a log density is one number a sample, but the output is {fact}"
            )));
        }
        let gradient = diff::gradient(b, output, y)
            .map_err(|e| refused(format!("{name}: the log density has no gradient: {e}")))?;
        gradient
            .ok_or_else(|| refused(format!("{name}: the log density does not depend on its input")))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::ArrayD;
    use taste_data::InMemory;
    use taste_onnx::builders;

    use crate::fields::{
        fit, parse,
        testing::{self, file, node},
    };

    #[test]
    fn the_score_is_the_gradient_of_the_network() {
        // log p = −½ Σ y² + Σ tanh y
        let mut sum = node("ReduceSum", &["h", "axes"], "y");
        sum.attribute = vec![builders::attr_int("keepdims", 0)];
        let nodes = vec![
            node("Mul", &["x", "x"], "squares"),
            node("Mul", &["squares", "half"], "halves"),
            node("Tanh", &["x"], "t"),
            node("Sub", &["t", "halves"], "h"),
            sum,
        ];
        let half = builders::tensor_f32("half", &[], &[0.5]);
        let axes = builders::tensor_i64("axes", &[1], &[1]);
        let network = file(&[-1, 3], None, nodes, vec![half, axes]);
        let text = format!("log-density:{}", network.path().display());
        let samples = InMemory::new("data", ArrayD::zeros(vec![1, 3]));
        let model = fit(&*parse(&text).expect("read"), &samples, 0).expect("opened");
        let points = testing::normal_samples(6, 3, 2);
        let scores = testing::scores(&*model, &points);
        for (y, s) in points.iter().zip(&scores) {
            let y = f64::from(*y);
            assert!((s - (1.0 - y.tanh().powi(2) - y)).abs() < 1e-12);
        }
        testing::engines_agree(&*model, &points);
    }

    #[test]
    fn several_numbers_a_sample_are_refused() {
        let network = file(&[-1, 3], None, vec![node("Tanh", &["x"], "y")], vec![]);
        let text = format!("log-density:{}", network.path().display());
        let samples = InMemory::new("data", ArrayD::zeros(vec![1, 3]));
        let model = fit(&*parse(&text).expect("read"), &samples, 0).expect("opened");
        let message = testing::try_scores(&*model, &testing::normal_samples(2, 3, 0));
        let message = message.expect_err("3 numbers").to_string();
        assert!(message.contains("one number a sample") && message.contains("N×3"), "{message}");
    }
}
