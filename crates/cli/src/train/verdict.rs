//! What the numbers of a run mean, and what to do about it.

use taste_train::{HeldOut, Point};

/// Losses that differ by less than this share are called equal.
const CLOSE: f64 = 0.02;

/// A judgement in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) is_good: bool,
    pub(super) text: String,
}

impl Verdict {
    fn new(is_good: bool, text: impl Into<String>) -> Self {
        Self { is_good, text: text.into() }
    }
}

/// Of a score network.
pub(super) fn of_score(
    held_out: Option<&HeldOut>,
    gaussian: Option<f64>,
    curve: &[Point],
) -> Verdict {
    let Some(held_out) = held_out else { return unjudged() };
    let loss = held_out.loss;
    if loss.is_nan() || loss >= 1.0 {
        return Verdict::new(
            false,
            format!(
                "The score is worse than none at all, whose loss is 1: train for more steps, or with a smaller rate{}.",
                overfitting(curve)
            ),
        );
    }
    if let Some(stein) = held_out.stein.filter(|s| (s.ratio - 1.0).abs() > (4.0 * s.error).max(0.1))
    {
        return Verdict::new(
            false,
            format!(
                "The score has {:.2} times the size that the Stein identity asks for: train for more steps{}.",
                stein.ratio,
                overfitting(curve)
            ),
        );
    }
    let chance = 2.0 * held_out.error.unwrap_or(0.0) / gaussian.unwrap_or(1.0);
    let close = CLOSE.max(chance);
    match gaussian.filter(|g| *g > 0.0).map(|g| 1.0 - loss / g) {
        None => Verdict::new(
            true,
            format!(
                "The score explains {:.0} % of the noise.{}",
                100.0 * (1.0 - loss),
                falling(curve)
            ),
        ),
        Some(gain) if gain > close => Verdict::new(
            true,
            format!(
                "It beats the best Gaussian by {:.0} % of its loss.{}",
                100.0 * gain,
                falling(curve)
            ),
        ),
        Some(gain) if gain > -close => Verdict::new(
            true,
            format!(
                "It is as good as the best Gaussian, as far as {} held-out samples can tell: the data are close to one at \
                 this noise, and --score-model gaussian costs less; or more steps or another noise would show what a Gaussian \
                 misses.{}",
                held_out.samples,
                falling(curve)
            ),
        ),
        Some(gain) => Verdict::new(
            false,
            format!(
                "The best Gaussian has a loss that is {:.0} % lower: train for more steps, with more noise{}, or use \
                 --score-model gaussian.",
                100.0 * (1.0 - 1.0 / (1.0 - gain)),
                overfitting(curve)
            ),
        ),
    }
}

/// Of a classifier or regressor, whose loss would be `idle` without having learned anything.
pub(super) fn of_task(held_out: Option<&HeldOut>, idle: f64, curve: &[Point]) -> Verdict {
    let Some(held_out) = held_out else { return unjudged() };
    if held_out.loss.is_nan() || held_out.loss > idle * (1.0 - CLOSE) {
        return Verdict::new(
            false,
            format!(
                "It has learned nothing that helps with new samples: train for more steps, or with a smaller rate{}.",
                overfitting(curve)
            ),
        );
    }
    let accuracy = held_out.accuracy.map_or_else(
        || {
            format!(
                "It explains {:.1} % of the variance of new samples.",
                100.0 * (1.0 - held_out.loss / idle)
            )
        },
        |accuracy| format!("It is right about {:.1} % of new samples.", 100.0 * accuracy),
    );
    let over = if overfitting(curve).is_empty() {
        falling(curve).to_owned()
    } else {
        " The held-out loss has been lower before: --patience stops in time.".to_owned()
    };
    Verdict::new(true, accuracy + &over)
}

fn unjudged() -> Verdict {
    Verdict::new(
        false,
        "No samples were held out, so nothing is known about new ones: give --held-out a share.",
    )
}

/// Advice where the held-out loss went up again.
fn overfitting(curve: &[Point]) -> &'static str {
    let held_out: Vec<f64> = curve.iter().filter_map(|p| p.held_out).collect();
    let best = held_out.iter().copied().fold(f64::INFINITY, f64::min);
    match held_out.last() {
        Some(last) if *last > best * (1.0 + 2.0 * CLOSE) => {
            ", with more samples or with --patience, as it has learned the samples by heart"
        }
        _ => "",
    }
}

/// A remark where the held-out loss still falls.
fn falling(curve: &[Point]) -> &'static str {
    let held_out: Vec<f64> = curve.iter().filter_map(|p| p.held_out).collect();
    match held_out[..] {
        [.., last] if held_out.len() >= 20 => {
            let before = held_out[held_out.len() - held_out.len() / 5];
            if last < before * (1.0 - 2.0 * CLOSE) {
                " The loss was still falling: more steps would help."
            } else {
                ""
            }
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use taste_train::Stein;

    use super::*;

    fn held_out(loss: f64, ratio: f64) -> HeldOut {
        let stein = Some(Stein { ratio, error: 0.01 });
        HeldOut {
            loss,
            error: Some(0.001),
            accuracy: None,
            by_class: Vec::new(),
            stein,
            samples: 100,
        }
    }

    fn curve(losses: &[f64]) -> Vec<Point> {
        let point = |(step, &loss)| Point { step, loss, held_out: Some(loss) };
        losses.iter().enumerate().map(point).collect()
    }

    #[test]
    fn every_outcome_has_its_words() {
        let flat = curve(&[0.5; 30]);
        for (held_out, gaussian, is_good, part) in [
            (Some(held_out(0.3, 1.0)), Some(0.4), true, "beats the best Gaussian by 25 %"),
            (Some(held_out(0.4, 1.0)), Some(0.4), true, "as good as the best Gaussian"),
            (Some(held_out(0.5, 1.0)), Some(0.4), false, "20 % lower"),
            (Some(held_out(1.2, 1.0)), Some(0.4), false, "worse than none"),
            (Some(held_out(0.3, 0.5)), Some(0.4), false, "0.50 times the size"),
            (Some(held_out(0.3, 1.0)), None, true, "70 % of the noise"),
            (None, Some(0.4), false, "No samples were held out"),
        ] {
            let verdict = of_score(held_out.as_ref(), gaussian, &flat);
            assert_eq!(verdict.is_good, is_good, "{verdict:?}");
            assert!(verdict.text.contains(part), "{verdict:?}");
        }
        let unsure = HeldOut { error: Some(0.1), ..held_out(0.3, 1.0) };
        assert!(of_score(Some(&unsure), Some(0.4), &flat).text.contains("as far as 100 held-out"));
        let falling: Vec<f64> = (0..30).map(|i| 1.0 - 0.02 * f64::from(i)).collect();
        let verdict = of_score(Some(&held_out(0.3, 1.0)), Some(0.4), &curve(&falling));
        assert!(verdict.text.contains("more steps would help"), "{verdict:?}");
        let rising: Vec<f64> = falling.into_iter().rev().collect();
        let verdict = of_score(Some(&held_out(0.5, 1.0)), Some(0.4), &curve(&rising));
        assert!(verdict.text.contains("by heart"), "{verdict:?}");
    }

    #[test]
    fn tasks_are_held_against_doing_nothing() {
        let flat = curve(&[0.5; 30]);
        let good = HeldOut { accuracy: Some(0.97), stein: None, ..held_out(0.1, 1.0) };
        assert!(of_task(Some(&good), 0.7, &flat).text.contains("97.0 %"));
        assert!(!of_task(Some(&HeldOut { loss: 0.7, ..good.clone() }), 0.7, &flat).is_good);
        let number = HeldOut { accuracy: None, ..good };
        assert!(of_task(Some(&number), 1.0, &flat).text.contains("90.0 % of the variance"));
    }
}
