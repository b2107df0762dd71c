//! Metrics, and what is built on them.

use std::{collections::BTreeSet, fs, path::PathBuf};

use serde_json::Value;

use crate::common::{Service, rows};

fn shipped(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../monitoring").join(name);
    fs::read_to_string(path).expect("a file")
}

/// Names that look like ours in a text.
fn names(text: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !word(c)).filter(|w| w.starts_with("taste_")).map(str::to_owned).collect()
}

#[tokio::test]
async fn alerts_and_dashboards_name_metrics_that_there_are() {
    let service = Service::new();
    service.infer(&rows(&[[0.1, 0.2]])).await;
    let page = service.get("/metrics").await.text();
    let there: BTreeSet<String> = page
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next())
        .map(str::to_owned)
        .collect();
    let grafana: Value = serde_json::from_str(&shipped("grafana.json")).expect("JSON");
    let panels = grafana["panels"].as_array().expect("panels");
    let queries: String = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().expect("targets"))
        .filter_map(|target| target["expr"].as_str())
        .collect::<Vec<_>>()
        .join("\n");
    let alerts = shipped("alerts.yml");
    for (file, text) in [("alerts.yml", alerts.as_str()), ("grafana.json", &queries)] {
        let named = names(text);
        assert!(named.len() >= 5, "{file}: {named:?}");
        for name in named {
            assert!(there.contains(&name), "{file} names {name}, which is not in /metrics");
        }
    }
    let expressions = alerts.lines().filter(|line| line.trim_start().starts_with("expr:")).count();
    assert_eq!(expressions, alerts.matches("- alert:").count());
}

#[tokio::test]
async fn counts_follow_what_happened() {
    let service = Service::new();
    let mut request = rows(&[[0.1, 0.2], [9.0, 9.0], [1.0, 1.0]]);
    request["inputs"][0]["data"][4] = Value::Null;
    service.infer(&request).await;
    service.infer(&serde_json::json!({ "inputs": [] })).await;
    let page = service.get("/metrics").await.text();
    let value = |series: &str| -> f64 {
        let line = page.lines().find(|line| line.starts_with(&format!("{series} ")));
        line.and_then(|l| l.rsplit(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("{series}"))
    };
    for (series, wanted) in [
        ("taste_requests_total{detector=\"plane\",outcome=\"ok\"}", 1f64),
        ("taste_requests_total{detector=\"plane\",outcome=\"invalid\"}", 1.0),
        ("taste_samples_total{detector=\"plane\"}", 3.0),
        ("taste_samples_flagged_total{detector=\"plane\"}", 2.0),
        ("taste_samples_without_score_total{detector=\"plane\"}", 1.0),
        ("taste_score_count{detector=\"plane\"}", 3.0),
        ("taste_score_bucket{detector=\"plane\",le=\"+Inf\"}", 3.0),
        ("taste_monitor_samples_total{monitor=\"plane\"}", 3.0),
        ("taste_queue_samples{detector=\"plane\"}", 0.0),
        ("taste_ready", 1.0),
    ] {
        assert_eq!(value(series).to_bits(), wanted.to_bits(), "{series}");
    }
    let buckets = page.lines().filter(|l| l.starts_with("taste_score_bucket")).count();
    assert_eq!(buckets, 7, "six quantiles and the rest");
    let mut families = BTreeSet::new();
    for line in page.lines().filter(|line| line.starts_with("# TYPE")) {
        let name = line.split(' ').nth(2).expect("a name");
        assert!(families.insert(name), "{name} twice");
        let counter = line.ends_with("counter");
        assert_eq!(counter, name.ends_with("_total"), "{line}");
    }
}

#[tokio::test]
async fn the_document_describes_every_path() {
    let service = Service::new();
    let document = service.get("/openapi.json").await.json();
    let paths = document["paths"].as_object().expect("paths");
    for (path, methods) in paths {
        for method in methods.as_object().expect("methods").keys() {
            let path = path.replace("{model}", "plane").replace("{version}", "1");
            if path.ends_with("/stream") {
                continue;
            }
            let answer = if method == "get" {
                service.get(&path).await
            } else {
                service.post(&path, "").await
            };
            assert!(
                ![404, 405, 500].contains(&answer.status.as_u16()) || path.ends_with("acknowledge"),
                "{method} {path}: {}",
                answer.status
            );
        }
    }
    for path in taste_serve::paths() {
        let page = !path.starts_with("/v") && path != "/metrics" && path != "/openapi.json";
        assert!(page || path == "/v2/" || paths.contains_key(path), "{path} is not described");
    }
}
