use taste_choice::Entry;
use taste_stats::{
    random::Random,
    rank::{Grid, Pixels, Ranked},
};

use super::{METRICS, Measure, correlation, metric, share};

/// Scores with ties.
fn draw(count: usize, shift: f64, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..count).map(|_| (4.0 * (random.normal() + shift)).round()).collect()
}

fn value(name: &str, negative: &[f64], positive: &[f64]) -> Option<f64> {
    metric(name).expect(name).value(&Ranked::new(negative, positive))
}

#[test]
fn values_are_those_of_scikit_learn() {
    let inside: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 19) / 4.0).collect();
    let outside: Vec<f64> = (0..25).map(|i| f64::from(i * 11 % 23) / 4.0 + 1.5).collect();
    for (name, expected) in [
        ("auroc", 0.8005),
        ("failure", 0.8005),
        ("aupr", 0.760_556_168_733_069_1),
        ("aupr-id", 0.858_830_249_271_425_7),
        ("fpr95", 0.56),
        ("fpr95-ood-positive", 0.675),
    ] {
        let found = value(name, &inside, &outside).expect(name);
        assert!((found - expected).abs() < 1e-14, "{name}: {found}");
    }
}

#[test]
fn every_metric_has_an_interval_around_it_and_does_not_see_order_or_scale() {
    let (clean, shifted) = (draw(120, 0.0, 1), draw(80, 0.9, 2));
    let mapped = |scores: &[f64]| scores.iter().rev().map(|s| 5.0 + s.powi(3)).collect::<Vec<_>>();
    let ranked = Ranked::new(&clean, &shifted);
    let other = Ranked::new(&mapped(&clean), &mapped(&shifted));
    let mut names = Vec::new();
    for metric in METRICS {
        let name = metric.choice().name;
        names.push(name);
        if matches!(metric.measure, Measure::Share | Measure::Correlation | Measure::Pixels(_)) {
            assert_eq!(metric.measure(&ranked), None, "{name}");
            continue;
        }
        let found = metric.measure(&ranked).expect(name);
        let (low, high) = found.low.zip(found.high).expect(name);
        assert!(low < found.value && found.value < high, "{name}: {found:?}");
        assert!((0.0..=1.0).contains(&low) && high <= 1.0, "{name}: {found:?}");
        assert_eq!(metric.measure(&other), Some(found), "{name}");
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// Scores, maps and what scikit-learn, or a loop over all thresholds, makes of them: `tests/fixtures/metrics.py`.
#[derive(serde::Deserialize)]
struct Fixture {
    inside: Vec<f64>,
    outside: Vec<f64>,
    width: usize,
    maps: Vec<Vec<f32>>,
    marked: Vec<Vec<bool>>,
    expected: std::collections::BTreeMap<String, f64>,
}

#[test]
fn values_are_those_of_other_libraries() {
    let fixture: Fixture =
        serde_json::from_str(include_str!("../../tests/fixtures/metrics.json")).expect("JSON");
    let ranked = Ranked::new(&fixture.inside, &fixture.outside);
    let grids: Vec<Grid<'_>> = fixture
        .maps
        .iter()
        .zip(&fixture.marked)
        .map(|(scores, marked)| Grid { width: fixture.width, scores, marked })
        .collect();
    let pixels = Pixels::new(&grids).expect("maps");
    for (name, expected) in &fixture.expected {
        let metric = metric(name).expect(name);
        let found = match metric.measure {
            Measure::Pixels(_) => metric.measure_pixels(&pixels).expect(name),
            _ => metric.measure(&ranked).expect(name),
        };
        assert!((found.value - expected).abs() < 1e-12, "{name}: {} {expected}", found.value);
        let (low, high) = found.low.zip(found.high).expect(name);
        assert!(low <= found.value && found.value <= high, "{name}: {found:?}");
    }
    assert_eq!(fixture.expected.len(), 12);
}

#[test]
fn turning_scores_round_turns_areas_round() {
    let (clean, shifted) = (draw(90, 0.0, 5), draw(70, 0.6, 6));
    let minus = |scores: &[f64]| scores.iter().map(|s| -s).collect::<Vec<_>>();
    let (a, b) =
        (value("auroc", &clean, &shifted), value("auroc", &minus(&clean), &minus(&shifted)));
    assert!((a.expect("samples") + b.expect("samples") - 1.0).abs() < 1e-14);
    // The classes change places with the sign.
    for (one, other) in [("aupr", "aupr-id"), ("fpr95", "fpr95-ood-positive"), ("auroc", "auroc")] {
        let turned = value(other, &minus(&shifted), &minus(&clean));
        assert_eq!(value(one, &clean, &shifted), turned, "{one}");
    }
}

#[test]
fn without_samples_of_both_kinds_nothing_is_separated() {
    for name in ["auroc", "aupr", "aupr-id", "fpr95", "fpr95-ood-positive", "failure"] {
        assert_eq!((value(name, &[], &[1.0]), value(name, &[1.0], &[])), (None, None), "{name}");
    }
    let alone = metric("auroc").expect("auroc").measure(&Ranked::new(&[0.0], &[1.0]));
    assert_eq!(alone.map(|m| (m.value, m.low)), Some((1.0, None)));
    assert_eq!(value("aurc", &[], &[]), None);
}

#[test]
fn shares_and_correlations_have_intervals() {
    let found = share(3, 10).expect("samples");
    assert!((found.value - 0.3).abs() < 1e-15 && found.low < Some(0.1) && found.high > Some(0.6));
    assert_eq!(share(0, 0), None);
    let rising: Vec<f64> = (0..12).map(f64::from).collect();
    assert_eq!(correlation(&rising, &rising).map(|m| m.value), Some(1.0));
    assert_eq!(correlation(&rising[..1], &rising[..1]), None);
}

#[test]
fn a_mistyped_name_gets_a_suggestion() {
    let message = metric("aurocc").expect_err("mistyped").to_string();
    assert!(message.contains("did you mean auroc?"), "{message}");
}
