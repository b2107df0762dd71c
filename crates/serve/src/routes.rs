//! The table of paths: what each needs, and who answers.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Instant};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use futures_util::FutureExt;

use crate::{
    app::App,
    auth::Needs,
    dashboard,
    handlers::{infer, metadata, metrics, monitors, score},
    refusal::Refusal,
};

type Handler = MethodRouter<Arc<App>>;

/// Paths, what they need, and who answers.
fn table() -> Vec<(&'static str, Needs, Handler)> {
    use Needs::{Admin, Any, Metrics, Nothing, Read, Score};
    vec![
        ("/v2/health/live", Nothing, get(metadata::live)),
        ("/v2/health/ready", Nothing, get(metadata::ready)),
        ("/v2", Nothing, get(metadata::server)),
        ("/v2/", Nothing, get(metadata::server)),
        ("/v2/models/{model}", Any, get(metadata::model)),
        ("/v2/models/{model}/versions/{version}", Any, get(metadata::model)),
        ("/v2/models/{model}/ready", Nothing, get(metadata::model_ready)),
        ("/v2/models/{model}/versions/{version}/ready", Nothing, get(metadata::model_ready)),
        ("/v2/models/{model}/infer", Score, post(infer::infer)),
        ("/v2/models/{model}/versions/{version}/infer", Score, post(infer::infer)),
        ("/v2/models/stats", Any, get(metadata::all_stats)),
        ("/v2/models/{model}/stats", Any, get(metadata::stats)),
        ("/v2/models/{model}/versions/{version}/stats", Any, get(metadata::stats)),
        ("/v2/repository/index", Any, post(metadata::index)),
        ("/v1/score", Score, post(score::score)),
        ("/v1/score/{model}", Score, post(score::score)),
        ("/v1/monitors", Read, get(monitors::all)),
        ("/v1/monitors/{model}", Read, get(monitors::one)),
        ("/v1/monitors/{model}/stream", Read, get(monitors::stream)),
        ("/v1/monitors/{model}/report", Read, get(dashboard::report)),
        ("/v1/monitors/{model}/acknowledge", Admin, post(monitors::acknowledge)),
        ("/v1/monitors/{model}/restart", Admin, post(monitors::restart)),
        ("/metrics", Metrics, get(metrics::metrics)),
        ("/openapi.json", Nothing, get(dashboard::openapi)),
        ("/", Read, get(dashboard::overview)),
        ("/monitors/{model}", Read, get(dashboard::monitor)),
        ("/monitors/{model}/samples", Read, get(dashboard::samples)),
        ("/health", Read, get(dashboard::health)),
        ("/sign-in", Nothing, get(dashboard::sign_in_page).post(dashboard::sign_in)),
        ("/assets/{file}", Nothing, get(dashboard::asset)),
    ]
}

/// All paths, with names in braces.
pub fn paths() -> Vec<&'static str> {
    table().into_iter().map(|row| row.0).collect()
}

/// The whole service.
pub fn router(app: Arc<App>) -> Router {
    let mut router = Router::new();
    for (path, needs, handler) in table() {
        let guard = middleware::from_fn_with_state((Arc::clone(&app), needs), guarded);
        router = router.route(path, handler.layer(guard));
    }
    router
        .fallback(|| async { Refusal::not_found("there is nothing at this path") })
        .method_not_allowed_fallback(|| async {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            Refusal::client(status, "this path does not take that method")
        })
        .layer(middleware::from_fn(logged))
        .with_state(app)
}

/// Asks for what a path needs.
async fn guarded(
    State((app, needs)): State<(Arc<App>, Needs)>,
    request: Request,
    next: Next,
) -> Response {
    match app.access.check(needs, request.method(), request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) if dashboard::is_page(&request) => dashboard::to_sign_in(&app, refusal),
        Err(refusal) => refusal.into_response(),
    }
}

/// Writes a line for every request, and turns a panic into an answer.
async fn logged(request: Request, next: Next) -> Response {
    let start = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let trace = trace_id(request.headers());
    let own = request.headers().get("x-request-id").cloned();
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = answered.unwrap_or_else(|_| {
        Refusal::failed("the request could not be answered; the log says why").into_response()
    });
    if let Some(id) = own {
        response.headers_mut().insert("x-request-id", id);
    }
    let headers = response.headers_mut();
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    let status = response.status().as_u16();
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    let trace = trace.as_deref().unwrap_or("");
    let path: String = path.chars().take(200).collect();
    if response.status().is_server_error() {
        tracing::warn!(%method, path, status, milliseconds, trace, "request");
    } else {
        tracing::debug!(%method, path, status, milliseconds, trace, "request");
    }
    response
}

/// The trace that a request belongs to, of the header `traceparent`.
fn trace_id(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("traceparent")?.to_str().ok()?;
    let mut fields = value.split('-');
    let (_, trace) = (fields.next()?, fields.next()?);
    let hex = trace.len() == 32 && trace.bytes().all(|b| b.is_ascii_hexdigit());
    hex.then(|| trace.to_owned())
}
