//! The detector: one ONNX file that holds the model, the method and the decision.

use std::path::Path;

use taste_onnx::Model;
use taste_stats::conformal::{Calibration, Rule};

use crate::{
    Error, ErrorModel, Goal, Manifest, MapReference, Margins, Reference, Role,
    calibrate::thresholds,
    error::unfit,
    file::{self, Contents, single},
    passes::Sketch,
    refused,
};

/// A fitted detector.
#[derive(Clone, Debug)]
pub struct Detector {
    file: Model,
    contents: Contents,
}

impl Detector {
    pub(crate) fn assemble(
        graph: taste_onnx::proto::ModelProto,
        mut contents: Contents,
    ) -> Result<Self, Error> {
        contents.manifest.decision.round();
        let file = file::assemble(graph, &contents)?;
        Ok(Self { file, contents })
    }

    /// Whether a model says that it is a detector.
    pub fn is_one(model: &Model) -> bool {
        file::is_detector(model)
    }

    /// Reads a file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = Model::open(path).map_err(taste_engine::Error::from)?;
        Self::read(file).map_err(|what| Error::File(format!("{}: {what}", path.display())))
    }

    /// Reads the bytes of a file; external data are not reachable.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let file = Model::from_bytes(bytes, None).map_err(taste_engine::Error::from)?;
        Self::read(file).map_err(Error::File)
    }

    fn read(file: Model) -> Result<Self, String> {
        Ok(Self { contents: file::read(&file)?, file })
    }

    /// Writes the file, which is replaced as a whole or left as it was.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        Ok(self.file.save(path).map_err(taste_engine::Error::from)?)
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        Ok(self.file.to_bytes().map_err(taste_engine::Error::from)?)
    }

    /// The file as ONNX.
    pub fn onnx(&self) -> &Model {
        &self.file
    }

    /// Every choice, and what was found on the way.
    pub fn manifest(&self) -> &Manifest {
        &self.contents.manifest
    }

    /// The calibration scores, ascending.
    pub fn calibration(&self) -> &[f32] {
        &self.contents.calibration
    }

    /// Calibration samples that batches are compared with.
    pub fn reference(&self) -> &Reference {
        &self.contents.reference
    }

    /// What the maps of calibration samples were like, if the detector has maps.
    pub fn maps(&self) -> Option<&MapReference> {
        self.contents.maps.as_ref()
    }

    /// What makes the parts of a table's maps comparable, if there are maps: the standard deviation of each column's part
    /// on calibration samples. None where the parts add up to evidence, which is the same unit for all columns.
    pub fn map_units(&self) -> Option<&[f32]> {
        let is_evidence = self.manifest().parts.iter().any(|p| p.role == Role::Evidence);
        let maps = self.maps().filter(|_| !is_evidence)?;
        (self.manifest().model.sample_shape.len() == 1).then_some(&maps.deviations[..])
    }

    /// Whether it computes maps.
    pub fn has_map(&self) -> bool {
        self.contents.maps.is_some()
    }

    /// The calibration values of the novelty, ascending, if the detector tells it.
    pub fn novelty_calibration(&self) -> Option<&[f32]> {
        self.contents.novelty.as_deref()
    }

    /// The values of every column on calibration samples, if samples are rows of a table.
    pub fn margins(&self) -> Option<&Margins> {
        self.contents.margins.as_ref()
    }

    /// What tells training samples from others, if the file has that.
    pub(crate) fn training(&self) -> Option<&Sketch> {
        self.contents.training.as_ref()
    }

    /// Lets the file tell how wrong the model is by score.
    pub fn set_errors(&mut self, errors: Option<ErrorModel>) -> Result<(), Error> {
        self.contents.manifest.errors = errors;
        file::describe(&mut self.file, &self.contents)
    }

    /// Chooses the thresholds for another false-positive rate.
    pub fn set_alpha(&mut self, alpha: f64, rule: Rule) -> Result<(), Error> {
        self.decide(self.manifest().decision.goal, alpha, rule)
    }

    /// Chooses what samples are flagged for.
    pub fn set_goal(&mut self, goal: Goal) -> Result<(), Error> {
        let decision = &self.manifest().decision;
        let Some(alpha) = decision.alpha else {
            let message = "the threshold was set by hand: give a false-positive rate with the goal";
            return Err(unfit("goal", message.to_owned()));
        };
        let rule = decision.rule.parse().unwrap_or(Rule::Conformal);
        self.decide(goal, alpha, rule)
    }

    /// Chooses all thresholds.
    pub fn decide(&mut self, goal: Goal, alpha: f64, rule: Rule) -> Result<(), Error> {
        let Contents { manifest, calibration, novelty, maps, .. } = &mut self.contents;
        let found = thresholds(calibration, novelty.as_deref(), goal, alpha, rule)?;
        if let (Some(facts), Some(maps)) = (&mut manifest.map, maps) {
            let largest = Calibration::new(maps.largest.iter().map(|&s| f64::from(s)));
            facts.threshold = largest.threshold(alpha, rule)?;
            facts.alpha = alpha;
        }
        let decision = &mut manifest.decision;
        decision.goal = goal;
        decision.alpha = Some(alpha);
        decision.rule = rule.to_string();
        (decision.threshold, decision.novelty_threshold) = found;
        self.put_decision()
    }

    /// Sets the threshold of the score by hand; then the score alone flags.
    pub fn set_threshold(&mut self, threshold: f64) -> Result<(), Error> {
        if !single(threshold).is_finite() {
            return Err(refused(format!(
                "a threshold of {threshold:e} is no number to compare with in single precision"
            )));
        }
        let decision = &mut self.contents.manifest.decision;
        *decision = decision.by_hand(Some(threshold), None);
        self.put_decision()
    }

    fn put_decision(&mut self) -> Result<(), Error> {
        self.contents.manifest.decision.round();
        file::put_thresholds(&mut self.file, &self.contents.manifest);
        file::describe(&mut self.file, &self.contents)
    }
}
