//! Samples as tensors of the protocol.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Response, header},
};
use serde_json::Map;

use crate::{
    app::{App, Ask, Chosen, Served, Tally},
    body::{self, LARGE, on_the_side},
    held::Held,
    model::{Model, VERSION},
    protocol::{Answer, Asked, Contents, Datatype, Encoded, InferRequest, Parameters, Tensor},
    refusal::{JSON, Refusal},
    reply,
};

/// How many bytes of a body are JSON.
const HEAD: HeaderName = HeaderName::from_static("inference-header-content-length");

pub(crate) async fn infer(
    State(app): State<Arc<App>>,
    Chosen(served): Chosen,
    request: Request,
) -> Result<axum::response::Response, Refusal> {
    let tally = Tally::start(&served);
    let result = answered(&app, &served, request).await;
    tally.end(&result);
    result
}

/// A request that was read.
struct Read {
    ask: Ask,
    id: String,
    outputs: Vec<Asked>,
    binary: bool,
}

async fn answered(
    app: &App,
    served: &Arc<Served>,
    request: Request,
) -> Result<axum::response::Response, Refusal> {
    let (parts, body) = request.into_parts();
    let head = head_length(&parts.headers)?;
    let limits = &app.settings.limits;
    let (bytes, held) = body::read(&parts.headers, body, limits, &app.memory).await?;
    let (model, depth) = (Arc::clone(&served.model), limits.depth);
    let read = if bytes.len() > LARGE {
        on_the_side(move || read(&model, &bytes, head, depth, held)).await?
    } else {
        read(&model, &bytes, head, depth, held)?
    };
    let Read { ask, id, outputs, binary } = read;
    let scored = app.score(served, ask).await?;
    let mut parameters = Map::new();
    if let Some(sequence) = &scored.sequence {
        sequence.describe(&mut parameters);
    }
    let answer = Answer {
        model: &served.model.name,
        version: VERSION,
        id: &id,
        parameters,
        outputs: served.model.answer(&scored.scores, &outputs, binary),
    };
    Ok(respond(&parts.headers, answer.encode()))
}

/// The length of the JSON, if the client says.
fn head_length(headers: &HeaderMap) -> Result<Option<usize>, Refusal> {
    let Some(value) = headers.get(&HEAD) else { return Ok(None) };
    let length = value.to_str().ok().and_then(|v| v.trim().parse().ok());
    length.map(Some).ok_or_else(|| Refusal::invalid(format!("{HEAD} is no number of bytes")))
}

fn read(
    model: &Model,
    bytes: &[u8],
    head: Option<usize>,
    depth: usize,
    mut held: Held,
) -> Result<Read, Refusal> {
    let raw = head == Some(0);
    // Numbers of JSON take at most twice their bytes, those of half precision too.
    held.grow(2 * bytes.len())?;
    let request = if raw {
        raw_request(model, bytes)?
    } else {
        InferRequest::read(bytes, head, depth).map_err(Refusal::invalid)?
    };
    let InferRequest { id, parameters, inputs, outputs } = request;
    let map = model.wants_map(&outputs)?;
    let samples = model.samples(inputs, parameters.prepare.unwrap_or(false))?;
    held.grow(samples.len() * size_of::<f32>())?;
    let ask = Ask {
        samples,
        map,
        id: Some(id.clone()),
        monitored: parameters.monitor.unwrap_or(true),
        timeout: parameters.timeout.filter(|t| *t > 0).map(Duration::from_micros),
        held,
    };
    let binary = raw || parameters.binary_data_output.unwrap_or(false);
    Ok(Read { ask, id, outputs, binary })
}

/// A body that is the one input, without any JSON: numbers of single precision, or one picture.
fn raw_request(model: &Model, bytes: &[u8]) -> Result<InferRequest, Refusal> {
    let [fed] = &model.fed[..] else {
        return Err(Refusal::invalid(format!(
            "{} has {} inputs, and a body without JSON is one",
            model.name,
            model.fed.len()
        )));
    };
    let (datatype, shape, contents) = if is_picture(bytes) {
        (Datatype::Bytes, vec![1], Contents::Texts(vec![bytes.to_vec()]))
    } else {
        let size = 4 * model.entries;
        if bytes.is_empty() || size == 0 || !bytes.len().is_multiple_of(size) {
            return Err(Refusal::invalid(format!(
                "samples of {} numbers of single precision are {size} bytes each, and the body has {}",
                model.entries,
                bytes.len()
            )));
        }
        let sample = &model.detector.manifest().model.sample_shape;
        let shape = std::iter::once(bytes.len() / size).chain(sample.iter().copied()).collect();
        (Datatype::Fp32, shape, Contents::Numbers(Datatype::Fp32.numbers(bytes)))
    };
    let input = Tensor { name: fed.name.clone(), datatype, shape, contents };
    Ok(InferRequest {
        id: String::new(),
        parameters: Parameters::default(),
        inputs: vec![input],
        outputs: Vec::new(),
    })
}

/// Whether bytes begin as PNG, JPEG, WebP or TIFF do.
pub(crate) fn is_picture(bytes: &[u8]) -> bool {
    let starts: [&[u8]; 4] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*"];
    starts.iter().any(|start| bytes.starts_with(start))
        || (bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"))
}

fn respond(asked: &HeaderMap, Encoded { body, head }: Encoded) -> axum::response::Response {
    let (body, encoding) = reply::packed(asked, body);
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    match head {
        Some(length) => {
            let binary = HeaderValue::from_static("application/octet-stream");
            headers.insert(header::CONTENT_TYPE, binary);
            headers.insert(HEAD, HeaderValue::from(length));
        }
        None => drop(headers.insert(header::CONTENT_TYPE, JSON)),
    }
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, encoding);
    }
    response
}
