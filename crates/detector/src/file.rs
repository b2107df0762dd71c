//! The detector as an ONNX file: what is written where.

use ndarray::Array2;
use taste_onnx::{
    Model, Values, builders,
    proto::{GraphProto, ModelProto, TensorProto},
};

use crate::{
    Decision, Error, FORMAT, Manifest, MapReference, Margins, Reference,
    calibrate::{Thresholds, thresholds},
    decision::{self, Lookup, NOVELTY, Names, SCORE},
    passes::Sketch,
    reference::{pack, unpack},
    refused,
};

const FORMAT_KEY: &str = "taste.format";
const MANIFEST_KEY: &str = "taste.manifest";
const REFERENCE_KEY: &str = "taste.reference";
const MAPS_KEY: &str = "taste.maps";
const MAP_MEANS_KEY: &str = "taste.map_means";
const MARGINS_KEY: &str = "taste.columns";
const TRAINING_KEY: &str = "taste.training";

/// What is in a file.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    pub(crate) manifest: Manifest,
    pub(crate) calibration: Vec<f32>,
    pub(crate) novelty: Option<Vec<f32>>,
    pub(crate) reference: Reference,
    pub(crate) margins: Option<Margins>,
    pub(crate) maps: Option<MapReference>,
    /// Absent from files of older versions, and where no row may be kept.
    pub(crate) training: Option<Sketch>,
}

/// Whether a model says that it is a detector.
pub(crate) fn is_detector(model: &Model) -> bool {
    model.metadata(FORMAT_KEY).is_some()
}

/// Makes the file of a graph whose threshold and calibration scores are still inputs.
pub(crate) fn assemble(mut proto: ModelProto, contents: &Contents) -> Result<Model, Error> {
    "taste".clone_into(&mut proto.producer_name);
    env!("CARGO_PKG_VERSION").clone_into(&mut proto.producer_version);
    "Whether samples differ from the training data in a way that matters to the model. Outputs for every sample: score \
        (larger is further out), p_value, flag, the parts of the score, and the model's own prediction."
        .clone_into(&mut proto.doc_string);
    let mut model = Model::new(proto);
    put_calibration(&mut model, contents);
    put_thresholds(&mut model, &contents.manifest);
    describe(&mut model, contents)?;
    Ok(model)
}

/// Writes the calibration scores into the graph.
pub(crate) fn put_calibration(model: &mut Model, contents: &Contents) {
    let Some(graph) = &mut model.proto.graph else { return };
    let both = [(SCORE, Some(&contents.calibration)), (NOVELTY, contents.novelty.as_ref())];
    for (names, scores) in both {
        let Some(scores) = scores else { continue };
        let lookup = Lookup::new(scores);
        let (rows, width) = lookup.table.dim();
        let table: Vec<f32> = lookup.table.iter().copied().collect();
        bind(graph, builders::tensor_f32(names.calibration, &[rows, width], &table));
    }
}

/// Writes manifest and reference into the metadata.
pub(crate) fn describe(model: &mut Model, contents: &Contents) -> Result<(), Error> {
    let manifest = serde_json::to_string(&contents.manifest).map_err(|e| refused(e.to_string()))?;
    let rows = &contents.reference.rows;
    let mut entries = vec![
        (FORMAT_KEY, FORMAT.to_string()),
        (MANIFEST_KEY, manifest),
        (REFERENCE_KEY, pack(rows.ncols(), rows.iter())),
    ];
    if let Some(maps) = &contents.maps {
        let both = maps.deviations.iter().chain(&maps.largest);
        entries.push((MAPS_KEY, pack(maps.deviations.len(), both)));
        entries.push((MAP_MEANS_KEY, pack(maps.means.len(), maps.means.iter())));
    }
    if let Some(Margins { sorted }) = &contents.margins {
        entries.push((MARGINS_KEY, pack(sorted.ncols(), sorted.iter())));
    }
    entries.extend(contents.training.as_ref().map(|t| (TRAINING_KEY, t.pack())));
    for (key, value) in entries {
        model.set_metadata(key, value);
    }
    Ok(())
}

/// Writes the numbers that score and novelty are compared with: the largest there is for what does not flag.
pub(crate) fn put_thresholds(model: &mut Model, manifest: &Manifest) {
    let Some(graph) = &mut model.proto.graph else { return };
    let decision = &manifest.decision;
    let mut put = |names: Names, threshold: Option<f64>| {
        let threshold = threshold.map_or(f32::MAX, single);
        bind(graph, builders::tensor_f32(names.threshold, &[], &[threshold]));
    };
    put(SCORE, decision.threshold);
    if manifest.has_novelty {
        put(NOVELTY, decision.novelty_threshold);
    }
}

/// Reads what a file says; an error is the rest of a sentence about the file.
pub(crate) fn read(model: &Model) -> Result<Contents, String> {
    let format = model.metadata(FORMAT_KEY).ok_or(
        "this is no detector, as it holds no manifest of taste: fit one to a model and its training data",
    )?;
    let format: u32 = format.parse().map_err(|_| damaged("the version of its format"))?;
    if format != FORMAT {
        return Err(format!(
            "this detector has format {format}, and this version of taste ({}) reads format {FORMAT}: fit it again, or \
             use the version that wrote it",
            env!("CARGO_PKG_VERSION")
        ));
    }
    let manifest = model.metadata(MANIFEST_KEY).ok_or_else(|| damaged("the manifest"))?;
    let manifest: Manifest =
        serde_json::from_str(manifest).map_err(|e| format!("{}: {e}", damaged("the manifest")))?;
    let rows = model
        .metadata(REFERENCE_KEY)
        .and_then(unpack)
        .and_then(|(width, values)| {
            let rows = values.len().checked_div(width)?;
            Array2::from_shape_vec((rows, width), values).ok()
        })
        .filter(|rows| rows.ncols() == reference_width(&manifest))
        .ok_or_else(|| damaged("the reference samples"))?;
    let maps = match (model.metadata(MAPS_KEY), &manifest.map) {
        (Some(text), Some(_)) => {
            Some(map_reference(text, model.metadata(MAP_MEANS_KEY), &manifest)?)
        }
        (None, None) => None,
        _ => return Err(damaged("the maps")),
    };
    let margins = match model.metadata(MARGINS_KEY) {
        None => None,
        Some(text) => Some(margins(text, &manifest).ok_or_else(|| damaged("the columns"))?),
    };
    let calibration = calibration(model, SCORE, &manifest)?;
    let novelty = if manifest.has_novelty {
        Some(self::calibration(model, NOVELTY, &manifest)?)
    } else {
        None
    };
    check_decision(model, &manifest.decision, &calibration, novelty.as_deref())?;
    let training = match model.metadata(TRAINING_KEY) {
        None => None,
        Some(text) => Some(Sketch::unpack(text).ok_or_else(|| damaged("the training samples"))?),
    };
    let reference = Reference { rows };
    Ok(Contents { manifest, calibration, novelty, reference, margins, maps, training })
}

/// Thresholds of the graph, thresholds of the manifest and, unless they were set by hand, what the calibration scores give
/// are the same.
fn check_decision(
    model: &Model,
    decision: &Decision,
    calibration: &[f32],
    novelty: Option<&[f32]>,
) -> Result<(), String> {
    let graph = (
        threshold(model, SCORE)?,
        novelty.map(|_| threshold(model, NOVELTY)).transpose()?.flatten(),
    );
    let agree = |what: &str, (score, novelty): Thresholds| {
        // What no number exceeds is no threshold in a file.
        let of = |t: Option<f64>| t.map(single).filter(|t| *t < f32::MAX);
        let pairs = [(score, graph.0), (novelty, graph.1)];
        let unlike = pairs.into_iter().find(|(said, used)| of(*said) != of(*used));
        unlike.map_or(Ok(()), |(said, used)| {
            let number = |t: Option<f64>| of(t).map_or("none".to_owned(), |t| t.to_string());
            let (said, used) = (number(said), number(used));
            Err(format!("this detector is damaged: it flags beyond {used}, and {what} {said}"))
        })
    };
    agree("its manifest says", (decision.threshold, decision.novelty_threshold))?;
    let Some(alpha) = decision.alpha else { return Ok(()) };
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(damaged("the false-positive rate"));
    }
    let rule = decision.rule.parse().map_err(|_| damaged("the rule of its threshold"))?;
    let found = thresholds(calibration, novelty, decision.goal, alpha, rule)
        .map_err(|e| format!("this detector is damaged: {e}"))?;
    agree("its calibration scores give", found)
}

/// Columns of a reference row: those of every part, the score, the novelty.
fn reference_width(manifest: &Manifest) -> usize {
    let parts: usize = manifest.parts.iter().map(|p| p.columns.len()).sum();
    parts + 1 + usize::from(manifest.has_novelty)
}

fn margins(text: &str, manifest: &Manifest) -> Option<Margins> {
    let (width, values) = unpack(text)?;
    let columns: usize = manifest.model.sample_shape.iter().product();
    let sorted = Array2::from_shape_vec((columns, width), values).ok()?;
    let ascends =
        |row: ndarray::ArrayView1<'_, f32>| row.iter().is_sorted_by(|a, b| a.total_cmp(b).is_le());
    sorted.outer_iter().all(ascends).then_some(Margins { sorted })
}

/// The calibration scores that the graph compares with, ascending; those that are no number are infinite.
fn calibration(model: &Model, names: Names, manifest: &Manifest) -> Result<Vec<f32>, String> {
    let mut scores = constant(model, names.calibration)?;
    let count = manifest.data.calibrated;
    // NaN is nowhere in an ascending table.
    if scores.len() < count || !scores.iter().is_sorted() || scores.iter().any(|s| s.is_nan()) {
        return Err(damaged("the calibration scores"));
    }
    scores.truncate(count);
    Ok(decision::lifted(scores))
}

/// The threshold that the graph compares with; none where nothing reaches it.
fn threshold(model: &Model, names: Names) -> Result<Option<f64>, String> {
    match constant(model, names.threshold)?[..] {
        [threshold] if threshold.is_nan() => Err(damaged(names.threshold)),
        [threshold] => Ok((threshold < f32::MAX).then(|| f64::from(threshold))),
        _ => Err(damaged(names.threshold)),
    }
}

/// `means` is not there in files of earlier versions.
fn map_reference(
    text: &str,
    means: Option<&str>,
    manifest: &Manifest,
) -> Result<MapReference, String> {
    let (width, mut deviations) = unpack(text).ok_or_else(|| damaged("the maps"))?;
    let entries: usize = manifest.model.sample_shape.iter().product();
    if width > deviations.len() || (width != entries && width != 0) {
        return Err(damaged("the maps"));
    }
    let largest = deviations.split_off(width);
    let means = means.map_or(Some((0, Vec::new())), unpack).map(|(_, means)| means);
    let means = means.filter(|means| [0, width].contains(&means.len()));
    Ok(MapReference { means: means.ok_or_else(|| damaged("the maps"))?, deviations, largest })
}

/// The numbers of a constant of the file.
fn constant(model: &Model, name: &str) -> Result<Vec<f32>, String> {
    let graph = model.proto.graph.as_ref().ok_or_else(|| damaged("the graph"))?;
    let found = graph.initializer.iter().find(|t| t.name == name);
    let found = found.ok_or_else(|| damaged(name))?;
    match model.tensor(found).map_err(|_| damaged(name))?.values {
        Values::F32(values) => Ok(values),
        _ => Err(damaged(name)),
    }
}

fn damaged(what: &str) -> String {
    format!("this detector is damaged: {what} can't be read")
}

#[expect(clippy::cast_possible_truncation, reason = "files are single precision")]
pub(crate) fn single(value: f64) -> f32 {
    value as f32
}

/// Makes a constant of an input, or replaces the constant.
fn bind(graph: &mut GraphProto, tensor: TensorProto) {
    graph.input.retain(|i| i.name != tensor.name);
    graph.initializer.retain(|t| t.name != tensor.name);
    graph.initializer.push(tensor);
}
