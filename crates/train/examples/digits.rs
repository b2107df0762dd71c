//! Trains the paper's networks on digits: `digits DIR classifier|score STEPS [BATCH] [BACKEND] [OUT.onnx]`, where DIR has the
//! four IDX files.

use std::{error::Error, path::Path, time::Duration};

use taste_data::{Dataset, Options, Samples};
use taste_engine::{Backend, Value};
use taste_train::{Augment, Decay, Progress, Trained, Training, networks};

fn open(folder: &Path, part: &str) -> Result<Dataset, Box<dyn Error>> {
    let options =
        Options { sample_shape: Some(vec![1, 64, 64]), pad: Some((64, 64)), ..Options::default() };
    let file = folder.join(format!("{part}-images-idx3-ubyte.gz"));
    Ok(Dataset::open(&file, &options)?)
}

fn accuracy(
    trained: &Trained,
    samples: &dyn Samples,
    backend: &Backend,
) -> Result<f64, Box<dyn Error>> {
    let mut session = backend.load(&trained.model()?, &["logits"], 2)?;
    let (mut right, mut count) = (0usize, 0usize);
    for chunk in samples.chunks(250)? {
        let chunk = chunk?;
        let labels = chunk.labels.ok_or("no labels")?;
        let logits = session.run(&[("input", &Value::from(chunk.values))])?[0].to_f32();
        for (row, label) in logits.outer_iter().zip(labels) {
            let best = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
            right += usize::from(best.map(|b| b.0 as i64) == Some(label));
            count += 1;
        }
    }
    Ok(right as f64 / count as f64)
}

#[expect(clippy::print_stdout, reason = "a program for the terminal")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, what, steps, rest @ ..] = &arguments[..] else {
        return Err("digits DIR classifier|score STEPS [BATCH] [BACKEND] [OUT.onnx]".into());
    };
    let batch: usize = rest.first().map_or(Ok(64), |b| b.parse())?;
    let backend: Backend = rest.get(1).map_or(Ok(Backend::Rten), |b| b.parse())?;
    let (train, test) = (open(folder.as_ref(), "train")?, open(folder.as_ref(), "t10k")?);
    let progress = |p: &Progress| {
        let (point, left) = (p.point, p.left.as_secs());
        println!(
            "step {} loss {:.4} held out {:.4?} left {left} s",
            point.step, point.loss, point.held_out
        );
    };
    let kept = format!("{what}.safetensors");
    let (classifier, score) = (networks::paper_digits(), networks::paper_score([1, 64, 64]));
    let training = match what.as_str() {
        "classifier" => {
            Training::classifier(&classifier).augment(Augment { flip: false, shift: 4 })
        }
        _ => Training::score(&score, 0.2).average(0.995),
    };
    let steps: usize = steps.parse()?;
    let trained = training
        .steps(steps)
        .batch(batch)
        .rate(1e-3)
        .warm_up(steps / 20)
        .decay(Decay::Cosine)
        .clip(1.0)
        .held_out(0.01)
        .seed(1)
        .backend(backend.clone(), 2)
        .checkpoint(kept.as_ref(), Duration::from_mins(2))
        .progress(&progress)
        .run(&train)?;
    println!("held out: {:?}", trained.held_out());
    if what == "classifier" {
        println!("test accuracy: {:.4}", accuracy(&trained, &test, &backend)?);
    }
    if let Some(file) = rest.get(2) {
        std::fs::write(file, trained.model()?.onnx().to_bytes()?)?;
    }
    Ok(())
}
