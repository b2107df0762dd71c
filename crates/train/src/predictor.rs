//! A trained network that finds the noise in noisy samples, in an engine.

use ndarray::{ArrayD, Axis, Slice};
use taste_engine::{Backend, Session, Value};
use taste_graph::Build;

use crate::{
    Error, Trained,
    error::request,
    network::{INPUT, LEVEL},
    noise::{Mix, Noise},
};

/// Samples that go through the engine at once.
pub(crate) const ROWS: usize = 64;

/// Predicts noise at any level.
pub(crate) struct Predictor {
    session: Session,
    pub(crate) noise: Noise,
}

impl Predictor {
    pub(crate) fn start(
        trained: &Trained,
        backend: &Backend,
        threads: usize,
    ) -> Result<Self, Error> {
        let noise = trained.noise.ok_or_else(not_a_score)?;
        let (mut graph, x, level) = trained.network.start();
        let found =
            trained.network.build(&mut Build::new(&mut graph), x, level, &trained.parameters)?;
        let session = backend.compile(&graph, &[("noise".to_owned(), found)], threads)?;
        Ok(Self { session, noise })
    }

    /// ε in noisy samples signal·x + spread·ε of one level.
    pub(crate) fn noise_in(
        &mut self,
        noisy: &ArrayD<f32>,
        level: f64,
    ) -> Result<ArrayD<f32>, Error> {
        let mut found = ArrayD::zeros(noisy.raw_dim());
        let count = noisy.shape()[0];
        for start in (0..count).step_by(ROWS) {
            let part = Slice::from(start..count.min(start + ROWS));
            let rows: Value = noisy.slice_axis(Axis(0), part).to_owned().into();
            #[expect(clippy::cast_possible_truncation, reason = "levels are single precision")]
            let level: Value = ArrayD::from_elem(vec![rows.shape()[0], 1], level as f32).into();
            let results = self.session.run(&[(INPUT, &rows), (LEVEL, &level)])?;
            let result = results.first().map(Value::to_f32).filter(|r| r.shape() == rows.shape());
            let result = result.ok_or_else(|| request("the engine gave no noise"))?;
            found.slice_axis_mut(Axis(0), part).assign(&result);
        }
        Ok(found)
    }

    /// The score of samples with the noise of a level, at points of their own scale: −ε / σ.
    #[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
    pub(crate) fn score(&mut self, points: &ArrayD<f32>, level: f64) -> Result<ArrayD<f32>, Error> {
        let mix @ Mix { signal, .. } = self.noise.at(level);
        let noise = self.noise_in(&(points * signal as f32), level)?;
        Ok(noise * (-1.0 / mix.sigma()) as f32)
    }
}

/// What is asked of a network that finds no score.
pub(crate) fn not_a_score() -> Error {
    request("the network was not trained to find a score")
}
