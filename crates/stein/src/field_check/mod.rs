//! Whether a score model fits data: under p, E[Δf + s·∇f] = 0 for every smooth f. Where the density of the model is that of
//! data with noise, so are the samples that it is held against.

mod denoise;
mod held;
mod identity;
mod verdict;
mod waves;

use ndarray::{Array2, ArrayD, Axis};
use serde::Serialize;
use taste_data::{Part, Samples};
use taste_detector::{Engine, refused};
use taste_engine::Value;
use taste_graph::{Build, DType, Dim, Fact, Graph};
use taste_stats::random::Random;

use crate::{
    Error,
    fields::{self, FieldSpec},
};
pub use denoise::Denoising;
use held::{Held, Noise, mean_and_error};
pub use identity::Identity;
use waves::Waves;

/// Samples that are looked at.
const MOST: usize = 5_000;
/// Fewer of them if they have more entries than this together.
const MOST_ENTRIES: usize = 1 << 24;
/// Of data without a held-out part, the share that a score model does not see.
const HELD_OUT: f64 = 0.3;

/// What a score model does on data that it was not fitted to.
#[derive(Clone, Debug, Serialize)]
pub struct FieldCheck {
    /// What the model says of itself.
    pub score: serde_json::Value,
    /// Samples that were looked at.
    pub samples: usize,
    /// Of those, samples with entries or a score that are not finite.
    pub not_finite: usize,
    /// Entries of a sample.
    pub dimension: usize,
    /// The mean length of the score.
    pub mean_norm: f64,
    /// f = xᵢ: the mean of every entry of the score is zero.
    pub mean: Identity,
    /// −E[s·(x − x̄)] over the number of entries that vary: 1 if the score has the right size.
    pub scale: f64,
    /// Its standard error.
    pub scale_error: f64,
    /// f = sin(w·x) for random w of the length at which a step along w is one standard deviation.
    pub waves: Identity,
    /// Waves of that length and of half of it along single entries: four for each.
    pub columns: Identity,
    /// The same along the axes along which the samples vary most.
    pub axes: Identity,
    /// How well it takes out the noise that its density has, if that has some.
    pub denoising: Option<Denoising>,
    /// In words.
    pub verdict: String,
    /// Whether nothing is wrong.
    pub is_good: bool,
}

/// Fits the score model to a part of the data, if it learns, and looks at it on the rest.
pub fn check_field(
    spec: &dyn FieldSpec,
    data: &dyn Samples,
    engine: &Engine,
    seed: u64,
) -> Result<FieldCheck, Error> {
    let held_out = if spec.learns() { HELD_OUT } else { 1.0 };
    let model = fields::fit(spec, &Part::new(data, seed, held_out, 1.0), seed)?;
    let shape = data.sample_shape().to_vec();
    let dimension: usize = shape.iter().product();
    let mut graph = Graph::new();
    let sizes = std::iter::once(Dim::BATCH).chain(shape.iter().map(|&d| Dim::from(d))).collect();
    let y = graph.input("y", Fact { dtype: DType::Float, shape: sizes });
    let mut b = Build::new(&mut graph);
    let s = model.build(&mut b, y)?;
    let flat = b.reshape(s, &[Dim::BATCH, Dim::from(dimension)])?;
    let outputs = [("field".to_owned(), flat)];
    let session = engine.backend.compile(&graph, &outputs, engine.threads)?;
    let rest = Part::new(data, seed, 0.0, held_out);
    let mut samples =
        taste_data::draw(&rest, MOST.min((MOST_ENTRIES / dimension.max(1)).max(2)), seed)?;
    let seen = samples.shape()[0];
    if seen < 2 {
        return Err(refused(format!(
            "{}: {seen} samples with finite entries are left to look at, and two are the least",
            data.name()
        )));
    }
    let noise = smooth(&mut samples, &model.noise(), seed);
    let mut scores = Array2::<f64>::zeros((seen, dimension));
    for start in (0..seen).step_by(64) {
        let end = seen.min(start + 64);
        let part = Value::from(samples.slice_axis(Axis(0), (start..end).into()).to_owned());
        let values = session.run(&[("y", &part)])?.swap_remove(0).to_f64();
        let values = values.into_shape_with_order((end - start, dimension));
        let values = values.map_err(|e| refused(e.to_string()))?;
        scores.slice_mut(ndarray::s![start..end, ..]).assign(&values);
    }
    let flat = samples.mapv(f64::from).into_shape_with_order((seen, dimension));
    let y = flat.map_err(|e| refused(e.to_string()))?;
    let kept: Vec<usize> =
        (0..seen).filter(|&i| scores.row(i).iter().all(|v| v.is_finite())).collect();
    if kept.len() < 2 {
        return Err(refused(format!(
            "{}: the score is finite at {} of {seen} samples",
            data.name(),
            kept.len()
        )));
    }
    let held = Held { y, s: scores, noise };
    let held = if kept.len() < seen { held.select(&kept) } else { held };
    let fitted = spec.learns().then(|| (1.0 - held_out) / held_out);
    Ok(judge(&held, model.describe(), fitted, seen, seed))
}

/// Adds the noise that the density of the model has, and tells it.
fn smooth(samples: &mut ArrayD<f32>, noise: &[f64], seed: u64) -> Option<Noise> {
    let (rows, entries) = (samples.shape()[0], samples.shape()[1..].iter().product::<usize>());
    let each = entries / noise.len().max(1);
    if noise.iter().all(|n| *n <= 0.0) || each == 0 {
        return None;
    }
    let deviations: Vec<f64> =
        (0..entries).map(|i| noise[(i / each).min(noise.len() - 1)].max(0.0)).collect();
    let mut random = Random::stream(seed, 1);
    let mut over = Array2::zeros((rows, entries));
    for (i, (v, over)) in samples.iter_mut().zip(&mut over).enumerate() {
        let (drawn, deviation) = (random.normal(), deviations[i % entries]);
        #[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
        let added = (drawn * deviation) as f32;
        *v += added;
        *over = if deviation > 0.0 { drawn / deviation } else { 0.0 };
    }
    Some(Noise { over, deviations })
}

/// `fitted` is the number of samples that the model was fitted to, for each that it is held against.
fn judge(
    held: &Held,
    describe: serde_json::Value,
    fitted: Option<f64>,
    seen: usize,
    seed: u64,
) -> FieldCheck {
    let (n, centred) = (held.len(), held.centred());
    let steady = held.steady_score();
    let mean = Identity::of_columns(&steady);
    let varying = centred.std_axis(Axis(0), 0.0).iter().filter(|d| **d > 0.0).count().max(1);
    let (below, scale_error) = mean_and_error(&held.size(&centred, varying).view());
    let Waves { random, columns, axes } = waves::waves(held, &centred, seed);
    let mean_norm = held.s.outer_iter().map(|row| row.dot(&row).sqrt()).sum::<f64>() / n as f64;
    let mut check = FieldCheck {
        score: describe,
        samples: seen,
        not_finite: seen - n,
        dimension: held.dimension(),
        mean_norm,
        mean,
        scale: 1.0 - below,
        scale_error,
        waves: random,
        columns,
        axes,
        denoising: denoise::denoising(held),
        verdict: String::new(),
        is_good: false,
    };
    let problem = verdict::problem(&check, &identity::Joint::of(&steady), fitted);
    check.is_good = problem.is_none();
    check.verdict = problem.unwrap_or_else(|| {
        "The score agrees with the data as far as these functions can tell.".to_owned()
    });
    check
}
