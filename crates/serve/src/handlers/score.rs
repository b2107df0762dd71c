//! Samples as people have them: rows of a table, numbers, or a picture.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::HeaderMap,
    response::Response,
};
use ndarray::{ArrayD, IxDyn};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use taste_data::{from_array, from_bytes, from_images};
use taste_detector::{Role, Scores};

use super::infer::is_picture;
use crate::{
    app::{App, Ask, Chosen, Served, Tally},
    body::{self, on_the_side},
    held::Held,
    model::Model,
    protocol::{Data, check_depth, number},
    refusal::{Refusal, json as answer},
};

pub(crate) async fn score(
    State(app): State<Arc<App>>,
    Chosen(served): Chosen,
    request: Request,
) -> Result<Response, Refusal> {
    let tally = Tally::start(&served);
    let result = answered(&app, &served, request).await;
    tally.end(&result);
    result
}

async fn answered(app: &App, served: &Arc<Served>, request: Request) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let limits = &app.settings.limits;
    let (bytes, held) = body::read(&parts.headers, body, limits, &app.memory).await?;
    let (model, depth) = (Arc::clone(&served.model), limits.depth);
    let id = request_id(&parts.headers);
    let read = move || -> Result<(ArrayD<f32>, Held), Refusal> {
        let mut held = held;
        let samples = samples(&model, bytes, depth, &mut held)?;
        held.grow(samples.len() * size_of::<f32>())?;
        Ok((samples, held))
    };
    // Decoding a picture takes a while, whatever its size.
    let (samples, held) = on_the_side(read).await?;
    let ask = Ask { samples, map: false, id, monitored: true, timeout: None, held };
    let scored = app.score(served, ask).await?;
    let mut found = Map::new();
    found.insert("detector".to_owned(), served.model.name.clone().into());
    if let Some(sequence) = &scored.sequence {
        sequence.describe(&mut found);
    }
    let flagged = scored.scores.flag.iter().filter(|flag| **flag).count();
    found.insert("flagged".to_owned(), flagged.into());
    found.insert("samples".to_owned(), rows(&served.model, &scored.scores).into());
    Ok(answer(&found))
}

/// What the client calls the request.
fn request_id(headers: &HeaderMap) -> Option<String> {
    headers.get("idempotency-key").and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// `{"rows": …}`, where rows are anything that a body may be by itself.
#[derive(Deserialize)]
struct Wrapped<'a> {
    #[serde(borrow)]
    rows: &'a RawValue,
}

/// Samples of a body, by what it holds.
fn samples(
    model: &Model,
    body: Vec<u8>,
    depth: usize,
    held: &mut Held,
) -> Result<ArrayD<f32>, Refusal> {
    const NAME: &str = "the body";
    let reading = model.detector.reading();
    let refused = |e: taste_data::Error| Refusal::invalid(e.to_string());
    if body.trim_ascii().is_empty() {
        return Err(Refusal::invalid(
            "the body is empty: it is to be rows as JSON or CSV, or a picture",
        ));
    }
    if is_picture(&body) {
        model.check_rows(1)?;
        return from_images(NAME, &[body], &reading).map_err(refused);
    }
    // Rows are read to text, and text to numbers.
    held.grow(4 * body.len())?;
    let json = body.trim_ascii_start().first().is_some_and(|b| matches!(b, b'[' | b'{'));
    let found = if json {
        check_depth(&body, depth).map_err(Refusal::invalid)?;
        // An array would be taken for the members of the object in their order.
        let object = body.trim_ascii_start().starts_with(b"{");
        match serde_json::from_slice::<Wrapped<'_>>(&body) {
            Ok(wrapped) if object => from_json(model, wrapped.rows.get().as_bytes(), held)?,
            _ => from_json(model, &body, held)?,
        }
    } else {
        from_bytes(NAME, body.into(), &reading).map_err(refused)?
    };
    model.check_rows(found.shape()[0])?;
    Ok(found)
}

/// Objects are rows by the names of their columns; numbers are the entries of samples, one after the other.
fn from_json(model: &Model, json: &[u8], held: &mut Held) -> Result<ArrayD<f32>, Refusal> {
    const NAME: &str = "the body";
    let reading = model.detector.reading();
    let refused = |e: taste_data::Error| Refusal::invalid(e.to_string());
    let broken = |e: serde_json::Error| Refusal::invalid(format!("the body is no JSON: {e}"));
    let json = json.trim_ascii();
    let inner = json.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    if inner.is_some_and(|inner| !inner.starts_with(b"{")) {
        let data: Data = serde_json::from_slice(json).map_err(broken)?;
        if !data.texts.is_empty() {
            let message = "rows with words are objects: [{\"column\": \"word\", …}, …]";
            return Err(Refusal::invalid(message));
        }
        return numbers(model, data.numbers);
    }
    // A tree of JSON takes many times its text.
    held.grow(16 * json.len())?;
    let lines = match inner {
        Some(_) => {
            let rows: Vec<Map<String, Value>> = serde_json::from_slice(json).map_err(broken)?;
            lines(&rows)
        }
        None => match serde_json::from_slice::<Map<String, Value>>(json) {
            Ok(row) => lines(&[row]),
            // Several objects, one a line.
            Err(_) => json.to_vec(),
        },
    };
    from_bytes(NAME, lines.into(), &reading).map_err(refused)
}

fn lines(rows: &[Map<String, Value>]) -> Vec<u8> {
    let mut text = Vec::new();
    for row in rows {
        // Maps with keys of text can always be written.
        let _ = serde_json::to_writer(&mut text, row);
        text.push(b'\n');
    }
    text
}

fn numbers(model: &Model, values: Vec<f32>) -> Result<ArrayD<f32>, Refusal> {
    let entries = model.entries;
    if values.is_empty() || entries == 0 || !values.len().is_multiple_of(entries) {
        return Err(Refusal::invalid(format!(
            "a sample has {entries} numbers, and the body holds {}",
            values.len()
        )));
    }
    let sample = &model.detector.manifest().model.sample_shape;
    let shape: Vec<usize> =
        std::iter::once(values.len() / entries).chain(sample.iter().copied()).collect();
    let values = ArrayD::from_shape_vec(IxDyn(&shape), values)
        .map_err(|e| Refusal::invalid(e.to_string()))?;
    let prepared = from_array("the body", values, false, &model.detector.reading());
    prepared.map_err(|e| Refusal::invalid(e.to_string()))
}

/// An object for every sample.
fn rows(model: &Model, scores: &Scores) -> Vec<Value> {
    let manifest = model.detector.manifest();
    let classes = model.detector.classes();
    let row = |i: usize| {
        let mut row = json!({
            "score": number(scores.score[i]),
            "p_value": number(scores.p_value[i]),
            "flag": scores.flag[i],
        });
        if let Some(novelty) = &scores.novelty {
            row["novelty"] = number(novelty.score[i]);
            row["novelty_p_value"] = number(novelty.p_value[i]);
        }
        for part in &manifest.parts {
            let Some(values) = scores.part(&part.name) else { continue };
            row[&part.name] = if part.role == Role::Evidence {
                let named = part.columns.iter().zip(values.row(i));
                Value::Object(named.map(|(name, v)| (name.clone(), number(*v))).collect())
            } else if values.ncols() == 1 {
                number(values[[i, 0]])
            } else {
                values.row(i).iter().map(|v| number(*v)).collect()
            };
        }
        if let Some(prediction) = &scores.prediction {
            row["prediction"] = prediction.row(i).iter().map(|v| number(*v)).collect();
            let best =
                prediction.row(i).iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
            if let Some(class) = best.and_then(|(class, _)| classes.get(class)) {
                row["class"] = class.clone().into();
            }
        }
        row
    };
    (0..scores.len()).map(row).collect()
}
