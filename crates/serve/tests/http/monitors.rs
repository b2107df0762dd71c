//! Monitors behind the service.

use axum::{body::Body, http::Request};
use serde_json::{Value, json};
use taste_serve::{Settings, Watching};

use crate::common::{Service, rows};

fn watching(folder: &std::path::Path) -> Watching {
    Watching { state: Some(folder.to_owned()), ..Watching::default() }
}

async fn view(service: &Service) -> Value {
    service.get("/v1/monitors/plane").await.json()
}

#[tokio::test]
async fn a_repetition_is_answered_and_not_counted() {
    let service = Service::new();
    let mut request = rows(&[[0.1, 0.2], [0.3, 0.1]]);
    request["id"] = "one".into();
    let first = service.infer(&request).await.json();
    let again = service.infer(&request).await.json();
    assert_eq!(again["parameters"]["duplicate"], true);
    assert_eq!(first["parameters"]["sequence"], again["parameters"]["sequence"]);
    assert_eq!(first["outputs"], again["outputs"]);
    assert_eq!(view(&service).await["samples"], 2);
    // Some clients give the same id to everything.
    let mut other = rows(&[[0.5, 0.5]]);
    other["id"] = "one".into();
    service.infer(&other).await;
    assert_eq!(view(&service).await["samples"], 3);
    let keyed = |key: &'static str| {
        Request::post("/v1/score")
            .header("idempotency-key", key)
            .body(Body::from("[[1, 1]]"))
            .expect("a request")
    };
    service.send(keyed("k")).await;
    assert_eq!(service.send(keyed("k")).await.json()["duplicate"], true);
    let mut apart = rows(&[[0.1, 0.2]]);
    apart["parameters"] = json!({ "monitor": false });
    service.infer(&apart).await;
    assert_eq!(view(&service).await["samples"], 4);
}

#[tokio::test]
async fn a_shift_raises_an_alarm_that_people_acknowledge_and_end() {
    let service = Service::new();
    let far = rows(&[[6.0, 6.0]; 40]);
    let answer = service.infer(&far).await.json();
    assert_eq!(answer["parameters"]["alarm"], 1, "{answer}");
    let seen = view(&service).await;
    assert_eq!(seen["status"], "alarm");
    assert!(service.get("/").await.text().contains("One alarm stands."));
    let said = json!({ "by": "Ada", "note": "<b>camera</b>" }).to_string();
    let known = service.post("/v1/monitors/plane/acknowledge", said).await.json();
    assert_eq!(known["status"], "acknowledged");
    let page = service.get("/monitors/plane").await.text();
    assert!(page.contains("&lt;b&gt;camera&lt;/b&gt;") && !page.contains("<b>camera"));
    assert_eq!(service.post("/v1/monitors/plane/restart", "").await.json()["status"], "quiet");
    service.post("/v1/monitors/plane/acknowledge", "").await.refused(404, "no alarm");
    service.post("/v1/monitors/plane/acknowledge", "[").await.refused(400, "object");
    service.get("/v1/monitors/moon").await.refused(404, "no detector");
}

#[tokio::test]
async fn an_alarm_is_carried_by_what_the_samples_behind_it_differ_in() {
    let service = Service::new();
    let usual: Vec<[f32; 2]> = (0..400u16)
        .map(|i| [0.1 * f32::from(i % 21) - 1.0, 0.1 * f32::from(i % 17) - 0.8])
        .collect();
    service.infer(&rows(&usual)).await;
    assert_eq!(view(&service).await["status"], "quiet");
    service.infer(&rows(&[[6.0, 6.0]; 20])).await;
    let alarm = view(&service).await["alarms"][0].clone();
    let reasons = alarm["reasons"].as_array().expect("reasons");
    let effects: Vec<f64> = reasons.iter().filter_map(|r| r["effect"].as_f64()).collect();
    // As far as these samples are out, and not diluted by those before.
    assert!(effects.first().is_some_and(|effect| *effect > 2.0), "{alarm}");
    assert!(effects.iter().all(|effect| *effect > 0.0), "{alarm}");
}

#[tokio::test]
async fn an_alarm_in_a_request_larger_than_the_window_has_reasons() {
    let settings = Settings { queue: 4000, ..Settings::default() };
    let service = Service::with(settings, None, &Watching::default());
    assert_eq!(service.infer(&rows(&vec![[6.0, 6.0]; 3000])).await.status, 200);
    let alarm = view(&service).await["alarms"][0].clone();
    assert!(!alarm["reasons"].as_array().expect("reasons").is_empty(), "{alarm}");
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let samples: Vec<[f32; 2]> = (0..50u8).map(|i| [f32::from(i) / 25.0 - 1.0, 0.3]).collect();
    let before = {
        let service = Service::with(Settings::default(), None, &watching(folder.path()));
        for one in &samples {
            assert_eq!(service.infer(&rows(&[*one])).await.status, 200);
        }
        let view = view(&service).await;
        service.app.end();
        view
    };
    let service = Service::with(Settings::default(), None, &watching(folder.path()));
    let after = view(&service).await;
    assert_eq!(after["samples"], 50);
    for same in ["log_evidence", "samples", "series", "alarms", "streams"] {
        assert_eq!(before[same], after[same], "{same}");
    }
}

#[tokio::test]
async fn pages_are_told_when_something_became_durable() {
    use futures_util::StreamExt;
    use tower::ServiceExt;
    let service = Service::new();
    let router = taste_serve::router(std::sync::Arc::clone(&service.app));
    let request = Request::get("/v1/monitors/plane/stream").body(Body::empty()).expect("r");
    let response = router.oneshot(request).await.expect("an answer");
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut events = response.into_body().into_data_stream();
    let mut next = async || {
        let event = events.next().await.expect("an event").expect("bytes");
        String::from_utf8(event.to_vec()).expect("text")
    };
    assert!(next().await.contains("\"samples\":0"));
    service.infer(&rows(&[[0.1, 0.2]])).await;
    let event = next().await;
    assert!(event.starts_with("event: update") && event.contains("\"samples\":1"), "{event}");
}
