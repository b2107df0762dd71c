//! Sliced score matching (Song and others 2019), as a judge: it sees noisy samples, but not the noise that was drawn,
//! and looks at the derivative of the score.

use ndarray::{ArrayD, Axis, Slice};
use serde::Serialize;
use taste_engine::{Backend, Value};
use taste_graph::{
    Build, Dim, Graph,
    diff::{Derivatives, jvp},
};
use taste_stats::{moments::Summary, random::Random};

use crate::{
    Error, Trained,
    error::request,
    levels::disturbed,
    noise::Mix,
    predictor::{ROWS, not_a_score},
};

const POINT: &str = "point";
const DIRECTION: &str = "direction";

/// E[vᵀ∇s v + ½‖s‖²] / D for random signs v, on held-out samples with noise; ½‖s‖² is what ½(vᵀs)² is on average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sliced {
    /// The value for each entry: the lower, the better.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
    /// The deviation of the noise beside that of standardised samples.
    pub sigma: f64,
    /// 1 + 2σ²·value, which is the denoising loss in another way: the two differ by chance alone.
    pub as_loss: f64,
    /// The standard error of that.
    pub as_loss_error: f64,
}

impl Trained {
    /// The sliced objective of a score network, at the least noise that it learned from (of a diffusion, after a
    /// twentieth of the steps); nothing without held-out samples.
    pub fn sliced(&self, backend: &Backend, threads: usize) -> Result<Option<Sliced>, Error> {
        let noise = self.noise.ok_or_else(not_a_score)?;
        let level = noise.low();
        let sigma = noise.at(level).sigma();
        let mut graph = Graph::new();
        let fact = {
            let (start, x, _) = self.network.start();
            start.fact(x).clone()
        };
        let (x, v) = (graph.input(POINT, fact.clone()), graph.input(DIRECTION, fact));
        let mut b = Build::new(&mut graph);
        let s = self.build_score(&mut b, x, noise, level)?;
        let turned = jvp(&mut b, &[s], &Derivatives::from([(x, v)]))?.swap_remove(0);
        let turned = match turned {
            Some(turned) => turned,
            None => b.zeros_like(s)?,
        };
        let bend = b.mul(v, turned)?;
        let square = b.square(s)?;
        let half = b.scale(square, 0.5)?;
        let each = b.add(bend, half)?;
        let axes: Vec<usize> = (1..b.fact(each).rank()).collect();
        let sum = b.sum(each, &axes)?;
        let sum = b.reshape(sum, &[Dim::BATCH])?;
        let session = backend.compile(&graph, &[("sum".to_owned(), sum)], threads)?;
        let count = self.kept.shape()[0];
        let entries = self.network.sample_shape().iter().product::<usize>().max(1) as f64;
        let mut values = Vec::with_capacity(count);
        let mut random = Random::new(2);
        for start in (0..count).step_by(ROWS) {
            let part = Slice::from(start..count.min(start + ROWS));
            let clean = self.kept.slice_axis(Axis(0), part).to_owned();
            let mix = Mix { signal: 1.0, spread: sigma };
            let points: Value = disturbed(&clean, mix, &mut random).0.into();
            let signs: Value = signs(clean.shape(), &mut random)?.into();
            let sums = session.run(&[(POINT, &points), (DIRECTION, &signs)])?;
            values.extend(sums.first().iter().flat_map(|v| v.to_f64()).map(|v| v / entries));
        }
        Ok(Summary::of(&values).map(|found| {
            let (value, error, twice) = (found.mean, found.standard_error(), 2.0 * sigma * sigma);
            Sliced {
                value,
                error,
                sigma,
                as_loss: 1.0 + twice * value,
                as_loss_error: twice * error,
            }
        }))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "signs")]
fn signs(shape: &[usize], random: &mut Random) -> Result<ArrayD<f32>, Error> {
    let count = shape.iter().product();
    let values = random.signs(count).map(|v| v as f32).collect();
    ArrayD::from_shape_vec(shape, values).map_err(|e| request(e.to_string()))
}
