//! `/metrics`.

use std::{sync::Arc, time::UNIX_EPOCH};

use axum::{
    body::Body,
    extract::State,
    http::{HeaderValue, Response, header},
};

use crate::{
    app::{App, Served},
    metrics::{Exposition, Histogram, Kind, process},
    refusal::Outcome,
};

pub(crate) async fn metrics(State(app): State<Arc<App>>) -> axum::response::Response {
    let mut response = Response::new(Body::from(page(&app)));
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    response
}

/// All numbers.
pub(crate) fn page(app: &App) -> String {
    let mut page = Exposition::default();
    page.family("taste_build_info", Kind::Gauge, "The version of taste.")
        .count(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    page.family("taste_detector_info", Kind::Gauge, "The detectors that are served.");
    for served in &app.served {
        let model = &served.model;
        page.count(&[("detector", &model.name), ("sha256", &model.sha256)], 1);
    }
    let since = app.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    page.family("taste_start_timestamp_seconds", Kind::Gauge, "When the service started.")
        .value(&[], since);
    page.family("taste_ready", Kind::Gauge, "Whether requests are welcome.")
        .count(&[], u64::from(app.is_ready() && app.trouble().is_none()));
    page.family(
        "taste_connections_refused_total",
        Kind::Counter,
        "Connections that were closed, as there were too many.",
    )
    .count(&[], app.refused_connections.get());
    requests(app, &mut page);
    samples(app, &mut page);
    crate::handlers::monitors::metrics(app, &mut page);
    process(&mut page);
    page.finish()
}

fn requests(app: &App, page: &mut Exposition) {
    page.family("taste_requests_total", Kind::Counter, "Requests to score, by how they ended.");
    for served in &app.served {
        for outcome in Outcome::ALL {
            let labels = [("detector", served.model.name.as_str()), ("outcome", outcome.name())];
            page.count(&labels, served.metrics.request(outcome).get());
        }
    }
    let mut histogram = |name, help: &str, of: fn(&Served) -> &Histogram| {
        page.family(name, Kind::Histogram, help);
        for served in &app.served {
            page.histogram(&[("detector", &served.model.name)], of(served));
        }
    };
    histogram("taste_request_seconds", "How long requests took.", |s| &s.metrics.request_seconds);
    histogram("taste_queue_seconds", "How long requests waited.", |s| &s.metrics.queue_seconds);
    histogram("taste_scoring_seconds", "How long the engine took for a batch.", |s| {
        &s.metrics.scoring_seconds
    });
    histogram("taste_batch_samples", "Samples that the engine scored at once.", |s| {
        &s.metrics.batch_samples
    });
    histogram(
        "taste_score",
        "Scores. Bounds are calibration quantiles 0.5, 0.75, 0.9, 0.95, 0.99 and 0.999.",
        |s| &s.metrics.scores,
    );
}

fn samples(app: &App, page: &mut Exposition) {
    let mut counter = |name, help: &str, of: fn(&Served) -> u64| {
        page.family(name, Kind::Counter, help);
        for served in &app.served {
            page.count(&[("detector", &served.model.name)], of(served));
        }
    };
    counter("taste_samples_total", "Samples that were scored.", |s| s.metrics.samples.get());
    counter("taste_samples_flagged_total", "Samples that were flagged.", |s| {
        s.metrics.flagged.get()
    });
    counter("taste_samples_without_score_total", "Samples without a finite score.", |s| {
        s.metrics.without_score.get()
    });
    counter(
        "taste_samples_dropped_total",
        "Samples that were not scored, as nobody waited for them any more.",
        |s| s.metrics.dropped.get(),
    );
    page.family("taste_queue_samples", Kind::Gauge, "Samples that wait.");
    for served in &app.served {
        page.count(&[("detector", &served.model.name)], served.queue.samples() as u64);
    }
    page.family("taste_queue_limit_samples", Kind::Gauge, "Samples that may wait.");
    for served in &app.served {
        page.count(&[("detector", &served.model.name)], app.settings.queue as u64);
    }
}
