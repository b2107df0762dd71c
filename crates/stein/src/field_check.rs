//! Whether a score model fits data: under p, E[Δf + s·∇f] = 0 for every smooth f. Where the density of the model is that of
//! data with noise, so are the samples that it is held against.

use ndarray::{Array1, Array2, ArrayD, Axis};
use serde::Serialize;
use taste_data::{Part, Samples};
use taste_detector::{Engine, refused};
use taste_engine::Value;
use taste_graph::{Build, DType, Dim, Fact, Graph};
use taste_stats::{moments::Moments, random::Random};

use crate::{
    Error,
    fields::{self, FieldSpec},
};

/// Samples that are looked at.
const MOST: usize = 5_000;
/// Waves sin(w·x) that serve as test functions.
const WAVES: usize = 32;
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
    /// In words.
    pub verdict: String,
    /// Whether nothing is wrong.
    pub is_good: bool,
}

/// Several expectations that should vanish, in standard errors.
#[derive(Clone, Debug, Serialize)]
pub struct Identity {
    /// How many there are.
    pub functions: usize,
    /// The root of the mean square: 1 if all vanish.
    pub typical: f64,
    /// The largest.
    pub largest: f64,
    /// Which one.
    pub at: usize,
}

impl Identity {
    fn of(ratios: &[f64]) -> Self {
        let finite: Vec<(usize, f64)> =
            ratios.iter().map(|z| z.abs()).enumerate().filter(|(_, z)| z.is_finite()).collect();
        let count = finite.len().max(1) as f64;
        let largest = finite.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
        let (at, largest) = largest.unwrap_or((0, 0.0));
        let typical = (finite.iter().map(|(_, z)| z * z).sum::<f64>() / count).sqrt();
        Self { functions: finite.len(), typical, largest, at }
    }

    /// Whether the largest is no larger than chance makes it.
    fn holds(&self) -> bool {
        self.largest < 3.0 + (2.0 * (self.functions.max(1) as f64).ln()).sqrt()
    }
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
    let mut samples = taste_data::draw(&rest, MOST, seed)?;
    let seen = samples.shape()[0];
    if seen < 2 {
        return Err(refused(format!(
            "{}: {seen} samples with finite entries are left to look at, and two are the least",
            data.name()
        )));
    }
    smooth(&mut samples, &model.noise(), seed);
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
    let flat = flat.map_err(|e| refused(e.to_string()))?;
    let kept: Vec<usize> =
        (0..seen).filter(|&i| scores.row(i).iter().all(|v| v.is_finite())).collect();
    let (x, s) = (flat.select(Axis(0), &kept), scores.select(Axis(0), &kept));
    if kept.len() < 2 {
        return Err(refused(format!(
            "{}: the score is finite at {} of {seen} samples",
            data.name(),
            kept.len()
        )));
    }
    Ok(judge(&x, &s, model.describe(), seen, seed))
}

/// Adds the noise that the density of the model has.
fn smooth(samples: &mut ArrayD<f32>, noise: &[f64], seed: u64) {
    let entries: usize = samples.shape()[1..].iter().product();
    let each = entries / noise.len().max(1);
    if noise.iter().all(|n| *n <= 0.0) || each == 0 {
        return;
    }
    let mut random = Random::stream(seed, 1);
    for (i, v) in samples.iter_mut().enumerate() {
        let deviation = noise[(i % entries / each).min(noise.len() - 1)];
        #[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
        let drawn = (random.normal() * deviation) as f32;
        *v += drawn;
    }
}

fn ratios(rows: &Array2<f64>) -> Vec<f64> {
    let mut moments = Moments::new(rows.ncols());
    let added = moments.push_rows(&rows.view()).is_ok();
    match (added, moments.mean(), moments.standard_error()) {
        (true, Some(means), Some(errors)) => means.iter().zip(errors).map(|(m, e)| m / e).collect(),
        _ => Vec::new(),
    }
}

fn judge(
    x: &Array2<f64>,
    s: &Array2<f64>,
    describe: serde_json::Value,
    seen: usize,
    seed: u64,
) -> FieldCheck {
    let (n, dimension) = x.dim();
    let mean = Identity::of(&ratios(s));
    let centre = x.mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(dimension));
    let off = x - &centre;
    let deviations = off.std_axis(Axis(0), 0.0);
    let varying = deviations.iter().filter(|d| **d > 0.0).count().max(1);
    let products: Vec<f64> = (0..n).map(|i| -s.row(i).dot(&off.row(i)) / varying as f64).collect();
    let scale = products.iter().sum::<f64>() / n as f64;
    let spread = products.iter().map(|v| (v - scale).powi(2)).sum::<f64>() / (n - 1) as f64;
    let scale_error = (spread / n as f64).sqrt();
    let mut random = Random::new(seed);
    let mut waves = Array2::zeros((n, WAVES));
    for k in 0..WAVES {
        let direction: Array1<f64> = (0..dimension).map(|_| random.normal()).collect();
        let length = direction.dot(&direction).sqrt();
        let along = off.dot(&direction) / length;
        let deviation = along.std(0.0).max(f64::MIN_POSITIVE);
        let w = direction / (length * deviation);
        let phase = random.uniform() * std::f64::consts::TAU;
        let (square, drift) = (w.dot(&w), s.dot(&w));
        for i in 0..n {
            let angle = along[i] / deviation + phase;
            waves[[i, k]] = -square * angle.sin() + drift[i] * angle.cos();
        }
    }
    let waves = Identity::of(&ratios(&waves));
    let mean_norm = s.outer_iter().map(|row| row.dot(&row).sqrt()).sum::<f64>() / n as f64;
    let off_scale = (scale - 1.0).abs() > 0.1 && (scale - 1.0).abs() > 4.0 * scale_error;
    let verdict = if off_scale {
        format!(
            "The score is {scale:.2} times the size that the data ask for: look at its coordinates, its noise level and its \
             sign."
        )
    } else if !mean.holds() {
        format!(
            "The mean of entry {} of the score is {:.1} standard errors from zero: the model puts its mass elsewhere.",
            mean.at, mean.largest
        )
    } else if !waves.holds() {
        format!(
            "Location and size are right, but a random wave is off by {:.1} standard errors: the shape of the density is \
             not that of the data.",
            waves.largest
        )
    } else {
        "The score agrees with the data as far as these functions can tell.".to_owned()
    };
    let is_good = !off_scale && mean.holds() && waves.holds();
    FieldCheck {
        score: describe,
        samples: seen,
        not_finite: seen - n,
        dimension,
        mean_norm,
        mean,
        scale,
        scale_error,
        waves,
        verdict,
        is_good,
    }
}
