//! A service in memory, and requests to it.

use std::{path::PathBuf, sync::Arc};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request, StatusCode},
};
use serde_json::{Value, json};
use taste_serve::{App, Settings, Source, Tokens, Watching, router};
use tower::ServiceExt;

/// A detector of two numbers a sample, with a map, calibrated on 603 samples apart.
pub(crate) fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/plane.onnx")
}

/// What is answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("text")
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    /// That an error is what every client understands.
    pub(crate) fn refused(&self, status: u16, words: &str) {
        assert_eq!(self.status.as_u16(), status, "{}", String::from_utf8_lossy(&self.body));
        assert_eq!(self.header("content-type"), "application/json");
        let error = self.json()["error"].as_str().expect("a sentence").to_owned();
        assert!(error.contains(words), "{error:?} has no {words:?}");
    }
}

/// A service.
pub(crate) struct Service {
    pub(crate) app: Arc<App>,
    router: Router,
}

impl Service {
    pub(crate) fn new() -> Self {
        Self::with(Settings::default(), None, &Watching::default())
    }

    pub(crate) fn with(settings: Settings, tokens: Option<Tokens>, watching: &Watching) -> Self {
        let source = Source { name: None, path: fixture() };
        let app =
            App::start(&[source], &taste_detector::Engine::default(), tokens, watching, settings);
        let app = app.expect("a service");
        Self { router: router(Arc::clone(&app)), app }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.expect("an answer");
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.expect("a body").to_vec();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).expect("a request")).await
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<Body>) -> Answer {
        self.send(Request::post(path).body(body.into()).expect("a request")).await
    }

    pub(crate) async fn infer(&self, request: &Value) -> Answer {
        self.post("/v2/models/plane/infer", request.to_string()).await
    }
}

/// A request with rows of two numbers.
pub(crate) fn rows(rows: &[[f32; 2]]) -> Value {
    let data: Vec<f32> = rows.iter().flatten().copied().collect();
    json!({
        "inputs": [{ "name": INPUT, "shape": [rows.len(), 2], "datatype": "FP32", "data": data }],
    })
}

/// What the input of the fixture is called.
pub(crate) const INPUT: &str = "input";
