//! All monitors.

use std::fmt::Write;

use taste_report::{Figure, Sparkline, escape};

use super::{
    layout::{Kind, Layout, fact},
    words,
};
use crate::app::{App, Served};

pub(super) fn page(app: &App) -> String {
    let cards: String = app.served.iter().map(|served| card(served)).collect();
    let alarms = app
        .served
        .iter()
        .filter_map(|served| served.watched.as_ref())
        .filter(|watched| watched.monitor().standing().is_some())
        .count();
    let lead = match (alarms, app.served.len()) {
        (0, 1) => "No alarm stands.".to_owned(),
        (0, n) => format!("{n} detectors, and no alarm stands."),
        (1, _) => "One alarm stands.".to_owned(),
        (n, _) => format!("{n} alarms stand."),
    };
    let main = format!(
        "<h1>Monitors</h1>\n<p class=\"lead\" id=\"lead\" data-live aria-live=\"polite\">{lead}</p>\n\
         <div class=\"cards\">{cards}</div>\n"
    );
    let streams = app.served.iter().filter(|s| s.watched.is_some());
    let streams = streams.map(|s| format!("/v1/monitors/{}/stream", s.model.name)).collect();
    Layout { title: "Monitors", at: "/", kind: Kind::Live, streams }.page(&main)
}

fn card(served: &Served) -> String {
    let name = escape(&served.model.name);
    let method = escape(&served.model.detector.manifest().method.name);
    let Some(watched) = &served.watched else {
        let why = escape(served.not_watched.as_deref().unwrap_or("monitoring is off"));
        return format!(
            "<article class=\"card\"><h2>{name}</h2><p class=\"quiet\">{method}</p>\
             <p>Served, not monitored: {why}.</p></article>\n"
        );
    };
    let view = watched.monitor().view();
    let (class, sign, word) = words::status(view.status);
    let to_ten = std::f64::consts::LN_10;
    let points: Vec<f64> = view.series.iter().map(|p| p.log.1 / to_ten).collect();
    let line = Sparkline::new(format!("Evidence of {}", served.model.name), points)
        .level(view.log_threshold / to_ten);
    let flagged = &view.flagged;
    let alpha = flagged.alpha.map_or(String::new(), |a| format!("{} expected", words::percent(a)));
    let last = view.last_time.map_or("never".to_owned(), words::ago);
    let mut facts = String::new();
    for (name, value, detail) in [
        ("Samples", words::count(view.samples), String::new()),
        ("Flagged", words::percent(flagged.share), alpha),
        (
            "Evidence",
            words::evidence(view.log_evidence),
            format!("alarm at {}", words::evidence(view.log_threshold)),
        ),
        ("Last sample", last, String::new()),
    ] {
        let _ = facts.write_str(&fact(name, &value, &detail));
    }
    let verdict = escape(&words::verdict(&view));
    let promise = words::count(whole(view.settings.run_length));
    let svg = line.to_svg();
    format!(
        "<article class=\"card monitor {class}\" id=\"card-{name}\" data-live>\
         <div class=\"head\"><h2><a href=\"/monitors/{name}\">{name}</a></h2>\
         <span class=\"state {class}\"><span aria-hidden=\"true\">{sign}</span> {word}</span></div>\
         <p class=\"verdict-line\">{verdict}</p>\
         <div class=\"spark\">{svg}</div>\
         <dl class=\"facts\">{facts}</dl>\
         <p class=\"quiet\">{method}. A false alarm at most once in {promise} samples on average.</p></article>\n"
    )
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of samples")]
pub(super) fn whole(value: f64) -> u64 {
    value.clamp(0.0, 1e18) as u64
}
