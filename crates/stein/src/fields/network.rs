//! A network that computes s(y).

use std::{path::Path, sync::Arc};

use serde_json::{Value, json};
use taste_choice::{Arguments, Choice};
use taste_detector::refused;
use taste_engine::{Graft, Model};
use taste_graph::{Build, Id};

use super::{Card, Field, FieldFamily, FieldSpec, Learner, Learning};
use crate::Error;

pub(super) const FAMILY: FieldFamily = FieldFamily {
    choice: Choice { name: "onnx", usage: "onnx:FILE", about: "a network that computes s(y)" },
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

    fn card(&self) -> Result<Option<Card>, Error> {
        card(&Model::open(Path::new(&self.file))?)
    }

    fn begin(&self, _: &Learner<'_>) -> Result<Learning, Error> {
        let model = Model::open(Path::new(&self.file))?;
        let noise = card(&model)?.map_or_else(Vec::new, |card| card.noise);
        Ok(Learning::done(Network { model, noise }))
    }
}

#[derive(Debug)]
struct Network {
    model: Model,
    /// As the file tells it.
    noise: Vec<f64>,
}

impl Field for Network {
    fn describe(&self) -> Value {
        let mut report = json!({ "family": "onnx", "file": self.model.name() });
        if let [noise] = self.noise[..] {
            report["noise"] = json!(noise);
        }
        report
    }

    fn noise(&self) -> Vec<f64> {
        self.noise.clone()
    }

    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error> {
        field(b, y, &self.model, &Graft::default())
    }
}

/// What a file says of itself, with its name in messages.
pub(super) fn card(model: &Model) -> Result<Option<Card>, Error> {
    Card::of(model.onnx()).map_err(|e| refused(format!("{}: {e}", model.name())))
}

/// A model's output at y, in the shape of y; the model may give rows N × D.
pub(super) fn field(b: &mut Build<'_>, y: Id, model: &Model, options: &Graft) -> Result<Id, Error> {
    let output = model.graft(b, y, options)?;
    let (want, got) = (b.fact(y).clone(), b.fact(output).clone());
    if want.at(1).len() != got.at(1).len() {
        return Err(refused(format!(
            "{}: the output is {got}, and a field over the samples has as many entries as those: {want}",
            model.name()
        )));
    }
    Ok(b.reshape(output, &want.shape)?)
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
    fn a_network_is_the_score_whether_it_keeps_the_shape_or_gives_rows() {
        let samples = InMemory::new("data", ArrayD::zeros(vec![1, 2, 3]));
        let points = testing::normal_samples(4, 6, 1);
        let points = points.into_shape_with_order(vec![4, 2, 3]).expect("4 × 2 × 3");
        let same = file(&[-1, 2, 3], None, vec![node("Neg", &["x"], "y")], vec![]);
        let nodes = vec![node("Neg", &["x"], "h"), node("Flatten", &["h"], "y")];
        let flat = file(&[-1, 2, 3], None, nodes, vec![]);
        let rows = file(&[-1, 6], None, vec![node("Neg", &["x"], "y")], vec![]);
        for network in [same, flat, rows] {
            let text = format!("onnx:{}", network.path().display());
            let model = fit(&*parse(&text).expect("read"), &samples, 0).expect("opened");
            let scores = testing::scores(&*model, &points);
            assert_eq!(scores, points.mapv(|v| -f64::from(v)));
            testing::engines_agree(&*model, &points);
        }
    }

    #[test]
    fn a_file_that_does_not_fit_is_one_sentence() {
        let samples = InMemory::new("data", ArrayD::zeros(vec![1, 3]));
        let missing = fit(&*parse("onnx:nowhere.onnx").expect("read"), &samples, 0);
        let message = missing.map(|_| ()).expect_err("no file").to_string();
        assert!(message.contains("nowhere.onnx"), "{message}");
        let weights = builders::tensor_f32("w", &[3, 2], &[0.5; 6]);
        let narrow = file(&[-1, 3], None, vec![node("MatMul", &["x", "w"], "y")], vec![weights]);
        let text = format!("onnx:{}", narrow.path().display());
        let model = fit(&*parse(&text).expect("read"), &samples, 0).expect("opened");
        let refused = |columns| {
            let points = testing::normal_samples(4, columns, 1);
            testing::try_scores(&*model, &points).expect_err("refused").to_string()
        };
        let message = refused(3);
        assert!(message.contains("output is float[N×2]") && message.contains("N×3"), "{message}");
        let message = refused(4);
        assert!(message.contains("wants samples of shape [3], got [4]"), "{message}");
    }
}
