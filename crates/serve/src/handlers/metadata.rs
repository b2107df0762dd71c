//! Whether the service lives, what it serves and what it has done.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use serde_json::{Value, json};

use crate::{
    app::{App, Chosen, Served},
    metrics::Histogram,
    model::{Model, VERSION},
    refusal::{Outcome, Refusal, json as answer},
};

pub(crate) async fn live() -> Response {
    answer(&json!({ "live": true }))
}

pub(crate) async fn ready(State(app): State<Arc<App>>) -> Result<Response, Refusal> {
    if !app.is_ready() {
        return Err(Refusal::unavailable("the service is about to end"));
    }
    if let Some(why) = app.trouble() {
        return Err(Refusal::unavailable(why));
    }
    Ok(answer(&json!({ "ready": true, "live": true })))
}

pub(crate) async fn server() -> Response {
    answer(&json!({
        "name": "taste",
        "version": env!("CARGO_PKG_VERSION"),
        "extensions": [
            "binary_tensor_data", "model_repository", "statistics", "parameters", "schedule_policy",
        ],
    }))
}

pub(crate) async fn model(Chosen(served): Chosen) -> Response {
    answer(&described(&served.model))
}

pub(crate) async fn model_ready(
    State(app): State<Arc<App>>,
    Chosen(served): Chosen,
) -> Result<Response, Refusal> {
    if !app.is_ready() {
        return Err(Refusal::unavailable("the service is about to end"));
    }
    Ok(answer(&json!({ "name": served.model.name, "ready": true })))
}

fn described(model: &Model) -> Value {
    let open = |shape: &[usize]| -> Vec<Value> {
        std::iter::once(json!(-1)).chain(shape.iter().map(|d| json!(d))).collect()
    };
    let manifest = model.detector.manifest();
    let shape = |fed: &taste_detector::Fed| match &model.fed[..] {
        [_] if !fed.whole => open(&manifest.model.sample_shape),
        _ => open(&fed.shape),
    };
    let input = |fed: &taste_detector::Fed| {
        let datatype = if fed.whole { "INT64" } else { "FP32" };
        json!({ "name": fed.name, "datatype": datatype, "shape": shape(fed) })
    };
    let output = |(name, datatype, sizes): &(String, &str, Vec<usize>)| json!({ "name": name, "datatype": datatype, "shape": open(sizes) });
    json!({
        "name": model.name,
        "versions": [VERSION],
        "platform": "onnx_taste",
        "inputs": model.fed.iter().map(input).collect::<Vec<_>>(),
        "outputs": model.outputs().iter().map(output).collect::<Vec<_>>(),
        "properties": {
            "sha256": model.sha256,
            "method": manifest.method.written,
            "alpha": manifest.decision.alpha,
            "threshold": manifest.decision.threshold,
            "columns": manifest.data.columns,
        },
    })
}

pub(crate) async fn index(State(app): State<Arc<App>>) -> Response {
    let one = |served: &Arc<Served>| json!({ "name": served.model.name, "version": VERSION, "state": "READY", "reason": "" });
    answer(&app.served.iter().map(one).collect::<Vec<_>>())
}

pub(crate) async fn all_stats(State(app): State<Arc<App>>) -> Response {
    let stats: Vec<Value> = app.served.iter().map(|served| stats_of(served)).collect();
    answer(&json!({ "model_stats": stats }))
}

pub(crate) async fn stats(Chosen(served): Chosen) -> Response {
    answer(&json!({ "model_stats": [stats_of(&served)] }))
}

fn stats_of(served: &Served) -> Value {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "durations")]
    let spent = |histogram: &Histogram| {
        let (_, count, seconds) = histogram.read();
        json!({ "count": count, "ns": (seconds * 1e9) as u64 })
    };
    let metrics = &served.metrics;
    let failed: u64 = Outcome::ALL
        .iter()
        .filter(|outcome| **outcome != Outcome::Ok)
        .map(|outcome| metrics.request(*outcome).get())
        .sum();
    let none = json!({ "count": 0, "ns": 0 });
    json!({
        "name": served.model.name,
        "version": VERSION,
        "last_inference": served.last_answer.get(),
        "inference_count": metrics.samples.get(),
        "execution_count": metrics.batch_samples.read().1,
        "inference_stats": {
            "success": spent(&metrics.request_seconds),
            "fail": { "count": failed, "ns": 0 },
            "queue": spent(&metrics.queue_seconds),
            "compute_input": none,
            "compute_infer": spent(&metrics.scoring_seconds),
            "compute_output": none,
        },
        "batch_stats": [],
    })
}
