//! Other calibration samples for a detector that stays as it is otherwise.

use taste_data::Samples;
use taste_engine::{Draft, Model, Request};
use taste_graph::Id;
use taste_stats::conformal::samples_needed;

use crate::{
    Detector, Engine, Error, Map, Part, Progress, Shortage, Statistic,
    calibrate::{Calibrated, thresholds, watches},
    divide::Share,
    error::refused,
    file::Contents,
    fit::{Decided, plan},
    health,
    passes::{self, Source},
};

impl Detector {
    /// The same method with the scores of these samples as its calibration: p-values, thresholds, the reference of batch
    /// tests. Nothing is learnt again; neither the model nor the method may have seen the samples.
    pub fn recalibrate(
        &self,
        samples: &dyn Samples,
        engine: &Engine,
        progress: &Progress<'_>,
    ) -> Result<Self, Error> {
        let (mut draft, statistic) = self.opened()?;
        let mut manifest = self.manifest().clone();
        let shape = &manifest.model.sample_shape;
        if samples.sample_shape() != shape {
            return Err(refused(format!(
                "{}: its samples have shape {:?}, and the detector takes {shape:?}",
                samples.name(),
                samples.sample_shape()
            )));
        }
        let settings = &manifest.settings;
        let watches = watches(&mut draft.build(), &statistic, shape, settings)?;
        let (source, share) = (Source::Calibration, Share::ALL);
        let plan = plan(&draft, settings, "calibration samples", source, share, &watches, false)?;
        let seen = passes::run(&plan, samples, engine, progress)?.finish(&plan)?;
        let in_training = match self.training() {
            Some(training) => seen.sketch().apart_from(training, samples.name())?,
            None => 0.0,
        };
        let calibrated = Calibrated::of(&statistic, &seen)?;
        let count = calibrated.scores.len();
        let alpha = manifest.decision.alpha.unwrap_or(settings.alpha);
        let needed = usize::try_from(samples_needed(alpha)).unwrap_or(usize::MAX);
        if count < needed {
            return Err(Error::TooFew(Shortage {
                data: samples.name().to_owned(),
                alpha,
                needed,
                got: count,
                available: count,
                hold_out: None,
                enough: needed,
            }));
        }
        let rule = manifest.decision.rule.parse().unwrap_or(settings.rule);
        let novelty = calibrated.novelty.as_deref();
        let goal = manifest.decision.goal;
        let found = thresholds(&calibrated.scores, novelty, goal, alpha, rule)?;
        let decision = &mut manifest.decision;
        (decision.threshold, decision.novelty_threshold) = found;
        decision.alpha = Some(alpha);
        decision.tolerance = f64::from(calibrated.tolerance);
        decision.rule = rule.to_string();
        manifest.map = calibrated.map_facts(&manifest.settings)?;
        manifest.data.calibration = Some(samples.name().to_owned());
        manifest.data.calibrated = count;
        // Learnt on other samples.
        manifest.errors = None;
        let own = health::findings(&health::Evidence {
            fitted: manifest.data.fitted,
            left_out: 0,
            tails: 0,
            bad_inputs: 0,
            bad_values: 0,
            calibrated: &calibrated,
            calibration_given: true,
            in_training,
        });
        manifest.findings.retain(|f| !health::CALIBRATION_CHECKS.contains(&f.check.as_str()));
        manifest.findings.extend(own);
        let name = manifest.model.prediction.clone();
        let prediction = (name.clone(), named(&draft, &name)?);
        let Decided { graph, lookup, novelty, .. } =
            Decided::new(&mut draft, &statistic, &calibrated, prediction)?;
        Self::assemble(
            graph,
            Contents {
                manifest,
                calibration: lookup.scores(),
                novelty: novelty.map(|l| l.scores()),
                reference: calibrated.reference,
                margins: calibrated.margins,
                training: self.training().cloned(),
                maps: calibrated.maps.map(|m| m.0),
            },
        )
    }

    /// The graph of the file, and what its outputs are.
    fn opened(&self) -> Result<(Draft, Statistic), Error> {
        let manifest = self.manifest();
        let model = Model::from_onnx("the detector", self.onnx().clone());
        let mut also: Vec<String> = manifest.parts.iter().map(|p| p.name.clone()).collect();
        also.extend(manifest.has_novelty.then(|| "novelty".to_owned()));
        also.extend(self.has_map().then(|| "map".to_owned()));
        also.push(manifest.model.prediction.clone());
        let draft = model.draft(&Request {
            output: Some("score".to_owned()),
            wrt: manifest.model.inputs.is_empty().then(|| manifest.model.input.clone()),
            also,
            memory: manifest.settings.memory,
            // The detector's graph does so itself.
            fill: None,
            ..Request::default()
        })?;
        let mut statistic = Statistic::new(named(&draft, "score")?);
        if manifest.has_novelty {
            statistic.novelty = Some(named(&draft, "novelty")?);
        }
        for part in &manifest.parts {
            statistic.parts.push(Part {
                name: part.name.clone(),
                id: named(&draft, &part.name)?,
                columns: part.columns.clone(),
                role: part.role,
                baseline: part.baseline.clone(),
            });
        }
        if let Some(maps) = self.maps() {
            let (means, deviations) = (maps.means.clone(), maps.deviations.clone());
            let one_sided = manifest.map.as_ref().is_some_and(|facts| facts.one_sided);
            statistic.map = Some(Map { id: named(&draft, "map")?, means, deviations, one_sided });
        }
        Ok((draft, statistic))
    }
}

fn named(draft: &Draft, name: &str) -> Result<Id, Error> {
    draft.value(name).ok_or_else(|| refused(format!("the detector has no output {name:?}")))
}
