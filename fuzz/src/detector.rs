//! Detectors: what must hold for any bytes, and small ones to start from.

use std::{collections::HashMap, error::Error, sync::Arc};

use ndarray::{ArrayD, IxDyn};
use taste_choice::Arguments;
use taste_data::InMemory;
use taste_detector::{Detector, Engine, Fit, Method, Named, Settings};
use taste_engine::{Backend, Model};
use taste_onnx::{DimSpec, ElemType, builders, proto::GraphProto};
use taste_stats::random::Random;
use taste_stein::{Settings as Choices, SteinMethod, aggregates};
use taste_zoo::DETECTORS;

const ROWS: usize = 3;
/// Beyond so many nodes, or entries of a value, samples are not scored: that a large file takes long is no defect.
const NODES: usize = 2000;
const ENTRIES: usize = 4096;

/// Opens bytes as a detector and scores a few samples in both embedded engines if it is small. Whatever is wrong must
/// come back as an error: nothing here may panic, take long, or allocate much more than the bytes call for.
pub fn check_detector(bytes: &[u8]) {
    let detector = match Detector::from_bytes(bytes) {
        Ok(detector) => detector,
        Err(e) => return drop(e.to_string()),
    };
    let mut shape = vec![ROWS];
    shape.extend(&detector.manifest().model.sample_shape);
    let entries = shape.iter().fold(1, |n: usize, &size| n.saturating_mul(size));
    if entries > ENTRIES || !is_small(bytes) {
        return;
    }
    let samples = ArrayD::from_elem(shape, 0.5);
    for backend in [Backend::REFERENCE, Backend::RTEN] {
        let engine = Engine { backend, threads: 1 };
        for with_map in [false, true] {
            match detector.start(&engine, with_map).and_then(|s| s.score(samples.view())) {
                Ok(scores) => drop(scores),
                Err(e) => drop(e.to_string()),
            }
        }
    }
}

/// Whether all values of the graph are small, as far as the importer knows it.
fn is_small(bytes: &[u8]) -> bool {
    let Ok(file) = taste_onnx::Model::from_bytes(bytes, None) else { return false };
    let Ok(imported) = taste_ops::import(&file, &[], &HashMap::new()) else { return false };
    let graph = &imported.graph;
    let mut values = graph.nodes().iter().flat_map(|node| &node.outs);
    graph.nodes().len() <= NODES && values.all(|&id| graph.fact(id).at(ROWS).len() <= ENTRIES)
}

/// Small detectors with their names: one function and several, with and without maps.
pub(crate) fn seeds() -> Result<Vec<(&'static str, Detector)>, Box<dyn Error>> {
    let mut seeds = Vec::new();
    for (name, outputs, aggregate, map) in [
        ("classifier", 3, Some("l2"), true),
        ("predicted", 2, Some("predicted"), false),
        ("profile", 2, Some("profile+score"), false),
        ("regressor", 1, None, true),
    ] {
        let mut choices = Choices::new("gaussian")?;
        choices.aggregate = aggregate.map(aggregates::parse).transpose()?;
        let method = Arc::new(SteinMethod::new(choices));
        seeds.push((name, fitted(&network(&[2, 3, outputs]), method, map)?));
    }
    for (family, arguments) in DETECTORS.iter().zip([None, Some("k=3,most=20")]) {
        let choice = family.choice();
        let mut arguments = Arguments::new("method", choice.usage, arguments);
        let method = family.read(&mut arguments, &Named::new())?;
        seeds.push((choice.name, fitted(&network(&[2, 3, 3]), method, false)?));
    }
    Ok(seeds)
}

/// A detector of few samples.
fn fitted(model: &Model, method: Arc<dyn Method>, map: bool) -> Result<Detector, Box<dyn Error>> {
    let settings = Settings { alpha: 0.2, held_out: 60, map: Some(map), ..Settings::default() };
    let engine = Engine { backend: Backend::RTEN, threads: 1 };
    Ok(Fit::new(model, method).settings(settings).engine(engine).run(&samples(160, 2), None)?)
}

/// A network of dense layers with tanh between them.
fn network(widths: &[usize]) -> Model {
    let mut random = Random::new(1);
    let mut numbers = |n: usize| -> Vec<f32> { (0..n).map(|_| random.normal() as f32).collect() };
    let mut graph = GraphProto { name: "seed".into(), ..GraphProto::default() };
    let mut current = "x".to_owned();
    for (i, pair) in widths.windows(2).enumerate() {
        let (w, b, z, h) = (format!("w{i}"), format!("b{i}"), format!("z{i}"), format!("h{i}"));
        graph.initializer.push(builders::tensor_f32(&w, pair, &numbers(pair[0] * pair[1])));
        graph.initializer.push(builders::tensor_f32(&b, &pair[1..], &numbers(pair[1])));
        graph.node.push(builders::node("Gemm", &[&current, &w, &b], &[&z], &z));
        current = z;
        if i + 2 < widths.len() {
            graph.node.push(builders::node("Tanh", &[&current], &[&h], &h));
            current = h;
        }
    }
    let end = widths[widths.len() - 1];
    for (list, name, width) in
        [(&mut graph.input, "x", widths[0]), (&mut graph.output, current.as_str(), end)]
    {
        let dims = [DimSpec::Symbol("N".into()), DimSpec::Fixed(width as i64)];
        list.push(builders::value_info(name, ElemType::F32, &dims));
    }
    Model::from_onnx("seed.onnx", taste_onnx::Model::new(builders::model(graph, 20)))
}

fn samples(rows: usize, width: usize) -> InMemory {
    let mut random = Random::new(2);
    let values = ArrayD::from_shape_simple_fn(IxDyn(&[rows, width]), || random.normal() as f32);
    InMemory::new("normal", values)
}
