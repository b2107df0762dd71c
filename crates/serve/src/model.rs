//! A detector that is served: what it takes, what it gives, and how tensors become its samples.

use std::{path::Path, sync::OnceLock};

use ndarray::{Array2, ArrayD, ArrayViewD, Axis, IxDyn};
use taste_data::{from_array, from_images};
use taste_detector::{Detector, Engine, Fed, Scorer, Scores};

use crate::{
    Error,
    protocol::{Asked, Contents, Datatype, Output, Tensor, Values},
    refusal::Refusal,
};

/// A detector under a name.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) name: String,
    /// The SHA-256 of its file.
    pub(crate) sha256: String,
    pub(crate) detector: Detector,
    engine: Engine,
    scorer: Scorer,
    /// The same with maps; made when somebody asks for one.
    mapping: OnceLock<Result<Scorer, String>>,
    pub(crate) fed: Vec<Fed>,
    /// How many entries a sample has.
    pub(crate) entries: usize,
}

/// A detector has one version: another file is another detector.
pub(crate) const VERSION: &str = "1";

/// The most entries of all samples of a request.
const MOST_ENTRIES: usize = 1 << 26;

impl Model {
    pub(crate) fn open(name: String, path: &Path, engine: Engine) -> Result<Self, Error> {
        let unread = |e: taste_detector::Error| Error::Detector {
            path: path.to_owned(),
            source: Box::new(e),
        };
        let bytes =
            std::fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
        let sha256 = crate::digest::hex(&crate::digest::sha256(&bytes));
        drop(bytes);
        let detector = Detector::open(path).map_err(unread)?;
        let scorer = detector.start_predicting(&engine).map_err(unread)?;
        let fed = scorer.fed();
        let entries = detector.manifest().model.sample_shape.iter().product();
        let mapping = OnceLock::new();
        Ok(Self { name, sha256, detector, engine, scorer, mapping, fed, entries })
    }

    /// Scores samples, with maps where they are asked for.
    pub(crate) fn score(&self, samples: ArrayViewD<'_, f32>, map: bool) -> Result<Scores, String> {
        let scorer = if map { self.mapping()? } else { &self.scorer };
        scorer.score(samples).map_err(|e| e.to_string())
    }

    fn mapping(&self) -> Result<&Scorer, String> {
        let start = || {
            let started = self.detector.start_with_prediction(&self.engine, true);
            started.map_err(|e| e.to_string())
        };
        self.mapping.get_or_init(start).as_ref().map_err(Clone::clone)
    }

    /// Samples of the tensors of a request. With `prepare`, floats are prepared as those of files are.
    pub(crate) fn samples(
        &self,
        tensors: Vec<Tensor>,
        prepare: bool,
    ) -> Result<ArrayD<f32>, Refusal> {
        if let Some(tensor) = tensors.iter().find(|t| self.fed.iter().all(|f| f.name != t.name)) {
            let names: Vec<&str> = self.fed.iter().map(|f| f.name.as_str()).collect();
            return Err(Refusal::invalid(format!(
                "no input {:?}; {} takes {}",
                tensor.name,
                self.name,
                names.join(", ")
            )));
        }
        if let [Fed { whole: false, .. }] = &self.fed[..] {
            let mut tensors = tensors.into_iter();
            return match (tensors.next(), tensors.next()) {
                (Some(tensor), None) => self.single(tensor, prepare),
                (None, _) => Err(Refusal::invalid("the request has no inputs")),
                (Some(tensor), Some(_)) => {
                    Err(Refusal::invalid(format!("the input {:?} is given twice", tensor.name)))
                }
            };
        }
        self.columns(&tensors)
    }

    /// Samples that one tensor holds.
    fn single(&self, tensor: Tensor, prepare: bool) -> Result<ArrayD<f32>, Refusal> {
        let Tensor { name, datatype, shape, contents } = tensor;
        let rows = shape.first().copied().unwrap_or(1);
        self.check_rows(rows)?;
        let reading = self.detector.reading();
        let refused = |e: taste_data::Error| Refusal::invalid(e.to_string());
        let values = match contents {
            Contents::Texts(pictures) => {
                self.check_rows(pictures.len())?;
                return from_images(&name, &pictures, &reading).map_err(refused);
            }
            Contents::Numbers(values) => values,
        };
        let values = ArrayD::from_shape_vec(IxDyn(&shape), values)
            .map_err(|e| Refusal::invalid(format!("input {name:?}: {e}")))?;
        let bytes = datatype == Datatype::Uint8;
        if bytes || prepare {
            return from_array(&name, values, bytes, &reading).map_err(refused);
        }
        let wanted = &self.detector.manifest().model.sample_shape;
        if shape.get(1..) != Some(wanted) {
            let open: Vec<String> = std::iter::once("n".to_owned())
                .chain(wanted.iter().map(ToString::to_string))
                .collect();
            return Err(Refusal::invalid(format!(
                "input {name:?} wants the shape [{}] and got {shape:?}",
                open.join(", ")
            )));
        }
        Ok(values)
    }

    /// Samples whose entries are spread over several tensors.
    fn columns(&self, tensors: &[Tensor]) -> Result<ArrayD<f32>, Refusal> {
        let mut rows = None;
        let mut parts = Vec::with_capacity(self.fed.len());
        for fed in &self.fed {
            let mut own = tensors.iter().filter(|t| t.name == fed.name);
            let (Some(tensor), None) = (own.next(), own.next()) else {
                return Err(Refusal::invalid(format!(
                    "the input {:?} must be given once",
                    fed.name
                )));
            };
            let width: usize = fed.shape.iter().product();
            let found = tensor.shape.first().copied().unwrap_or(1);
            let entries: usize = tensor.shape.iter().skip(1).product();
            let rows = *rows.get_or_insert(found);
            if found != rows || entries != width {
                return Err(Refusal::invalid(format!(
                    "input {:?} wants {rows} samples of shape {:?} and got the shape {:?}",
                    fed.name, fed.shape, tensor.shape
                )));
            }
            let values = self.numbers(tensor)?;
            let part = Array2::from_shape_vec((rows, width), values)
                .map_err(|e| Refusal::invalid(format!("input {:?}: {e}", fed.name)))?;
            parts.push(part);
        }
        self.check_rows(rows.unwrap_or(0))?;
        let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
        let joined = ndarray::concatenate(Axis(1), &views);
        Ok(joined.map_err(|e| Refusal::invalid(e.to_string()))?.into_dyn())
    }

    /// Numbers of a column, by the dictionary of the detector if it holds words.
    fn numbers(&self, tensor: &Tensor) -> Result<Vec<f32>, Refusal> {
        let texts = match &tensor.contents {
            Contents::Numbers(values) => return Ok(values.clone()),
            Contents::Texts(texts) => texts,
        };
        let words = &self.detector.manifest().data.reading.words;
        let Some(dictionary) = words.iter().find(|d| d.column == tensor.name) else {
            return Err(Refusal::invalid(format!(
                "input {:?} takes numbers and got BYTES",
                tensor.name
            )));
        };
        let number = |text: &Vec<u8>| {
            let place = dictionary.words.iter().position(|word| word.as_bytes() == text);
            place.unwrap_or_else(|| dictionary.unseen()) as f32
        };
        Ok(texts.iter().map(number).collect())
    }

    /// Fails where so many samples would be too large, or none.
    pub(crate) fn check_rows(&self, rows: usize) -> Result<(), Refusal> {
        if rows == 0 {
            return Err(Refusal::invalid("there are no samples"));
        }
        if rows.saturating_mul(self.entries) > MOST_ENTRIES {
            return Err(Refusal::too_large(format!(
                "{rows} samples of {} entries are more than {MOST_ENTRIES} in one request",
                self.entries
            )));
        }
        Ok(())
    }

    /// The outputs and their widths; none for a number a sample. The map comes last, if there is one.
    pub(crate) fn outputs(&self) -> Vec<(String, &'static str, Vec<usize>)> {
        let manifest = self.detector.manifest();
        let number = |name: &str| (name.to_owned(), "FP32", Vec::new());
        let mut outputs =
            vec![number("score"), number("p_value"), ("flag".to_owned(), "BOOL", Vec::new())];
        if manifest.has_novelty {
            outputs.extend(["novelty", "novelty_p_value"].map(number));
        }
        for part in &manifest.parts {
            outputs.push((part.name.clone(), "FP32", width_of(part.columns.len())));
        }
        let model = &manifest.model;
        outputs.push((model.prediction.clone(), "FP32", vec![model.outputs]));
        if self.detector.has_map() {
            outputs.push(("map".to_owned(), "FP32", model.sample_shape.clone()));
        }
        outputs
    }

    /// Whether an output must be computed apart.
    pub(crate) fn wants_map(&self, asked: &[Asked]) -> Result<bool, Refusal> {
        let known = self.outputs();
        for Asked { name, .. } in asked {
            if known.iter().all(|output| output.0 != *name) {
                let names: Vec<&str> = known.iter().map(|output| output.0.as_str()).collect();
                return Err(Refusal::invalid(format!(
                    "no output {name:?}; {} gives {}",
                    self.name,
                    names.join(", ")
                )));
            }
        }
        Ok(asked.iter().any(|a| a.name == "map"))
    }

    /// Tensors of what was found: those that are asked for, or all.
    pub(crate) fn answer(&self, scores: &Scores, asked: &[Asked], binary: bool) -> Vec<Output> {
        let named = |name: &str| -> Option<Output> {
            let (shape, values) = tensor(scores, &self.detector.manifest().model.prediction, name)?;
            Some(Output { name: name.to_owned(), shape, values, binary })
        };
        if asked.is_empty() {
            return self.outputs().iter().filter_map(|output| named(&output.0)).collect();
        }
        let one = |a: &Asked| {
            named(&a.name).map(|o| Output { binary: a.binary().unwrap_or(binary), ..o })
        };
        asked.iter().filter_map(one).collect()
    }
}

/// A column is a number a sample, as in the file.
fn width_of(columns: usize) -> Vec<usize> {
    if columns == 1 { Vec::new() } else { vec![columns] }
}

fn tensor(scores: &Scores, prediction: &str, name: &str) -> Option<(Vec<usize>, Values)> {
    let numbers = |values: &[f32]| (vec![values.len()], Values::Floats(values.to_vec()));
    let table = |values: &Array2<f32>, shape: Vec<usize>| {
        (shape, Values::Floats(values.iter().copied().collect()))
    };
    Some(match name {
        "score" => numbers(&scores.score),
        "p_value" => numbers(&scores.p_value),
        "flag" => (vec![scores.len()], Values::Bools(scores.flag.clone())),
        "novelty" => numbers(&scores.novelty.as_ref()?.score),
        "novelty_p_value" => numbers(&scores.novelty.as_ref()?.p_value),
        "map" => {
            let map = scores.map.as_ref()?;
            (map.shape().to_vec(), Values::Floats(map.iter().copied().collect()))
        }
        _ if scores.part(name).is_some() => {
            let part = scores.part(name)?;
            let shape = std::iter::once(part.nrows()).chain(width_of(part.ncols()));
            table(part, shape.collect())
        }
        _ if name == prediction => {
            let values = scores.prediction.as_ref()?;
            table(values, values.shape().to_vec())
        }
        _ => return None,
    })
}
