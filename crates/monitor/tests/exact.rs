//! Numbers that are known: quantiles of Beta laws, tables of normalisers and bets, a stream worked out by hand.

use taste_monitor::sequential::{
    Bets, Evidence, Learning, Onset, Rank, Setting, Sides, Tolerance, normaliser::Binned, onset,
};

fn close(found: f64, expected: f64, relative: f64) {
    let off = (found - expected).abs();
    assert!(off <= relative * expected.abs().max(1e-300), "{found} instead of {expected}");
}

fn bets(samples: usize, delta: f64) -> Bets {
    Bets::new(Setting { delta, ..Setting::new(samples) }).expect("bets")
}

/// The rank that the tests of a stream go through: uniform up to sample 200, then the first quarter of ranks.
fn known(t: usize) -> Rank {
    let place = 617 * t % 1001;
    Rank::single(1 + if t <= 200 { place } else { place / 4 })
}

#[test]
fn quantiles_of_steps_are_those_of_beta_laws() {
    for (n, k, delta, expected) in [
        (5.0, 2.0, 0.05, 1.972_224_954_0),
        (19.0, 1.0, 0.05, 2.917_370_066_2),
        (200.0, 10.0, 0.01, 1.841_798_074_9),
        (1000.0, 5.0, 0.002, 2.761_287_464_3),
        (1000.0, 50.0, 0.01, 1.346_503_264_3),
        (100_000.0, 1000.0, 0.01, 1.074_633_976_6),
    ] {
        let all: f64 = n + 1.0;
        let bet = Binned { values: &[all / k, 0.0], widths: &[k, all - k] };
        close(bet.quantile(delta), expected, 1e-8);
    }
    let three = Binned { values: &[2.0, 0.8, 0.2], widths: &[1.0; 3] };
    close(three.quantile(0.05), 1.671_366_47, 1e-7);
    close(three.quantile(0.2), 1.342_732_93, 1e-7);
    let two = Binned { values: &[1.6, 0.4], widths: &[1.0; 2] };
    close(two.quantile(0.05), 1.54, 1e-7);
}

#[test]
fn quantiles_scale_and_move_with_the_bet() {
    let (values, widths) = ([3.0, 1.5, 0.7, 0.2], [5.0, 20.0, 40.0, 36.0]);
    let bound = |values: &[f64], delta| Binned { values, widths: &widths }.quantile(delta);
    let plain = bound(&values, 0.01);
    close(bound(&values.map(|b| 3.0 * b), 0.01), 3.0 * plain, 1e-8);
    close(bound(&values.map(|b| b + 2.0), 0.01), plain + 2.0, 1e-8);
    close(bound(&values.map(|b| 0.9 + 0.1 * b), 0.01), 0.9 + 0.1 * plain, 1e-8);
    assert!(bound(&values, 0.001) > plain && plain > bound(&values, 0.1));
    let chernoff = Binned { values: &values, widths: &widths }.chernoff_quantile(0.01);
    assert!(chernoff > plain, "{chernoff} {plain}");
    assert!(
        (Binned { values: &[1.0, 1.0], widths: &[3.0, 4.0] }.quantile(0.05) - 1.0).abs() < 1e-12
    );
}

#[test]
fn normalisers_are_those_of_the_table() {
    for (n, delta, expected) in [
        (19, 0.05, [1.118_310, 1.242_065, 1.488_720, 1.836_859]),
        (19, 0.01, [1.147_644, 1.304_349, 1.619_630, 2.065_504]),
        (100, 0.05, [1.057_955, 1.123_934, 1.292_977, 1.749_374]),
        (100, 0.01, [1.073_875, 1.160_077, 1.386_558, 2.005_788]),
        (200, 0.05, [1.041_069, 1.087_957, 1.214_433, 1.631_315]),
        (200, 0.01, [1.052_150, 1.113_048, 1.282_226, 1.850_999]),
        (1000, 0.05, [1.018_226, 1.038_790, 1.097_162, 1.371_087]),
        (1000, 0.01, [1.022_966, 1.049_214, 1.125_827, 1.499_302]),
        (5000, 0.05, [1.008_098, 1.017_120, 1.042_836, 1.194_595]),
        (5000, 0.01, [1.010_168, 1.021_563, 1.054_618, 1.259_578]),
        (10_000, 0.05, [1.005_716, 1.012_061, 1.030_093, 1.144_035]),
        (10_000, 0.01, [1.007_171, 1.015_165, 1.038_187, 1.191_233]),
        (100_000, 0.05, [1.001_802, 1.003_789, 1.009_377, 1.049_780]),
        (100_000, 0.01, [1.002_258, 1.004_751, 1.011_794, 1.064_946]),
    ] {
        for (found, expected) in bets(n, delta).normalisers().iter().zip(expected) {
            assert!((found - expected).abs() < 2e-6, "{n} {delta}: {found} {expected}");
        }
    }
    let both = Setting { sides: Sides::Both, ..Setting::new(1000) };
    let both = Bets::new(both).expect("bets");
    for (found, expected) in
        both.normalisers().iter().zip([1.020_367, 1.043_482, 1.109_937, 1.427_530])
    {
        assert!((found - expected).abs() < 2e-6, "{found} {expected}");
    }
    assert_eq!((both.len(), both.shift(0), both.shift(5)), (10, Some(0.25), Some(-0.25)));
}

#[test]
fn normalisers_stay_below_those_of_chernoff() {
    let plain = bets(1000, 0.04);
    for (bet, normaliser) in plain.normalisers().iter().enumerate() {
        let value = |rank| {
            let log = plain.logs(Rank::single(rank)).nth(bet).expect("a bet");
            log.exp() * normaliser
        };
        let values: Vec<f64> = (1..=1001).map(value).collect();
        let ranks = Binned { values: &values, widths: &vec![1.0; 1001] };
        let chernoff = ranks.chernoff_quantile(0.01);
        let known = [1.025_00, 1.053_99, 1.141_56, 1.585_32][bet];
        assert!((chernoff - known).abs() < 2e-5 && *normaliser < chernoff, "{chernoff} {known}");
    }
}

#[test]
fn bets_have_mean_one_and_fall() {
    let bets = bets(1000, 0.05);
    let values = |rank: usize| -> Vec<f64> {
        let logs = bets.logs(Rank::single(rank));
        logs.zip(bets.normalisers()).map(|(log, b)| log.exp() * b).collect()
    };
    for (rank, expected) in [
        (1, [2.002_923, 3.791_566, 11.510_049, 56.506_147]),
        (10, [1.734_263, 2.825_524, 6.218_357, 14.231_857]),
        (100, [1.323_578, 1.645_775, 2.109_735, 1.638_336]),
        (500, [0.970_455, 0.884_735, 0.609_647, 0.136_761]),
        (1001, [0.494_770, 0.231_181, 0.042_415, 0.000_704]),
    ] {
        for (found, expected) in values(rank).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{rank}: {found} {expected}");
        }
    }
    for bet in 0..4 {
        let all: Vec<f64> = (1..=1001).map(|rank| values(rank)[bet]).collect();
        assert!((all.iter().sum::<f64>() / 1001.0 - 1.0).abs() < 1e-12);
        assert!(all.windows(2).all(|pair| pair[0] >= pair[1]) && all[1000] > 0.0);
    }
}

#[test]
fn a_known_stream_gives_known_evidence() {
    let bets = bets(1000, 0.05);
    let (mut evidence, mut learning) = (Evidence::new(&bets), Learning::new(&bets));
    let expected = [
        (1, [-0.522_179, -0.487_460, -0.227_386, -0.908_317]),
        (10, [1.573_067, 1.691_486, -0.970_844, 0.392_772]),
        (100, [2.635_181, 3.043_188, -4.181_692, 0.439_651]),
        (200, [2.582_752, 3.094_350, -5.216_928, 0.127_500]),
        (210, [6.368_579, 7.283_334, -3.897_989, 5.675_753]),
        (220, [12.320_268, 14.143_502, 1.726_804, 12.109_756]),
        (240, [26.999_017, 30.125_813, 16.399_808, 26.865_408]),
        (400, [134.942_116, 133.170_534, 124.342_876, 134.809_177]),
    ];
    let mut alarms = [None; 3];
    for t in 1..=400 {
        evidence.step(&bets, known(t));
        learning.step(&bets, known(t));
        let all = [evidence.log(), learning.log(), evidence.log_lifetime()];
        for ((alarm, log), at) in alarms.iter_mut().zip(all).zip([1e4f64, 1e4, 100.0]) {
            if log >= at.ln() {
                alarm.get_or_insert(t);
            }
        }
        if let Some((_, expected)) = expected.iter().find(|e| e.0 == t) {
            let found = [all[0], all[1], all[2], evidence.log_largest()[2]];
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-5, "{t}: {found} {expected}");
            }
        }
    }
    assert_eq!(alarms, [Some(215), Some(212), Some(224)]);
    assert_eq!(evidence.samples(), 400);
    assert!(evidence.lifetime_p_value() < 1e-50);
    let ranks: Vec<Rank> = (1..=215).map(known).collect();
    let found = onset(&bets, &ranks, 0.05, 0.5).expect("settings").expect("an onset");
    assert_eq!(found, Onset { earliest: 169, latest: 208, possible: 35, likely: 198 });
}

#[test]
fn a_restart_forgets_all_but_the_lifetime() {
    let bets = bets(200, 0.05);
    let mut evidence = Evidence::new(&bets);
    (0..50).for_each(|_| evidence.step(&bets, Rank::single(1)));
    let lifetime = evidence.log_lifetime();
    evidence.restart();
    assert_eq!(evidence.log().to_bits(), f64::NEG_INFINITY.to_bits());
    assert!((evidence.log_lifetime() - lifetime).abs() < 1e-12);
    let mut fresh = Evidence::new(&bets);
    for rank in [3, 90, 17] {
        evidence.step(&bets, Rank::single(rank));
        fresh.step(&bets, Rank::single(rank));
    }
    assert_eq!(evidence.log().to_bits(), fresh.log().to_bits());
}

#[test]
fn scores_that_are_all_equal_never_alarm() {
    let bets = bets(1000, 0.05);
    let mut evidence = Evidence::new(&bets);
    (0..20_000).for_each(|_| evidence.step(&bets, Rank { low: 1, high: 1001 }));
    assert!((evidence.log().exp() - 2.0555).abs() < 5e-4, "{}", evidence.log().exp());
    let both = Bets::new(Setting { sides: Sides::Both, ..Setting::new(1000) }).expect("bets");
    let mut evidence = Evidence::new(&both);
    (0..20_000).for_each(|_| evidence.step(&both, Rank { low: 1, high: 1001 }));
    assert!(evidence.log().exp() < 3.0);
}

#[test]
fn long_streams_stay_numbers() {
    let bets = bets(1000, 0.05);
    let mut evidence = Evidence::new(&bets);
    for (rank, expected) in [(1, 371_873.005), (1001, 150_836.507), (1, 371_873.005)] {
        (0..100_000).for_each(|_| evidence.step(&bets, Rank::single(rank)));
        assert!((evidence.log() - expected).abs() < 1e-3, "{}", evidence.log());
        assert!(evidence.log_lifetime().is_finite());
    }
}

#[test]
fn junk_has_a_closed_form() {
    let with = |tolerance| {
        let setting = Setting { tolerance, ..Setting::new(1000) };
        Bets::new(setting).expect("bets")
    };
    // Caps are chosen, so the closed form is held against the bets as they are.
    for junk in [0.01, 0.05] {
        let tolerant = with(Tolerance { junk, ..Tolerance::default() });
        let raw: Vec<Vec<f64>> = (1..=1001)
            .map(|rank| {
                let logs = tolerant.logs(Rank::single(rank));
                logs.zip(tolerant.normalisers()).map(|(l, b)| l.exp() * b).collect()
            })
            .collect();
        for (bet, normaliser) in tolerant.normalisers().iter().enumerate() {
            let values: Vec<f64> = raw.iter().map(|at| at[bet]).collect();
            let alone = Binned { values: &values, widths: &vec![1.0; 1001] }.quantile(0.0125);
            close(*normaliser, (1.0 - junk) * alone + junk * values[0], 1e-8);
        }
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let refused = |setting: Setting| Bets::new(setting).expect_err("refused").to_string();
    let few = refused(Setting::new(18));
    assert!(few.contains("at least 19") && few.contains("are 18"), "{few}");
    assert!(refused(Setting { delta: 0.0, ..Setting::new(100) }).contains("but is 0"));
    for tolerance in [
        Tolerance { junk: 1.0, ..Tolerance::default() },
        Tolerance { optimism: 0.0, ..Tolerance::default() },
        Tolerance { least_effect: f64::NAN, ..Tolerance::default() },
    ] {
        refused(Setting { tolerance, ..Setting::new(100) });
    }
    let bets = bets(100, 0.05);
    assert!(onset(&bets, &[], 0.0, 0.5).is_err() && onset(&bets, &[], 0.05, 0.0).is_err());
    assert_eq!(onset(&bets, &[], 0.05, 0.5), Ok(None));
}
