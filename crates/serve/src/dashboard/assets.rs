//! Files that pages load, all in the program.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Response, header},
};
use taste_report::page::colours;

use super::Page;
use crate::{
    refusal::{JSON, Refusal},
    reply,
};

pub(super) const STYLE: &str = include_str!("dashboard.css");
const SCRIPT: &str = include_str!("dashboard.js");
const ICON: &str = include_str!("icon.svg");
const OPENAPI: &str = include_str!("../openapi.json");

fn sent(asked: &HeaderMap, kind: HeaderValue, text: String) -> axum::response::Response {
    let (body, encoding) = reply::packed(asked, text.into_bytes());
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, encoding);
    }
    response
}

pub(super) fn file(name: &str, asked: &HeaderMap) -> Page {
    let (kind, text) = match name {
        "dashboard.css" => ("text/css; charset=utf-8", colours() + STYLE),
        "dashboard.js" => ("text/javascript; charset=utf-8", SCRIPT.to_owned()),
        "icon.svg" => ("image/svg+xml", ICON.to_owned()),
        _ => return Err(Refusal::not_found("there is no such file")),
    };
    Ok(sent(asked, HeaderValue::from_static(kind), text))
}

pub(super) fn openapi(asked: &HeaderMap) -> axum::response::Response {
    sent(asked, JSON, OPENAPI.replace("@version@", env!("CARGO_PKG_VERSION")))
}
