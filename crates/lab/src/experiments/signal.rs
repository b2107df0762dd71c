//! Residuals of the method `stein`, as the product computes them.

use serde::{Deserialize, Serialize};
use taste_data::Samples;
use taste_detector::{Detector, Fit, Named, Settings};
use taste_engine::Model;
use taste_stats::moments::Summary;

use crate::{Error, Run, error::refused};

/// Detectors by their names, with options of the method `stein`.
pub(super) type Wanted<'a> = (&'a str, &'a [(&'a str, &'a str)]);

/// Detectors of the method `stein` on one model and score model.
pub(super) struct Detectors {
    list: Vec<Detector>,
    digest: String,
}

impl Detectors {
    /// Fits each of them, calibrated on the second of the sets, or takes what an earlier run left. Maps nothing, and takes
    /// coordinates as they are.
    pub(super) fn fit(
        run: &Run<'_>,
        model: &Model,
        score_model: &str,
        wanted: &[Wanted<'_>],
        [train, held_out]: [&dyn Samples; 2],
    ) -> Result<Self, Error> {
        let network = |text: &str| text.strip_prefix("onnx:").map(std::fs::read).transpose();
        let score = network(score_model).map_err(|e| refused(format!("{score_model}: {e}")))?;
        let score =
            score.map_or_else(|| score_model.to_owned(), |bytes| taste_onnx::sha256(&bytes));
        let about = (model.onnx().sha256(), score, held_out.len()?);
        let mut list = Vec::new();
        for (name, options) in wanted {
            let mut all = vec![("score-model", score_model), ("precondition", "none")];
            all.extend(options.iter().copied());
            let step = format!("fit: {name}");
            let path = run.file("stein", &step, &(&about, options), |path| {
                Ok(fit(run, model, &all, train, Some(held_out))?.save(path)?)
            })?;
            list.push(Detector::open(&path)?);
        }
        let facts = serde_json::to_string(&(about, wanted)).unwrap_or_default();
        Ok(Self { list, digest: taste_onnx::sha256(facts.as_bytes()) })
    }

    /// In the order in which they were wanted.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Detector> {
        self.list.iter()
    }

    /// What they depend on.
    pub(super) fn digest(&self) -> &str {
        &self.digest
    }
}

/// Samples that go through a detector at once.
const ROWS: usize = 256;

/// What a detector of the method `stein` says of a set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Signals {
    /// The residual of every sample, its baseline taken off.
    pub(super) residuals: Vec<f64>,
    /// The output of the model, entry by entry.
    pub(super) outputs: Vec<Vec<f32>>,
}

impl Signals {
    /// Count, mean and variance of the residuals.
    pub(super) fn summary(&self) -> Result<Summary, Error> {
        Summary::of(&self.residuals).ok_or_else(|| refused("a set has too few finite residuals"))
    }

    /// Whether the class with the largest output is the label, by sample.
    pub(super) fn right(&self, set: &dyn Samples) -> Result<Vec<bool>, Error> {
        let mut labels = Vec::new();
        for chunk in set.chunks(ROWS)? {
            let own = chunk?.labels;
            labels.extend(own.ok_or_else(|| refused(format!("{}: no labels", set.name())))?);
        }
        let best = |row: &Vec<f32>| {
            let largest = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
            largest.map_or(-1, |(class, _)| class as i64)
        };
        Ok(self.outputs.iter().zip(labels).map(|(row, label)| best(row) == label).collect())
    }

    /// The share of right answers.
    pub(super) fn accuracy(&self, set: &dyn Samples) -> Result<f64, Error> {
        let right = self.right(set)?;
        Ok(right.iter().filter(|r| **r).count() as f64 / right.len().max(1) as f64)
    }
}

/// A detector of the method `stein` with these options, calibrated on `calibration` where there is such.
pub(super) fn fit(
    run: &Run<'_>,
    model: &Model,
    options: &[(&str, &str)],
    train: &dyn Samples,
    calibration: Option<&dyn Samples>,
) -> Result<Detector, Error> {
    let named = options.iter().fold(Named::new(), |named, (name, value)| named.with(name, *value));
    let method = taste_catalog::method("stein", &named)?;
    let settings = Settings { map: Some(false), seed: run.seed_value(), ..Settings::default() };
    let progress = run.progress();
    let fit = Fit::new(model, method).settings(settings).engine(run.engine_used().clone());
    Ok(fit.progress(&progress).run(train, calibration)?)
}

/// The mean that the detector takes off residuals, and its standard error.
pub(super) fn baseline(detector: &Detector) -> Option<(f64, f64)> {
    let part = detector.manifest().parts.iter().find(|p| p.name == "residual")?;
    let baseline = part.baseline.as_ref()?;
    Some((*baseline.means.first()?, *baseline.errors.first()?))
}

/// Residuals and outputs of a set.
pub(super) fn of(
    run: &Run<'_>,
    detector: &Detector,
    samples: &dyn Samples,
) -> Result<Signals, Error> {
    let scorer = detector.start_predicting(run.engine_used())?;
    let (mut residuals, mut outputs) = (Vec::new(), Vec::new());
    let total = samples.len()?;
    for chunk in samples.chunks(ROWS)? {
        let scores = scorer.score(chunk?.values.view())?;
        let column = scores.column("residual");
        let column = column.ok_or_else(|| refused("the detector has no single residual"))?;
        residuals.extend(column.into_iter().map(f64::from));
        let rows = scores.prediction.ok_or_else(|| refused("the detector has no prediction"))?;
        outputs.extend(rows.outer_iter().map(|row| row.to_vec()));
        run.tell(samples.name(), residuals.len(), total)?;
    }
    Ok(Signals { residuals, outputs })
}
