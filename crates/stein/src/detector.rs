//! The detector: one ONNX file that holds the model, the score, the residual and the decision.

use std::{fmt, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ndarray::{Array2, ArrayD, Ix2};
use taste_engine::{Backend, Value};
use taste_onnx::{
    builders,
    proto::{GraphProto, ModelProto, TensorProto},
};

use crate::{
    Decision, Error, Manifest,
    decision::{self, CALIBRATION, Lookup, THRESHOLD},
    error::request,
    manifest::FORMAT,
    runner::Runner,
    stats::conformal::{Calibration, Rule},
};

const FORMAT_KEY: &str = "taste.format";
const MANIFEST_KEY: &str = "taste.manifest";
const REFERENCE_KEY: &str = "taste.reference";
const MAPS_KEY: &str = "taste.maps";

/// A fitted detector.
#[derive(Clone, Debug)]
pub struct Detector {
    file: taste_onnx::Model,
    manifest: Manifest,
    calibration: Vec<f32>,
    reference: Reference,
    maps: Option<MapReference>,
}

/// Calibration samples that batches are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// One row a sample: the adjusted residual of every component, then that of the predicted class (or of the only
    /// function), then the score.
    pub rows: Array2<f32>,
}

/// What the maps of calibration samples were like.
#[derive(Clone, Debug, PartialEq)]
pub struct MapReference {
    /// The standard deviation of every entry.
    pub deviations: Vec<f32>,
    /// The largest size of an entry, summed over channels, for every calibration sample, ascending.
    pub largest: Vec<f32>,
}

/// What a detector says of some samples.
#[derive(Clone, Debug)]
pub struct Scores {
    /// The adjusted residual of the predicted class, or of the only function.
    pub residual: Vec<f32>,
    /// How far out: larger is further.
    pub score: Vec<f32>,
    /// (1 + #{calibration scores ≥ score}) / (n + 1).
    pub p_value: Vec<f32>,
    /// Whether the score is above the threshold, or no number.
    pub flag: Vec<bool>,
    /// The adjusted residuals of all classes, if the detector looks at several.
    pub residuals: Option<Array2<f32>>,
    /// The residual by entry of the sample, if that was asked for.
    pub map: Option<ArrayD<f32>>,
}

/// What a new detector is made of.
pub(crate) struct Pieces {
    pub(crate) graph: ModelProto,
    pub(crate) manifest: Manifest,
    pub(crate) lookup: Lookup,
    pub(crate) reference: Reference,
    pub(crate) maps: Option<MapReference>,
}

impl Detector {
    pub(crate) fn assemble(pieces: Pieces) -> Result<Self, Error> {
        let Pieces { graph: mut proto, mut manifest, lookup, reference, maps } = pieces;
        manifest.decision.threshold = f64::from(single(manifest.decision.threshold));
        "taste".clone_into(&mut proto.producer_name);
        env!("CARGO_PKG_VERSION").clone_into(&mut proto.producer_version);
        "Whether samples differ from the training data in a way that matters to the model. \
            Outputs: residual, score (larger is further out), p_value and flag for every sample."
            .clone_into(&mut proto.doc_string);
        let graph = proto.graph.get_or_insert_default();
        let (rows, width) = lookup.table.dim();
        let table: Vec<f32> = lookup.table.iter().copied().collect();
        bind(graph, builders::tensor_f32(CALIBRATION, &[rows, width], &table));
        bind(graph, builders::tensor_f32(THRESHOLD, &[], &[single(manifest.decision.threshold)]));
        let mut detector = Self {
            file: taste_onnx::Model::new(proto),
            manifest,
            calibration: lookup.scores(),
            reference,
            maps,
        };
        detector.describe()?;
        Ok(detector)
    }

    /// Writes manifest and reference into the metadata of the file.
    fn describe(&mut self) -> Result<(), Error> {
        let manifest = serde_json::to_string(&self.manifest).map_err(|e| request(e.to_string()))?;
        let reference = pack(self.reference.rows.ncols(), self.reference.rows.iter());
        self.file.set_metadata(FORMAT_KEY, FORMAT.to_string());
        self.file.set_metadata(MANIFEST_KEY, manifest);
        self.file.set_metadata(REFERENCE_KEY, reference);
        if let Some(maps) = &self.maps {
            let both = maps.deviations.iter().chain(&maps.largest);
            self.file.set_metadata(MAPS_KEY, pack(maps.deviations.len(), both));
        }
        Ok(())
    }

    /// Whether a model says that it is a detector.
    pub fn is_one(model: &taste_onnx::Model) -> bool {
        model.metadata(FORMAT_KEY).is_some()
    }

    /// Reads a file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = taste_onnx::Model::open(path).map_err(taste_engine::Error::from)?;
        Self::read(file).map_err(|message| request(format!("{}: {message}", path.display())))
    }

    fn read(file: taste_onnx::Model) -> Result<Self, String> {
        let entry = |key: &str| file.metadata(key);
        let format = entry(FORMAT_KEY).ok_or(
            "this is no detector, as it holds no manifest of taste: `taste fit` makes one of a model",
        )?;
        let format: u32 = format.parse().map_err(|_| damaged("the version of its format"))?;
        if format != FORMAT {
            return Err(format!(
                "this detector has format {format}, and this version of taste ({}) reads format {FORMAT}: fit it \
                 again, or use the version that wrote it",
                env!("CARGO_PKG_VERSION")
            ));
        }
        let manifest = entry(MANIFEST_KEY).ok_or_else(|| damaged("the manifest"))?;
        let mut manifest: Manifest = serde_json::from_str(manifest)
            .map_err(|e| format!("{}: {e}", damaged("the manifest")))?;
        let (_, rows) = entry(REFERENCE_KEY)
            .and_then(unpack)
            .and_then(|(width, values)| {
                let rows = values.len().checked_div(width)?;
                Some((width, Array2::from_shape_vec((rows, width), values).ok()?))
            })
            .ok_or_else(|| damaged("the reference samples"))?;
        let components = manifest.baseline.means.len();
        if rows.ncols() != components + 2 {
            return Err(damaged("the reference samples"));
        }
        let maps = match (entry(MAPS_KEY), &manifest.map) {
            (Some(text), Some(_)) => {
                let (width, mut deviations) = unpack(text).ok_or_else(|| damaged("the maps"))?;
                if width > deviations.len() {
                    return Err(damaged("the maps"));
                }
                let largest = deviations.split_off(width);
                Some(MapReference { deviations, largest })
            }
            (None, None) => None,
            _ => return Err(damaged("the maps")),
        };
        let graph = file.proto.graph.as_ref().ok_or_else(|| damaged("the graph"))?;
        let constant = |name: &str| -> Result<Vec<f32>, String> {
            let found = graph.initializer.iter().find(|t| t.name == name);
            let found = found.ok_or_else(|| damaged(name))?;
            let data = file.tensor(found).map_err(|_| damaged(name))?;
            match data.values {
                taste_onnx::Values::F32(values) => Ok(values),
                _ => Err(damaged(name)),
            }
        };
        let mut calibration = constant(CALIBRATION)?;
        if calibration.len() < manifest.data.calibrated {
            return Err(damaged("the calibration scores"));
        }
        calibration.truncate(manifest.data.calibrated);
        let calibration = decision::lifted(calibration);
        // What the graph compares with is what counts, also if it was changed with another tool.
        match constant(THRESHOLD)?[..] {
            [threshold] if threshold.is_nan() => return Err(damaged(THRESHOLD)),
            [threshold] if threshold.to_bits() != single(manifest.decision.threshold).to_bits() => {
                manifest.decision = Decision::by_hand(f64::from(threshold));
            }
            [_] => {}
            _ => return Err(damaged(THRESHOLD)),
        }
        Ok(Self { manifest, calibration, reference: Reference { rows }, maps, file })
    }

    /// Writes the file, which is replaced as a whole or left as it was.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        Ok(self.file.save(path).map_err(taste_engine::Error::from)?)
    }

    /// Every choice, and what was found on the way.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The calibration scores, ascending.
    pub fn calibration(&self) -> &[f32] {
        &self.calibration
    }

    /// Calibration samples that batches are compared with.
    pub fn reference(&self) -> &Reference {
        &self.reference
    }

    /// What the maps of calibration samples were like, if the detector has maps.
    pub fn maps(&self) -> Option<&MapReference> {
        self.maps.as_ref()
    }

    /// Whether it computes maps.
    pub fn has_map(&self) -> bool {
        self.maps.is_some()
    }

    /// Chooses the threshold for another share of false alarms.
    pub fn set_alpha(&mut self, alpha: f64, rule: Rule) -> Result<(), Error> {
        let calibration = Calibration::new(self.calibration.iter().map(|&s| f64::from(s)));
        let threshold = calibration.threshold(alpha, rule)?;
        if let (Some(facts), Some(maps)) = (&mut self.manifest.map, &self.maps) {
            let largest = Calibration::new(maps.largest.iter().map(|&s| f64::from(s)));
            facts.threshold = largest.threshold(alpha, rule)?;
            facts.alpha = alpha;
        }
        self.manifest.decision.alpha = Some(alpha);
        self.manifest.decision.rule = rule.to_string();
        self.put_threshold(threshold)
    }

    /// Sets the threshold by hand.
    pub fn set_threshold(&mut self, threshold: f64) -> Result<(), Error> {
        if !threshold.is_finite() {
            return Err(request(format!(
                "a threshold of {threshold} is no number to compare with"
            )));
        }
        self.manifest.decision = Decision::by_hand(threshold);
        self.put_threshold(threshold)
    }

    fn put_threshold(&mut self, threshold: f64) -> Result<(), Error> {
        self.manifest.decision.threshold = f64::from(single(threshold));
        if let Some(graph) = &mut self.file.proto.graph {
            bind(graph, builders::tensor_f32(THRESHOLD, &[], &[single(threshold)]));
        }
        self.describe()
    }

    /// Prepares the detector to score samples; maps are computed only if they are asked for.
    pub fn start(
        &self,
        backend: &Backend,
        threads: usize,
        with_map: bool,
    ) -> Result<Scorer, Error> {
        if with_map && !self.has_map() {
            return Err(request(
                "this detector has no maps: fit it again with --map to see where a sample differs",
            ));
        }
        let several = self.manifest.baseline.means.len() > 1;
        let mut outputs = vec!["residual", "score", "p_value", "flag"];
        outputs.extend(several.then_some("residuals"));
        outputs.extend(with_map.then_some("map"));
        let file = self.file.with_outputs(&outputs);
        let model = taste_engine::Model::from_onnx("the detector", file);
        let session = backend.load(&model, &outputs, threads)?;
        let batch = session.batch();
        let runner = Runner::new(session, &self.manifest.model.input, batch);
        Ok(Scorer { runner, several, with_map })
    }
}

/// A detector in an engine.
pub struct Scorer {
    runner: Runner,
    several: bool,
    with_map: bool,
}

impl fmt::Debug for Scorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scorer").field("with_map", &self.with_map).finish_non_exhaustive()
    }
}

impl Scorer {
    /// Scores samples along the first axis.
    pub fn score(&mut self, samples: &ArrayD<f32>) -> Result<Scores, Error> {
        let mut results = self.runner.run(samples)?.into_iter();
        let mut next =
            || results.next().ok_or_else(|| request("the detector gave too few results"));
        let numbers = |v: Value| -> Vec<f32> { v.to_f32().into_iter().collect() };
        let residual = numbers(next()?);
        let score = numbers(next()?);
        let p_value = numbers(next()?);
        let flag = next()?.to_f32().iter().map(|&v| v != 0.0).collect();
        let residuals = if self.several {
            let all = next()?.to_f32().into_dimensionality::<Ix2>();
            Some(all.map_err(|e| request(format!("the residuals of the detector: {e}")))?)
        } else {
            None
        };
        let map = if self.with_map { Some(next()?.to_f32()) } else { None };
        Ok(Scores { residual, score, p_value, flag, residuals, map })
    }
}

fn damaged(what: &str) -> String {
    format!("this detector is damaged: {what} can't be read")
}

#[expect(clippy::cast_possible_truncation, reason = "files are single precision")]
fn single(value: f64) -> f32 {
    value as f32
}

/// Makes a constant of an input, or replaces the constant.
fn bind(graph: &mut GraphProto, tensor: TensorProto) {
    graph.input.retain(|i| i.name != tensor.name);
    graph.initializer.retain(|t| t.name != tensor.name);
    graph.initializer.push(tensor);
}

/// The width of a row and the numbers, as text.
fn pack<'a>(width: usize, values: impl Iterator<Item = &'a f32>) -> String {
    let bytes: Vec<u8> = values.flat_map(|v| v.to_le_bytes()).collect();
    format!("{width}:{}", BASE64_STANDARD.encode(bytes))
}

fn unpack(text: &str) -> Option<(usize, Vec<f32>)> {
    let (width, data) = text.split_once(':')?;
    let bytes = BASE64_STANDARD.decode(data).ok()?;
    let (words, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    Some((width.parse().ok()?, words.iter().map(|w| f32::from_le_bytes(*w)).collect()))
}
