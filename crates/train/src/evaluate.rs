//! How weights do on samples that they did not learn from.

use ndarray::ArrayViewD;
use taste_engine::Value;
use taste_stats::moments::Summary;

use crate::{
    Error,
    batches::Batches,
    noise::Noise,
    state::Weights,
    step::{Batch, Check},
    tally::Tally,
    trained::{HeldOut, Stein},
};

/// How thoroughly held-out samples are looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The first of them, up to so many.
    pub(crate) samples: usize,
    /// How often noise is drawn for each.
    pub(crate) rounds: usize,
}

/// What a sample's draws of noise add up to.
#[derive(Clone, Copy, Default)]
struct Sums {
    loss: f64,
    ratio: f64,
}

/// Goes through held-out samples; `noise` is what samples get where the network tells it.
pub(crate) fn evaluate(
    batches: &Batches,
    check: &mut Check,
    weights: &Weights,
    noise: Option<Noise>,
    effort: Effort,
) -> Result<HeldOut, Error> {
    let samples = batches.held_out_len().min(effort.samples);
    let rounds = if noise.is_some() { effort.rounds.max(1) } else { 1 };
    let (mut total, mut tally) = (0.0, Tally::default());
    let mut sums = vec![Sums::default(); samples];
    for round in 0..rounds {
        let mut place = 0;
        for (batch, rows) in batches.held_out(samples, round) {
            let (loss, results) = check.run(&batch, weights)?;
            total += loss;
            for (position, (result, &row)) in results.outer_iter().zip(&rows).enumerate() {
                if let Some(class) = batches.class(row) {
                    tally.note(class, result.iter().map(|&v| v.into()));
                }
                if let Some(found) = noise.and_then(|n| judge(&batch, position, &result, n)) {
                    let sum = &mut sums[place + position];
                    sum.loss += found.loss;
                    sum.ratio += found.ratio;
                }
            }
            place += rows.len();
        }
    }
    // Draws for one sample are not independent, so errors are those of means by sample.
    let by_sample = |of: fn(&Sums) -> f64| {
        let means: Vec<f64> = sums.iter().map(|s| of(s) / rounds as f64).collect();
        noise.and_then(|_| Summary::of(&means))
    };
    let stein = by_sample(|s| s.ratio)
        .map(|ratio| Stein { ratio: ratio.mean, error: ratio.standard_error() });
    Ok(HeldOut {
        loss: total / (samples * rounds).max(1) as f64,
        error: by_sample(|s| s.loss).map(|loss| loss.standard_error()),
        accuracy: tally.accuracy(),
        by_class: tally.by_class(),
        stein,
        samples,
    })
}

/// The mean of (ε̂ − ε)² over the entries of a noisy sample x̃, and −s(x̃)·x̃ / D with s = −ε̂ / spread.
fn judge(
    batch: &Batch,
    position: usize,
    found: &ArrayViewD<'_, f32>,
    noise: Noise,
) -> Option<Sums> {
    let (Value::F32(inputs), Value::F32(targets)) = (&batch.input, &batch.target) else {
        return None;
    };
    let level = match &batch.level {
        Some(Value::F32(levels)) => f64::from(*levels.iter().nth(position)?),
        _ => 0.0,
    };
    let row = ndarray::Axis(0);
    let (input, drawn) = (inputs.index_axis(row, position), targets.index_axis(row, position));
    let entries = found.len().max(1) as f64;
    let wide = |v: &f32| f64::from(*v);
    let squares: f64 = found.iter().zip(&drawn).map(|(f, d)| (wide(f) - wide(d)).powi(2)).sum();
    let product: f64 = found.iter().zip(&input).map(|(f, x)| wide(f) * wide(x)).sum();
    Some(Sums { loss: squares / entries, ratio: product / (noise.at(level).spread * entries) })
}
