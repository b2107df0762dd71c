//! Monitors: what they know, as it changes, and what people say to them.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use taste_monitor::Error;

use crate::{
    app::{App, Chosen, Served},
    body,
    metrics::{Exposition, Kind},
    record::Watched,
    refusal::{Refusal, json as answer},
};

/// The monitor of a detector, if it has one.
pub(crate) fn watched(served: &Served) -> Result<&Arc<Watched>, Refusal> {
    served.watched.as_ref().ok_or_else(|| {
        let why = served.not_watched.as_deref().unwrap_or("monitoring is off");
        Refusal::not_found(format!("{} is not monitored: {why}", served.model.name))
    })
}

pub(crate) async fn all(State(app): State<Arc<App>>) -> Response {
    let monitors: Vec<Value> = app.served.iter().map(|served| summary(served)).collect();
    answer(&json!({ "monitors": monitors }))
}

/// A monitor in a few numbers.
fn summary(served: &Served) -> Value {
    let name = &served.model.name;
    let Some(watched) = &served.watched else {
        return json!({ "name": name, "status": null, "why": served.not_watched });
    };
    let view = watched.monitor().view();
    json!({
        "name": name,
        "status": view.status,
        "samples": view.samples,
        "flagged": view.flagged,
        "log_evidence": view.log_evidence,
        "log_threshold": view.log_threshold,
        "last_time": view.last_time,
        "alarm": view.standing(),
    })
}

pub(crate) async fn one(Chosen(served): Chosen) -> Result<Response, Refusal> {
    let view = watched(&served)?.monitor().view();
    Ok(answer(&view))
}

/// No more events a second are sent to a page than that.
const PAUSE: Duration = Duration::from_millis(500);

/// An event whenever something became durable, with what a page needs to decide whether to look.
pub(crate) async fn stream(
    State(app): State<Arc<App>>,
    Chosen(served): Chosen,
) -> Result<Response, Refusal> {
    let watched = Arc::clone(watched(&served)?);
    let changes = watched.changed.subscribe();
    let ending = app.ending.subscribe();
    let events = stream::unfold(
        (served, watched, changes, ending, true),
        |(served, watched, mut changes, mut ending, first)| async move {
            if !first {
                tokio::select! {
                    changed = changes.changed() => changed.ok()?,
                    _ = ending.wait_for(|ending| *ending) => return None,
                }
                tokio::select! {
                    () = tokio::time::sleep(PAUSE) => {}
                    _ = ending.wait_for(|ending| *ending) => return None,
                }
            }
            changes.mark_unchanged();
            let event = Event::default().event("update").data(summary(&served).to_string());
            Some((Ok::<_, Infallible>(event), (served, watched, changes, ending, false)))
        },
    );
    Ok(Sse::new(events)
        .keep_alive(KeepAlive::new().interval(Duration::from_secs(15)))
        .into_response())
}

/// What is said of an alarm.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    /// The alarm; by default the one that stands.
    alarm: Option<u64>,
    by: String,
    note: String,
}

async fn said(app: &App, request: Request) -> Result<Said, Refusal> {
    let (parts, body) = request.into_parts();
    let (bytes, _held) =
        body::read(&parts.headers, body, &app.settings.limits, &app.memory).await?;
    if bytes.trim_ascii().is_empty() {
        return Ok(Said::default());
    }
    let said: Said = serde_json::from_slice(&bytes)
        .map_err(|e| Refusal::invalid(format!("the body is to be an object: {e}")))?;
    if said.by.len() + said.note.len() > 4096 {
        return Err(Refusal::too_large("a note has at most 4096 bytes"));
    }
    Ok(said)
}

pub(crate) async fn acknowledge(
    State(app): State<Arc<App>>,
    Chosen(served): Chosen,
    request: Request,
) -> Result<Response, Refusal> {
    let Said { alarm, by, note } = said(&app, request).await?;
    let watched = Arc::clone(watched(&served)?);
    body::on_the_side(move || {
        let mut monitor = watched.monitor();
        let standing = monitor.standing().map(|a| a.id);
        let alarm = alarm.or(standing).ok_or_else(|| Refusal::not_found("no alarm stands"))?;
        monitor.acknowledge(alarm, &by, &note).map_err(|e| refused(&e))?;
        watched.tell(monitor.durable());
        Ok(())
    })
    .await?;
    Ok(answer(&summary(&served)))
}

pub(crate) async fn restart(
    State(app): State<Arc<App>>,
    Chosen(served): Chosen,
    request: Request,
) -> Result<Response, Refusal> {
    said(&app, request).await?;
    let watched = Arc::clone(watched(&served)?);
    body::on_the_side(move || {
        let mut monitor = watched.monitor();
        monitor.restart().map_err(|e| refused(&e))?;
        watched.tell(monitor.durable());
        Ok(())
    })
    .await?;
    Ok(answer(&summary(&served)))
}

fn refused(error: &Error) -> Refusal {
    match error {
        Error::NoAlarm(_) => Refusal::not_found(error.to_string()),
        _ => Refusal::unavailable(error.to_string()),
    }
}

/// Numbers about monitors. Evidence may be looked at as often as one likes.
pub(crate) fn metrics(app: &App, page: &mut Exposition) {
    let views: Vec<_> = app
        .served
        .iter()
        .filter_map(|s| s.watched.as_ref().map(|w| (s.model.name.as_str(), w, w.monitor().view())))
        .collect();
    page.family(
        "taste_monitor_log_evidence",
        Kind::Gauge,
        "Natural logarithm of the evidence for a change.",
    );
    for (name, _, view) in &views {
        page.value(&[("monitor", name), ("process", "all")], view.log_evidence);
        for stream in &view.streams {
            let kind = stream.kind.to_string();
            page.value(&[("monitor", name), ("process", &kind)], stream.log_evidence);
        }
    }
    page.family("taste_monitor_log_threshold", Kind::Gauge, "What it is at an alarm.");
    for (name, _, view) in &views {
        page.value(&[("monitor", name)], view.log_threshold);
    }
    page.family("taste_monitor_alarm", Kind::Gauge, "Whether an alarm stands.");
    for (name, _, view) in &views {
        page.count(&[("monitor", name)], u64::from(view.standing().is_some()));
    }
    page.family("taste_monitor_alarms_total", Kind::Counter, "Alarms so far.");
    for (name, _, view) in &views {
        page.count(&[("monitor", name)], view.alarms_raised);
    }
    page.family("taste_monitor_samples_total", Kind::Counter, "Samples that were counted.");
    for (name, _, view) in &views {
        page.count(&[("monitor", name)], view.samples);
    }
    page.family(
        "taste_monitor_effect_deviations",
        Kind::Gauge,
        "How far the data have moved, in standard deviations, while an alarm stands.",
    );
    for (name, _, view) in &views {
        page.value(&[("monitor", name)], view.standing().map_or(0.0, |alarm| alarm.effect));
    }
    page.family(
        "taste_monitor_last_sample_timestamp_seconds",
        Kind::Gauge,
        "When the last sample came.",
    );
    for (name, _, view) in &views {
        page.value(&[("monitor", name)], view.last_time.map_or(0.0, |t| t as f64 / 1e3));
    }
    page.family(
        "taste_monitor_persisted_timestamp_seconds",
        Kind::Gauge,
        "When something last became durable.",
    );
    for (name, watched, _) in &views {
        page.value(&[("monitor", name)], watched.persisted.get() as f64 / 1e3);
    }
    page.family("taste_monitor_stopped", Kind::Gauge, "Whether nothing is counted any more.");
    for (name, _, view) in &views {
        page.count(&[("monitor", name)], u64::from(view.stopped.is_some()));
    }
}
