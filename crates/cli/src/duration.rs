//! Times in words.

use std::time::Duration;

/// `3 s`, `2 min 5 s`, `1 h 4 min`.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let whole = time.as_secs();
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (seconds, text) in
            [(0.26, "0.3 s"), (59.9, "59 s"), (125.0, "2 min 5 s"), (3840.0, "1 h 4 min")]
        {
            assert_eq!(time(Duration::from_secs_f64(seconds)), text);
        }
    }
}
