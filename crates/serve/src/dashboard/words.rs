//! States, times and numbers in words.

use taste_monitor::{Alarm, Kind, Status, View, message::rfc3339};

use crate::time::now;

/// The class, the sign and the word of a state.
pub(super) fn status(status: Status) -> (&'static str, &'static str, &'static str) {
    match status {
        Status::Quiet => ("ok", "✓", "Quiet"),
        Status::Gathering => ("warning", "…", "Gathering"),
        Status::Acknowledged => ("warning", "!", "Acknowledged"),
        Status::Alarm => ("alarm", "✕", "Alarm"),
        Status::Stopped => ("alarm", "■", "Stopped"),
    }
}

/// What a state means, in a sentence.
pub(super) fn verdict(view: &View) -> String {
    match (view.status, view.standing()) {
        (Status::Stopped, _) => {
            format!(
                "Nothing is counted any more: {}.",
                view.stopped.as_deref().unwrap_or("unknown")
            )
        }
        (Status::Gathering, _) => view.guarantee.first().cloned().unwrap_or_default(),
        (_, Some(alarm)) => moved(alarm),
        _ if view.samples == 0 => "No samples have come yet.".to_owned(),
        _ => "Nothing speaks for a change that matters.".to_owned(),
    }
}

/// What an alarm says.
pub(super) fn moved(alarm: &Alarm) -> String {
    let what = match alarm.stream {
        Kind::Harm => "Samples have become harder for the model",
        Kind::Novelty => "Samples have become less like the training data",
        Kind::Residual => "The model's residual has moved",
    };
    format!("{what}, by {} standard deviations. {}", signed(alarm.effect), began(alarm))
}

/// When it began.
pub(super) fn began(alarm: &Alarm) -> String {
    match &alarm.began {
        None => "When it began can't be told.".to_owned(),
        Some(began) => match began.earliest {
            Some(earliest) => format!(
                "It began between samples {} and {}.",
                count(earliest.sample),
                count(began.latest.sample)
            ),
            None => format!("It had begun by sample {}.", count(began.latest.sample)),
        },
    }
}

/// A whole number with spaces between thousands.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// `+1.24`, `−0.30`.
pub(super) fn signed(value: f64) -> String {
    if value < 0.0 { format!("−{:.2}", -value) } else { format!("+{value:.2}") }
}

/// `4.2 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Evidence of which the natural logarithm is given: `12`, `3.4 million`.
pub(super) fn evidence(log: f64) -> String {
    let value = log.exp();
    match value {
        v if v.is_nan() || v < 0.01 => "below 0.01".to_owned(),
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 1000.0 => format!("{v:.0}"),
        v if v < 1e6 => format!("{:.0} thousand", v / 1e3),
        v if v < 1e9 => format!("{:.0} million", v / 1e6),
        _ => format!("10^{:.0}", log / std::f64::consts::LN_10),
    }
}

/// How long ago a time in milliseconds was.
pub(super) fn ago(time: i64) -> String {
    let seconds = (now() - time).max(0) / 1000;
    match seconds {
        0..=4 => "just now".to_owned(),
        5..=119 => format!("{seconds} s ago"),
        120..=7199 => format!("{} min ago", seconds / 60),
        7200..=172_799 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// A time to the second.
pub(super) fn moment(time: i64) -> String {
    let text = rfc3339(time);
    format!("{} {}", text.get(..10).unwrap_or_default(), text.get(11..19).unwrap_or_default())
}

/// A duration of seconds.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.001 => format!("{:.2} ms", s * 1e3),
        s if s < 0.01 => format!("{:.1} ms", s * 1e3),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!((count(999), signed(-0.3)), ("999".to_owned(), "−0.30".to_owned()));
        for (log, text) in [
            (f64::NEG_INFINITY, "below 0.01"),
            (0.0, "1.00"),
            (9.3, "11 thousand"),
            (50.0, "10^22"),
        ] {
            assert_eq!(evidence(log), text);
        }
        assert_eq!(moment(0), "1970-01-01 00:00:00");
        assert_eq!((duration(0.0004), duration(0.25)), ("0.40 ms".to_owned(), "250 ms".to_owned()));
    }
}
