//! Residuals of the method `stein`, as the product computes them.

use serde::{Deserialize, Serialize};
use taste_data::Samples;
use taste_detector::{Detector, Fit, Named, Settings};
use taste_engine::Model;
use taste_stats::moments::Summary;

use crate::{Error, Run, error::refused};

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
