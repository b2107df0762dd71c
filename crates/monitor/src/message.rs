//! Alarms as messages to other programs. What sends them is the front end's.

use serde_json::{Value, json};

use crate::{Alarm, Event, Message};

/// A year in milliseconds: Alertmanager takes an alert for resolved after five minutes unless it is told how long it lasts.
const YEAR: i64 = 365 * 24 * 3_600_000;

/// A name for a message that stays the same when it is sent again: receivers know it by that.
pub fn key(detector: &str, message: &Message) -> String {
    let event = match message.event {
        Event::Raised => "raised",
        Event::Acknowledged => "acknowledged",
        Event::Resolved => "resolved",
    };
    format!("{}-{}-{event}", detector.get(..16).unwrap_or(detector), message.alarm)
}

/// A message for any program: `{"key", "monitor", "event", "time", "summary", "alarm": {…}}`.
pub fn plain(monitor: &str, detector: &str, message: &Message, alarm: &Alarm) -> Value {
    json!({
        "key": key(detector, message),
        "monitor": monitor,
        "detector": detector,
        "event": message.event,
        "time": rfc3339(message.time),
        "summary": summary(alarm),
        "alarm": alarm,
    })
}

/// The body that Alertmanager takes at `/api/v2/alerts`. It knows no acknowledgement, which is sent as an annotation.
pub fn alertmanager(monitor: &str, detector: &str, message: &Message, alarm: &Alarm) -> Value {
    let ends = match &alarm.resolved {
        Some(resolved) if message.event == Event::Resolved => resolved.at.time,
        _ => alarm.raised.time + YEAR,
    };
    let mut annotations = json!({
        "summary": summary(alarm),
        "effect": format!("{:.2} SD", alarm.effect),
        "samples": alarm.carriers.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join("; "),
        "reasons": alarm.reasons.iter().map(|r| r.name.as_str()).collect::<Vec<_>>().join("; "),
    });
    if let Some(by) = &alarm.acknowledged {
        annotations["acknowledged"] = json!(format!("{}: {}", by.by, by.note));
    }
    json!([{
        "labels": {
            "alertname": "TasteShift",
            "detector": detector.get(..16).unwrap_or(detector),
            "monitor": monitor,
            "stream": alarm.stream,
            "alarm": alarm.id.to_string(),
            "severity": "warning",
        },
        "annotations": annotations,
        "startsAt": rfc3339(alarm.raised.time),
        "endsAt": rfc3339(ends),
    }])
}

/// An alarm in a sentence.
pub fn summary(alarm: &Alarm) -> String {
    let since = match &alarm.began {
        Some(began) => {
            let from = began.earliest.map_or_else(
                || format!("by sample {} at the latest", began.latest.sample),
                |e| format!("between samples {} and {}", e.sample, began.latest.sample),
            );
            format!("; it began {from}")
        }
        None => String::new(),
    };
    format!(
        "alarm {} at sample {}: {} has moved by {:+.2} standard deviations{since}",
        alarm.id, alarm.raised.sample, alarm.stream, alarm.effect
    )
}

/// A time in milliseconds since 1970 as `2026-11-18T09:30:00.000Z`.
pub fn rfc3339(time: i64) -> String {
    let (days, rest) = (time.div_euclid(86_400_000), time.rem_euclid(86_400_000));
    // Civil from days, after Hinnant: eras of 400 years that start in March.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (time, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_794_990_600_123, "2026-11-18T08:30:00.123Z"),
            (4_102_444_799_999, "2099-12-31T23:59:59.999Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(rfc3339(time), expected);
        }
    }
}
