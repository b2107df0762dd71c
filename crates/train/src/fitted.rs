//! A trained network that takes samples as they are.

use ndarray::{ArrayD, Axis, Slice};
use taste_data::Samples;
use taste_engine::{Backend, Model, Value};
use taste_graph::{Build, Dim, Fact, Graph, Id, OpError};
use taste_stein::fields::{Card, InputMap, Steps};

use crate::{
    Error, HeldOut, Trained, error::request, network::INPUT, noise::Noise, standard::Standard,
    tally::Tally,
};

/// A network trained on standardised samples, together with how samples are standardised.
#[derive(Clone, Debug)]
pub struct Fitted {
    pub(crate) standard: Standard,
    pub(crate) trained: Trained,
    /// The eigenvalues of the covariance of standardised samples, for scores.
    pub(crate) spectrum: Option<Vec<f64>>,
    /// How targets were standardised, for regressors.
    pub(crate) answers: Option<Standard>,
}

impl Fitted {
    /// The run, on standardised samples.
    pub fn trained(&self) -> &Trained {
        &self.trained
    }

    pub(crate) fn standard(&self) -> &Standard {
        &self.standard
    }

    pub(crate) fn spectrum(&self) -> Option<&[f64]> {
        self.spectrum.as_deref()
    }

    /// The loss of the best Gaussian score, over the noise that the network learned from; nothing where samples have
    /// too many entries.
    pub fn gaussian_loss(&self) -> Option<f64> {
        const LEVELS: usize = 100;
        let (noise, spectrum) = (self.trained.noise?, self.spectrum()?);
        let levels = noise.levels(LEVELS);
        let sum: f64 = levels.iter().map(|&level| noise.at(level).gaussian_loss(spectrum)).sum();
        Some(sum / levels.len() as f64)
    }

    /// Some samples that the network did not learn from.
    pub fn some_held_out(&self, most: usize) -> ArrayD<f32> {
        let kept = &self.trained.kept;
        let count = kept.shape()[0].min(most);
        self.standard.back(&kept.slice_axis(Axis(0), Slice::from(..count)).to_owned())
    }

    /// Adds the network to a graph, from samples to logits, outputs or the score of the least noise that was learned.
    pub fn build(&self, b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
        let z = self.standard.apply(b, x)?;
        let found = self.trained.build(b, z)?;
        match (&self.answers, self.trained.noise) {
            (Some(answers), _) => answers.undo(b, found),
            (None, Some(_)) => self.standard.pull(b, found),
            (None, None) => Ok(found),
        }
    }

    /// The deviation of the noise that a score's density has beyond that of the samples: one number or one for every
    /// entry.
    pub fn noise(&self) -> Vec<f64> {
        let sigma = self.trained.noise.map(|noise| noise.at(noise.lowest()).sigma());
        let each = |sigma: f64| self.standard.deviations().iter().map(|d| sigma * d).collect();
        sigma.map_or_else(Vec::new, each)
    }

    /// What the file of a score says of itself. `raw` tells whether bytes were read as they are, `mean` and `std`
    /// what samples were normalised by after that.
    pub fn card(&self, raw: bool, mean: &[f64], std: &[f64]) -> Result<Option<Card>, Error> {
        let Some(noise) = self.trained.noise else { return Ok(None) };
        let (map, noise, diffusion) = match noise {
            Noise::Steps(diffusion, steps) => {
                let schedule = diffusion.name().to_owned();
                (self.standard.map()?, Vec::new(), Some(Steps { schedule, steps }))
            }
            _ => (InputMap::new(vec![1.0], vec![0.0])?, self.noise(), None),
        };
        let input = Some(map.before_normalisation(mean, std)?);
        Ok(Some(Card { input, raw, noise, diffusion }))
    }

    /// The model as ONNX. Classifiers, regressors and scores take samples as they are; a diffusion model takes
    /// standardised ones with noise, and the step, and its [`Card`] tells how samples are standardised.
    pub fn model(&self) -> Result<Model, Error> {
        if matches!(self.trained.noise, Some(Noise::Steps(..))) {
            return self.trained.model();
        }
        let mut graph = Graph::new();
        let shape = self.trained.network.sample_shape().iter().map(|&d| Dim::from(d));
        let shape = std::iter::once(Dim::BATCH).chain(shape).collect();
        let x = graph.input(INPUT, Fact::float(shape));
        let y = self.build(&mut Build::new(&mut graph), x)?;
        let onnx = graph.to_onnx(&[(self.trained.output.to_owned(), y)])?;
        Ok(Model::from_onnx("the trained network", taste_onnx::Model::new(onnx)))
    }

    /// How a classifier does on other samples with labels.
    pub fn test(
        &self,
        samples: &dyn Samples,
        backend: &Backend,
        threads: usize,
    ) -> Result<HeldOut, Error> {
        let fail = |message: String| Error::Samples { name: samples.name().to_owned(), message };
        let session = backend.load(&self.model()?, &[self.trained.output], threads)?;
        let (mut loss, mut tally) = (0.0, Tally::default());
        for chunk in samples.chunks(256)? {
            let chunk = chunk?;
            let Some(labels) = chunk.labels else {
                return Err(fail("the samples have no labels to test with".to_owned()));
            };
            let results = session.run(&[(INPUT, &Value::from(chunk.values))])?;
            let logits = results.first().map(Value::to_f64).ok_or_else(|| request("no logits"))?;
            for ((row, label), index) in logits.outer_iter().zip(labels).zip(chunk.index) {
                let row: Vec<f64> = row.iter().copied().collect();
                let class = usize::try_from(label).ok().filter(|c| *c < row.len());
                let class = class.ok_or_else(|| {
                    fail(format!(
                        "sample {index} has the label {label}, and the network tells {} classes apart",
                        row.len()
                    ))
                })?;
                let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = row.iter().map(|v| (v - largest).exp()).sum();
                loss += largest + sum.ln() - row[class];
                tally.note(class, row.iter().copied());
            }
        }
        let samples = tally.samples();
        if samples == 0 {
            return Err(fail("there are no samples to test with".to_owned()));
        }
        Ok(HeldOut {
            loss: loss / samples as f64,
            error: None,
            accuracy: tally.accuracy(),
            by_class: tally.by_class(),
            stein: None,
            samples,
        })
    }
}
