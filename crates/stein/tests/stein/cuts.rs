//! A detector does not depend on how the data were cut, whatever its score model.

use ndarray::ArrayD;
use taste_detector::{Detector, Settings};
use taste_engine::Backend;
use taste_stats::random::Random;

use crate::{
    common::{Trial, engine, network, normal},
    parts::{at_blocks, fit_in_parts},
};

const ROWS: usize = 900;

fn scores(detector: &Detector, samples: &ArrayD<f32>) -> Vec<f32> {
    let scorer = detector.start(&engine(&Backend::RTEN), false).expect("a scorer");
    scorer.score(samples.view()).expect("scores").score
}

#[test]
fn cuts_at_the_borders_of_blocks_change_no_bit_and_others_only_rounding() {
    let model = network(&[4, 8, 3], "Tanh", 1);
    let data = normal(ROWS, 4, 0.0, 2);
    let samples = normal(100, 4, 0.3, 3).values().clone();
    for field in ["gaussian", "gmm:2", "kde"] {
        let mut trial = Trial::named(&model, field);
        trial.shared = Settings { batch: Some(2), ..trial.shared };
        let (fit, engine) = (trial.fit(), engine(&Backend::RTEN));
        let whole = fit.run(&data, None).expect("a detector");
        let bytes = whole.to_bytes().expect("bytes");
        for parts in [2, 7] {
            let mut random = Random::new(parts as u64);
            let cut = fit_in_parts(&fit, &data, &engine, &mut random, |plan, random| {
                at_blocks(plan, random, ROWS, parts)
            });
            let cut = cut.expect("a detector");
            assert_eq!(cut.manifest(), whole.manifest(), "{field}, {parts} parts");
            assert!(cut.to_bytes().expect("bytes") == bytes, "{field}, {parts} parts");
        }
        let cut = fit_in_parts(&fit, &data, &engine, &mut Random::new(5), |_, random| {
            (1..7).map(|_| random.below(ROWS + 1)).collect()
        });
        let (a, b) = (scores(&cut.expect("a detector"), &samples), scores(&whole, &samples));
        // Scores are differences of larger numbers: relative to scores as they commonly are.
        let size = b.iter().map(|s| s.abs()).sum::<f32>() / b.len() as f32;
        for (x, y) in a.iter().zip(&b) {
            assert!((x - y).abs() <= 1e-6 * y.abs().max(size), "{field}: {x} and {y}");
        }
    }
}
