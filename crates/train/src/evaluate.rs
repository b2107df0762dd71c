//! How weights do on samples that they did not learn from.

use taste_engine::Value;

use crate::{
    Error,
    batches::Batches,
    noise::Noise,
    state::Weights,
    step::{Batch, Check},
    trained::{HeldOut, Stein},
};

/// Goes through the first `most` held-out samples once; `noise` is what samples get where the network tells it.
pub(crate) fn evaluate(
    batches: &Batches,
    check: &mut Check,
    weights: &Weights,
    noise: Option<Noise>,
    most: usize,
) -> Result<HeldOut, Error> {
    let (mut sum, mut right, mut labelled, mut count) = (0.0, 0usize, 0usize, 0usize);
    let mut ratios = Vec::new();
    for (batch, rows) in batches.held_out(most) {
        let (loss, results) = check.run(&batch, weights)?;
        sum += loss;
        count += rows.len();
        for (result, &row) in results.outer_iter().zip(&rows) {
            let Some(class) = batches.class(row) else { continue };
            let best = result.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
            right += usize::from(best.is_some_and(|(at, _)| at == class));
            labelled += 1;
        }
        if let Some(noise) = noise {
            stein_ratios(&batch, &results, noise, &mut ratios);
        }
    }
    let accuracy = (labelled > 0).then(|| right as f64 / labelled as f64);
    let stein = (ratios.len() > 1).then(|| {
        let number = ratios.len() as f64;
        let ratio = ratios.iter().sum::<f64>() / number;
        let spread: f64 = ratios.iter().map(|r| (r - ratio).powi(2)).sum();
        Stein { ratio, error: (spread / (number * (number - 1.0))).sqrt() }
    });
    Ok(HeldOut { loss: sum / count.max(1) as f64, accuracy, stein, samples: count })
}

/// −s(x̃)·x̃ / D of every noisy sample, with s = −ε / spread.
fn stein_ratios(batch: &Batch, noise: &ndarray::ArrayD<f32>, kind: Noise, ratios: &mut Vec<f64>) {
    let Value::F32(inputs) = &batch.input else { return };
    for (row, (input, noise)) in inputs.outer_iter().zip(noise.outer_iter()).enumerate() {
        let level = match &batch.level {
            Some(Value::F32(levels)) => levels.iter().nth(row).copied().map_or(0.0, f64::from),
            _ => 0.0,
        };
        let product: f64 =
            input.iter().zip(&noise).map(|(&x, &e)| f64::from(x) * f64::from(e)).sum();
        ratios.push(product / (kind.at(level).spread * input.len().max(1) as f64));
    }
}
