//! Bodies of answers, compressed where that is asked for.

use std::io::Write;

use axum::http::{HeaderMap, HeaderValue, header};
use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};

/// Smaller bodies are sent as they are.
const LEAST: usize = 1 << 10;

/// A body in the first encoding that the client takes and that is known here.
pub(crate) fn packed(asked: &HeaderMap, body: Vec<u8>) -> (Vec<u8>, Option<HeaderValue>) {
    let accepted = asked.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let Some(accepted) = accepted.filter(|_| body.len() >= LEAST) else { return (body, None) };
    let takes = |name: &str| {
        accepted.split(',').any(|one| {
            let (encoding, weight) = one.split_once(';').unwrap_or((one, ""));
            let refused =
                weight.trim().trim_start_matches("q=").parse::<f32>().is_ok_and(|q| q <= 0.0);
            encoding.trim().eq_ignore_ascii_case(name) && !refused
        })
    };
    let level = Compression::fast();
    let result = if takes("gzip") {
        let mut encoder = GzEncoder::new(Vec::new(), level);
        encoder.write_all(&body).and_then(|()| encoder.finish()).map(|b| (b, "gzip"))
    } else if takes("deflate") {
        let mut encoder = ZlibEncoder::new(Vec::new(), level);
        encoder.write_all(&body).and_then(|()| encoder.finish()).map(|b| (b, "deflate"))
    } else {
        return (body, None);
    };
    match result {
        Ok((packed, name)) => (packed, Some(HeaderValue::from_static(name))),
        Err(_) => (body, None),
    }
}
