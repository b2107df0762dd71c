//! How the service is.

use taste_report::escape;

use super::{
    layout::{Kind, Layout, fact, table},
    words::{self, count, duration},
};
use crate::{
    app::{App, Served},
    metrics::{Histogram, resident},
    refusal::Outcome,
};

pub(super) fn page(app: &App) -> String {
    let up = app.started.elapsed().unwrap_or_default().as_secs_f64();
    let trouble = app.trouble();
    let (class, sign, word) = match (&trouble, app.is_ready()) {
        (Some(_), _) => ("alarm", "■", "Not ready"),
        (None, false) => ("warning", "!", "Ending"),
        (None, true) => ("ok", "✓", "Ready"),
    };
    let detail = trouble.unwrap_or_else(|| "Requests are answered.".to_owned());
    let memory = resident().map_or("–".to_owned(), |bytes| format!("{} MiB", count(bytes >> 20)));
    let facts = [
        fact("Up", &duration(up), ""),
        fact("Memory", &memory, ""),
        fact("Detectors", &count(app.served.len() as u64), ""),
        fact("Connections turned away", &count(app.refused_connections.get()), ""),
    ]
    .concat();
    let sections: String = app.served.iter().map(|served| section(app, served)).collect();
    let main = format!(
        "<h1>Service</h1>\n<div class=\"verdict {class}\" id=\"verdict\" data-live role=\"status\">\
         <span class=\"sign\" aria-hidden=\"true\">{sign}</span><div><strong>{word}</strong><p>{}</p></div></div>\n\
         <dl class=\"facts wide-facts card\" id=\"facts\" data-live>{facts}</dl>\n{sections}",
        escape(&detail)
    );
    let streams = app.served.iter().filter(|s| s.watched.is_some());
    let streams = streams.map(|s| format!("/v1/monitors/{}/stream", s.model.name)).collect();
    Layout { title: "Service", at: "/health", kind: Kind::Live, streams }.page(&main)
}

fn section(app: &App, served: &Served) -> String {
    let metrics = &served.metrics;
    let times = |name: &str, histogram: &Histogram| {
        let at = |share: f64| histogram.quantile(share).map_or("–".to_owned(), duration);
        vec![name.to_owned(), count(histogram.read().1), at(0.5), at(0.9), at(0.99)]
    };
    let rows = [
        times("whole request", &metrics.request_seconds),
        times("waiting", &metrics.queue_seconds),
        times("scoring a batch", &metrics.scoring_seconds),
    ];
    let outcomes = Outcome::ALL.map(|o| vec![o.name().to_owned(), count(metrics.request(o).get())]);
    let (_, batches, samples) = metrics.batch_samples.read();
    let mean = if batches == 0 { 0.0 } else { samples / batches as f64 };
    let persisted = served.watched.as_ref().map_or("not monitored".to_owned(), |watched| {
        match i64::try_from(watched.persisted.get()) {
            Ok(0) | Err(_) => "nothing yet".to_owned(),
            Ok(time) => words::ago(time),
        }
    });
    let facts = [
        fact(
            "Waiting now",
            &count(served.queue.samples() as u64),
            &format!("of {} samples that may", count(app.settings.queue as u64)),
        ),
        fact("Samples a batch", &format!("{mean:.1}"), &format!("at most {}", app.settings.batch)),
        fact("Last durable", &persisted, ""),
        fact("Dropped unscored", &count(metrics.dropped.get()), "samples nobody waited for"),
    ]
    .concat();
    let name = escape(&served.model.name);
    format!(
        "<section class=\"card\" id=\"health-{name}\" data-live><h2>{name}</h2>\
         <dl class=\"facts\">{facts}</dl>\
         <h3>How long it takes</h3>{}<h3>How requests ended</h3>{}</section>\n",
        table(&["", "times", "half below", "90 % below", "99 % below"], &rows),
        table(&["outcome", "requests"], &outcomes)
    )
}
