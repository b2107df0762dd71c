//! One monitor.

use std::fmt::Write;

use taste_monitor::{Alarm, Standing, Status, View};
use taste_report::escape;

use super::{
    figures,
    layout::{Kind, Layout, fact, table},
    overview::whole,
    words,
};
use crate::{
    app::{App, Served},
    recent::Recent,
    record::Watched,
};

pub(super) fn page(_app: &App, served: &Served, watched: &Watched, kind: Kind) -> String {
    let view = watched.monitor().view();
    let model = &served.model;
    let name = escape(&model.name);
    let live = kind == Kind::Live;
    let mut main = String::new();
    if live {
        main += "<p class=\"crumbs\"><a href=\"/\">Monitors</a> <span aria-hidden=\"true\">/</span></p>\n";
    }
    let manifest = model.detector.manifest();
    let _ = write!(
        main,
        "<h1>{name}</h1>\n<p class=\"lead\">{}, calibrated on {} samples. Model {}.</p>\n",
        escape(&manifest.method.written),
        words::count(model.detector.calibration().len() as u64),
        escape(&manifest.model.file)
    );
    main += &verdict(&view);
    let _ = writeln!(
        main,
        "<dl class=\"facts wide-facts card\" id=\"facts\" data-live>{}</dl>",
        facts(&view)
    );
    if live {
        main += &actions(&name, &view);
        let _ = writeln!(
            main,
            "<p class=\"links\"><a href=\"/monitors/{name}/samples\">Worst samples</a> \
             <a href=\"/v1/monitors/{name}/report\">As a file</a> \
             <a href=\"/v1/monitors/{name}\">As JSON</a></p>"
        );
    }
    let recent = watched.recent();
    let _ = writeln!(
        main,
        "<div class=\"grid\" id=\"figures\" data-live>{}</div>",
        drawn(served, &view, &recent)
    );
    drop(recent);
    let _ = writeln!(
        main,
        "<section id=\"alarms\" data-live><h2>Alarms</h2>{}</section>",
        alarms(&view)
    );
    let said: Vec<String> =
        view.guarantee.iter().map(|s| format!("<p>{}</p>", escape(s))).collect();
    let said = said.concat();
    let _ = writeln!(
        main,
        "<section class=\"card promise\" id=\"promise\" data-live><h2>What is guaranteed</h2>{said}\
         <dl class=\"facts\">{}</dl></section>",
        promise(&view)
    );
    let streams = vec![format!("/v1/monitors/{}/stream", model.name)];
    Layout { title: &model.name, at: "", kind, streams }.page(&main)
}

fn verdict(view: &View) -> String {
    let (class, sign, word) = words::status(view.status);
    let detail = escape(&words::verdict(view));
    let since = view.standing().map_or(String::new(), |alarm| {
        let time = words::moment(alarm.raised.time);
        let sample = words::count(alarm.raised.sample);
        format!("<p class=\"quiet\">Raised at sample {sample}, {time} UTC. {}</p>", carried(alarm))
    });
    format!(
        "<div class=\"verdict {class}\" id=\"verdict\" data-live role=\"status\" aria-live=\"polite\">\
         <span class=\"sign\" aria-hidden=\"true\">{sign}</span>\
         <div><strong>{word}</strong><p>{detail}</p>{since}</div></div>\n"
    )
}

/// What carries an alarm.
fn carried(alarm: &Alarm) -> String {
    if alarm.reasons.is_empty() {
        return String::new();
    }
    let reasons: Vec<String> = alarm
        .reasons
        .iter()
        .take(3)
        .map(|r| format!("{} ({} SD)", escape(&r.name), words::signed(r.effect)))
        .collect();
    format!("Carried by {}.", reasons.join(", "))
}

fn facts(view: &View) -> String {
    let alpha = view.flagged.alpha.map(|a| format!("{} expected", words::percent(a)));
    let effect = view.standing().map_or("–".to_owned(), |a| words::signed(a.effect) + " SD");
    let first =
        view.first_time.map_or(String::new(), |t| format!("since {} UTC", words::moment(t)));
    let lifetime = if view.lifetime_p_value < 0.001 {
        "below 0.001".to_owned()
    } else {
        format!("{:.3}", view.lifetime_p_value)
    };
    [
        fact("Samples", &words::count(view.samples), &first),
        fact(
            "Evidence",
            &words::evidence(view.log_evidence),
            &format!("alarm at {}", words::evidence(view.log_threshold)),
        ),
        fact("Flagged", &words::percent(view.flagged.share), &alpha.unwrap_or_default()),
        fact("Effect", &effect, "while an alarm stands"),
        fact("Ever changed?", &lifetime, "p-value that holds at any time"),
        fact("Last sample", &view.last_time.map_or("never".to_owned(), words::ago), ""),
    ]
    .concat()
}

/// Forms that say something to the monitor.
fn actions(name: &str, view: &View) -> String {
    let acknowledge = match view.standing() {
        Some(alarm) if view.status == Status::Alarm => format!(
            "<form class=\"action\" data-post=\"/v1/monitors/{name}/acknowledge\">\
             <input type=\"hidden\" name=\"alarm\" value=\"{}\">\
             <label>Your name <input name=\"by\" autocomplete=\"name\" maxlength=\"100\" required></label>\
             <label>Note <input name=\"note\" maxlength=\"1000\"></label>\
             <button type=\"submit\">Acknowledge</button></form>",
            alarm.id
        ),
        _ => String::new(),
    };
    format!(
        "<div id=\"actions\" data-live class=\"actions\">{acknowledge}\
         <form class=\"action\" data-post=\"/v1/monitors/{name}/restart\" \
         data-confirm=\"Evidence begins anew, and an alarm that stands is resolved. Go on?\">\
         <button type=\"submit\" class=\"plain\">Begin anew</button></form>\
         <p class=\"said\" role=\"alert\" hidden></p></div>\n"
    )
}

fn drawn(served: &Served, view: &View, recent: &Recent) -> String {
    let mut html = figures::evidence(view);
    html += &figures::evidence_in_time(view);
    html += &figures::flagged(view);
    html += &figures::scores(&served.model.detector, &recent.scores());
    html += &figures::p_values(view).unwrap_or_default();
    let what = &format!("Among the last {} samples", words::count(recent.scores().len() as u64));
    let terms = figures::effects("terms", "Terms of the score", what, &recent.terms(), 12);
    html += &terms.unwrap_or_default();
    let classes = recent.classes();
    let classes = figures::effects("classes", "Score by predicted class", what, &classes, 12);
    html += &classes.unwrap_or_default();
    let columns = figures::effects("columns", "Columns", what, &recent.columns(), 12);
    html += &columns.unwrap_or_default();
    html
}

fn alarms(view: &View) -> String {
    if view.alarms.is_empty() {
        return "<p>None so far.</p>".to_owned();
    }
    let row = |alarm: &Alarm| {
        let standing = match (alarm.standing, &alarm.acknowledged) {
            (Standing::Firing, _) => "stands".to_owned(),
            (Standing::Acknowledged, Some(known)) => known.to_string(),
            (Standing::Acknowledged, None) => "acknowledged".to_owned(),
            (Standing::Resolved, _) => alarm
                .resolved
                .map_or("over".to_owned(), |r| format!("over since {}", words::moment(r.at.time))),
        };
        let reasons: Vec<String> = alarm
            .reasons
            .iter()
            .take(3)
            .map(|r| format!("{} {}", r.name, words::signed(r.effect)))
            .collect();
        vec![
            alarm.id.to_string(),
            words::moment(alarm.raised.time),
            words::count(alarm.raised.sample),
            alarm.stream.to_string(),
            words::signed(alarm.effect),
            words::began(alarm),
            reasons.join(", "),
            standing,
        ]
    };
    let rows: Vec<Vec<String>> = view.alarms.iter().rev().take(50).map(row).collect();
    let head = [
        "alarm",
        "raised (UTC)",
        "at sample",
        "stream",
        "effect (SD)",
        "began",
        "carried by",
        "state",
    ];
    table(&head, &rows)
}

fn promise(view: &View) -> String {
    let n = view.streams.iter().map(|s| s.calibrated).min().unwrap_or(0);
    let visible = view.streams.iter().map(|s| s.smallest_visible).fold(f64::INFINITY, f64::min);
    let visible = if visible.is_finite() { format!("{visible:.2} SD") } else { "–".to_owned() };
    [
        fact("A, the run length", &words::count(whole(view.settings.run_length)), "samples"),
        fact("δ, the chance that it does not hold", &words::percent(view.settings.delta), ""),
        fact("n, the calibration", &words::count(n as u64), "samples"),
        fact("Smallest shift that can be seen", &visible, ""),
    ]
    .concat()
}
