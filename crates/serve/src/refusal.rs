//! Requests that are not answered as they hoped.

use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
    response::IntoResponse,
};

/// How a request ended, as a label of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ok,
    /// Something is wrong with the request.
    Invalid,
    /// There was no room.
    Rejected,
    /// It took too long.
    Timeout,
    /// The client went away.
    Cancelled,
    /// Something is wrong with the service.
    Error,
}

impl Outcome {
    pub(crate) const ALL: [Self; 6] =
        [Self::Ok, Self::Invalid, Self::Rejected, Self::Timeout, Self::Cancelled, Self::Error];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Invalid => "invalid",
            Self::Rejected => "rejected",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Error => "error",
        }
    }
}

/// Why a request is refused: a status and one sentence.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// Seconds after which it is worth to try again.
    retry: Option<u64>,
    pub(crate) outcome: Outcome,
}

/// The type of every answer in JSON: clients compare it as it is, without a character set.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

impl Refusal {
    fn new(status: StatusCode, outcome: Outcome, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), retry: None, outcome }
    }

    /// The request is wrong.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Outcome::Invalid, message)
    }

    /// The same with another status of the client.
    pub(crate) fn client(status: StatusCode, message: impl Into<String>) -> Self {
        Self::new(status, Outcome::Invalid, message)
    }

    /// It is larger than anything that is taken.
    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, Outcome::Invalid, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, Outcome::Invalid, message)
    }

    /// There is no room now.
    pub(crate) fn busy(message: impl Into<String>, retry: u64) -> Self {
        let busy = Self::new(StatusCode::SERVICE_UNAVAILABLE, Outcome::Rejected, message);
        Self { retry: Some(retry.max(1)), ..busy }
    }

    /// The deadline passed before there was an answer.
    pub(crate) fn late() -> Self {
        let message = "the deadline passed before the samples were scored";
        Self::new(StatusCode::GATEWAY_TIMEOUT, Outcome::Timeout, message)
    }

    /// The client took too long.
    pub(crate) fn slow(message: impl Into<String>) -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, Outcome::Timeout, message)
    }

    /// The service itself failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, Outcome::Error, message)
    }

    /// The service can't do it for now, and does not know until when.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, Outcome::Error, message)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> axum::response::Response {
        let body = serde_json::json!({ "error": self.message }).to_string();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, JSON);
        if let Some(seconds) = self.retry {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(self.outcome);
        response
    }
}

/// An answer in JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> axum::response::Response {
    match serde_json::to_vec(value) {
        Ok(body) => {
            let mut response = Response::new(Body::from(body));
            response.headers_mut().insert(header::CONTENT_TYPE, JSON);
            response
        }
        Err(e) => Refusal::failed(format!("the answer can't be written: {e}")).into_response(),
    }
}
