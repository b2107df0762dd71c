//! Pages for people: written on the server, with figures as SVG, readable without script. One small module keeps them live.

mod assets;
mod figures;
mod health;
mod layout;
mod monitor;
mod overview;
mod samples;
mod sign_in;
mod words;

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{RawPathParams, Request, State},
    http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header},
    response::IntoResponse,
};

use crate::{
    app::{App, Chosen},
    body::on_the_side,
    handlers::monitors::watched,
    refusal::Refusal,
    reply,
};

type Page = Result<axum::response::Response, Refusal>;

/// Nothing is loaded from elsewhere, and no page of others may frame these.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
);
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

fn html(asked: &HeaderMap, text: String) -> axum::response::Response {
    let (body, encoding) = reply::packed(asked, text.into_bytes());
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HTML);
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, encoding);
    }
    response
}

pub(crate) async fn overview(State(app): State<Arc<App>>, headers: HeaderMap) -> Page {
    let page = on_the_side(move || Ok(overview::page(&app))).await?;
    Ok(html(&headers, page))
}

pub(crate) async fn monitor(
    State(app): State<Arc<App>>,
    Chosen(served): Chosen,
    headers: HeaderMap,
) -> Page {
    let page = on_the_side(move || {
        let watched = watched(&served)?;
        Ok(monitor::page(&app, &served, watched, layout::Kind::Live))
    });
    Ok(html(&headers, page.await?))
}

/// The page of a monitor as a file: with its style within, and without script.
pub(crate) async fn report(
    State(app): State<Arc<App>>,
    Chosen(served): Chosen,
    headers: HeaderMap,
) -> Page {
    let name = served.model.name.clone();
    let page = on_the_side(move || {
        let watched = watched(&served)?;
        Ok(monitor::page(&app, &served, watched, layout::Kind::File))
    });
    let mut response = html(&headers, page.await?);
    let policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    if let Ok(file) = HeaderValue::from_str(&format!("inline; filename=\"{name}.html\"")) {
        headers.insert(header::CONTENT_DISPOSITION, file);
    }
    Ok(response)
}

pub(crate) async fn samples(
    State(app): State<Arc<App>>,
    Chosen(served): Chosen,
    headers: HeaderMap,
) -> Page {
    let page = on_the_side(move || {
        let watched = watched(&served)?;
        Ok(samples::page(&app, &served, watched))
    });
    Ok(html(&headers, page.await?))
}

pub(crate) async fn health(State(app): State<Arc<App>>, headers: HeaderMap) -> Page {
    Ok(html(&headers, health::page(&app)))
}

pub(crate) async fn sign_in_page(State(app): State<Arc<App>>, headers: HeaderMap) -> Page {
    Ok(html(&headers, sign_in::page(&app, None)))
}

pub(crate) async fn sign_in(State(app): State<Arc<App>>, request: Request) -> Page {
    sign_in::answer(&app, request).await
}

pub(crate) async fn openapi(headers: HeaderMap) -> axum::response::Response {
    assets::openapi(&headers)
}

pub(crate) async fn asset(params: RawPathParams, headers: HeaderMap) -> Page {
    let file = params.iter().next().map_or("", |param| param.1);
    assets::file(file, &headers)
}

/// Whether a browser asks for a page.
pub(crate) fn is_page(request: &Request) -> bool {
    let accepts = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let path = request.uri().path();
    let own = path == "/" || path == "/health" || path.starts_with("/monitors/");
    request.method() == Method::GET && own && accepts.is_some_and(|a| a.contains("text/html"))
}

/// Leads someone without a token to where one is asked for.
pub(crate) fn to_sign_in(app: &App, refusal: Refusal) -> axum::response::Response {
    if refusal.status != StatusCode::UNAUTHORIZED || !app.access.has_tokens() {
        return refusal.into_response();
    }
    let mut response = StatusCode::SEE_OTHER.into_response();
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/sign-in"));
    response
}
