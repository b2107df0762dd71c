//! Gaussian mixtures: densities, exact scores, samples.

use ndarray::{Array2, ArrayD, Axis, IxDyn};
use taste_graph::{Build, Dim, Id, Tensor};
use taste_ops::functions;
use taste_stats::random::Random;
use taste_stein::{
    Error,
    fields::{Field, FieldSpec, Learner, Learning},
};

/// A mixture of Gaussians with diagonal covariances.
#[derive(Clone, Debug)]
pub(crate) struct Mixture {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    weight: f64,
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Mixture {
    /// One Gaussian.
    pub(crate) fn gaussian(mean: &[f64], deviation: &[f64]) -> Self {
        let part = Part { weight: 1.0, mean: mean.to_vec(), deviation: deviation.to_vec() };
        Self { parts: vec![part] }
    }

    /// A Gaussian of unit covariance.
    pub(crate) fn unit(mean: &[f64]) -> Self {
        Self::gaussian(mean, &vec![1.0; mean.len()])
    }

    /// Means within −1..1, deviations within 0.6..1.2, weights within 1..2 before they sum to one.
    pub(crate) fn random(parts: usize, dimension: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut draw = |from: f64, to: f64| from + (to - from) * random.uniform();
        let mut parts: Vec<Part> = (0..parts)
            .map(|_| Part {
                weight: draw(1.0, 2.0),
                mean: (0..dimension).map(|_| draw(-1.0, 1.0)).collect(),
                deviation: (0..dimension).map(|_| draw(0.6, 1.2)).collect(),
            })
            .collect();
        let total: f64 = parts.iter().map(|p| p.weight).sum();
        for part in &mut parts {
            part.weight /= total;
        }
        Self { parts }
    }

    /// All means moved.
    pub(crate) fn moved(&self, by: &[f64]) -> Self {
        let mut moved = self.clone();
        for part in &mut moved.parts {
            part.mean.iter_mut().zip(by).for_each(|(m, b)| *m += b);
        }
        moved
    }

    fn dimension(&self) -> usize {
        self.parts[0].mean.len()
    }

    /// The logarithm of weight × density of every part.
    fn log_parts(&self, x: &[f64]) -> Vec<f64> {
        let log_density = |part: &Part| {
            let entries = x.iter().zip(&part.mean).zip(&part.deviation);
            part.weight.ln()
                + entries
                    .map(|((x, m), d)| {
                        let z = (x - m) / d;
                        -0.5 * z * z - d.ln() - 0.5 * std::f64::consts::TAU.ln()
                    })
                    .sum::<f64>()
        };
        self.parts.iter().map(log_density).collect()
    }

    /// log p(x).
    pub(crate) fn log_density(&self, x: &[f64]) -> f64 {
        self.log_parts(x).iter().map(|l| l.exp()).sum::<f64>().ln()
    }

    /// ∇ log p(x).
    pub(crate) fn score(&self, x: &[f64]) -> Vec<f64> {
        let shares: Vec<f64> = self.log_parts(x).iter().map(|l| l.exp()).collect();
        let total: f64 = shares.iter().sum();
        let along = |i: usize| {
            let pull = |part: &Part| (part.mean[i] - x[i]) / part.deviation[i].powi(2);
            self.parts.iter().zip(&shares).map(|(p, s)| s / total * pull(p)).sum()
        };
        (0..x.len()).map(along).collect()
    }

    /// Samples, in rows of the given shape.
    pub(crate) fn sample(&self, rows: usize, shape: &[usize], seed: u64) -> ArrayD<f32> {
        let mut random = Random::new(seed);
        let mut values = Vec::with_capacity(rows * self.dimension());
        for _ in 0..rows {
            let mut left = random.uniform();
            let chosen = self.parts.iter().position(|p| {
                left -= p.weight;
                left < 0.0
            });
            let part = &self.parts[chosen.unwrap_or(self.parts.len() - 1)];
            for (m, d) in part.mean.iter().zip(&part.deviation) {
                values.push(single(m + d * random.normal()));
            }
        }
        let sizes: Vec<usize> = std::iter::once(rows).chain(shape.iter().copied()).collect();
        ArrayD::from_shape_vec(IxDyn(&sizes), values).expect("rows × the shape of a sample")
    }

    /// Samples as plain rows.
    pub(crate) fn rows(&self, rows: usize, seed: u64) -> ArrayD<f32> {
        self.sample(rows, &[self.dimension()], seed)
    }

    fn constant(&self, b: &mut Build<'_>, of: impl Fn(&Part, usize) -> f64) -> Result<Id, Error> {
        let width = self.dimension();
        let values =
            self.parts.iter().flat_map(|p| (0..width).map(|i| of(p, i)).collect::<Vec<_>>());
        let tensor = Tensor::floats(&[self.parts.len(), width], values.collect())?;
        Ok(b.graph_mut().constant(tensor))
    }
}

impl Field for Mixture {
    fn describe(&self) -> serde_json::Value {
        serde_json::json!({ "family": "mixture", "parts": self.parts.len() })
    }

    /// Σ shareₖ(y)·(meanₖ − y)/varianceₖ, with shares the softmax of log weight × density.
    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error> {
        let shape = b.fact(y).shape.clone();
        let y = b.reshape(y, &[shape[0], Dim::from(self.dimension())])?;
        let precision = self.constant(b, |p, i| p.deviation[i].powi(-2))?;
        let pull = self.constant(b, |p, i| p.mean[i] * p.deviation[i].powi(-2))?;
        let origin = self.log_parts(&vec![0.0; self.dimension()]);
        let origin = Tensor::floats(&[1, self.parts.len()], origin)?;
        let origin = b.graph_mut().constant(origin);
        // log weight × density at y: what it is at 0, plus y·mean/variance − y²/(2 variance).
        let squares = b.square(y)?;
        let halves = b.scale(squares, -0.5)?;
        let across = b.transpose(precision, &[1, 0])?;
        let quadratic = functions::matmul(b, halves, across)?;
        let across = b.transpose(pull, &[1, 0])?;
        let linear = functions::matmul(b, y, across)?;
        let sum = b.add(quadratic, linear)?;
        let logits = b.add(sum, origin)?;
        let shares = functions::softmax(b, logits, 1)?;
        let pulled = functions::matmul(b, shares, pull)?;
        let held = functions::matmul(b, shares, precision)?;
        let back = b.mul(held, y)?;
        let score = b.sub(pulled, back)?;
        Ok(b.reshape(score, &shape)?)
    }
}

impl FieldSpec for Mixture {
    fn learns(&self) -> bool {
        false
    }

    fn begin(&self, _: &Learner<'_>) -> Result<Learning, Error> {
        Ok(Learning::done(self.clone()))
    }
}

/// A number in single precision.
#[expect(clippy::cast_possible_truncation, reason = "samples and weights are single precision")]
pub(crate) fn single(value: f64) -> f32 {
    value as f32
}

/// Rows in double precision.
pub(crate) fn double_rows(samples: &ArrayD<f32>) -> Vec<Vec<f64>> {
    let rows = samples.shape()[0];
    let flat: Array2<f32> =
        samples.to_shape((rows, samples.len() / rows)).expect("rows of entries").into_owned();
    flat.axis_iter(Axis(0)).map(|row| row.iter().map(|&v| f64::from(v)).collect()).collect()
}

#[test]
fn scores_are_the_slopes_of_log_densities() {
    let p = Mixture::random(3, 4, 8);
    let step = 1e-5;
    for x in double_rows(&p.rows(50, 1)) {
        for (i, s) in p.score(&x).into_iter().enumerate() {
            let (mut up, mut down) = (x.clone(), x.clone());
            up[i] += step;
            down[i] -= step;
            let slope = (p.log_density(&up) - p.log_density(&down)) / (2.0 * step);
            assert!((s - slope).abs() < 1e-7, "entry {i} at {x:?}: {s} and {slope}");
        }
    }
}
