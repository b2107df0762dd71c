//! What is proved, on streams that are drawn: validity given the calibration set, run lengths, delays, when a change began;
//! and controls that must fail the same tests.

use rayon::prelude::*;
use taste_monitor::sequential::{Bets, Evidence, Learning, Rank, Setting, Sides, Tolerance, onset};
use taste_stats::{conformal::Calibration, normal, random::Random};

fn bets(samples: usize, delta: f64) -> Bets {
    Bets::new(Setting { delta, ..Setting::new(samples) }).expect("bets")
}

/// The chances of every rank given a calibration set: gaps between uniform numbers, from the largest on.
fn gaps(samples: usize, random: &mut Random) -> Vec<f64> {
    let mut cuts: Vec<f64> = (0..samples).map(|_| random.uniform()).collect();
    cuts.extend([0.0, 1.0]);
    cuts.sort_unstable_by(f64::total_cmp);
    cuts.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// What every bet multiplies evidence by at every rank: ranks × bets.
fn table(bets: &Bets) -> Vec<Vec<f64>> {
    let ranks = 1..=bets.setting().samples + 1;
    ranks.map(|rank| bets.logs(Rank::single(rank)).map(f64::exp).collect()).collect()
}

/// A draw from the gamma law with a whole or large shape (Marsaglia and Tsang).
fn gamma(shape: f64, random: &mut Random) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let z = random.normal();
        let v = (1.0 + c * z).powi(3);
        if v > 0.0 && random.uniform().ln() < 0.5 * z * z + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

/// Of so many calibration sets, the shares for which each bet has a mean above 1, and for which any has, if bets are
/// multiplied by some factors first. Sets are drawn as gaps between bins, on which bets are flat.
fn shares_that_fail(bets: &Bets, sets: u64, factors: &[f64]) -> (Vec<f64>, f64) {
    let values = table(bets);
    let bins: Vec<(f64, &Vec<f64>)> =
        values.chunk_by(|a, b| a == b).map(|bin| (bin.len() as f64, &bin[0])).collect();
    let means = |set: u64| -> Vec<f64> {
        let mut random = Random::stream(5, set);
        let (mut sums, mut all) = (vec![0.0; bets.len()], 0.0);
        for (width, at) in &bins {
            let gap = gamma(*width, &mut random);
            all += gap;
            sums.iter_mut().zip(*at).for_each(|(sum, e)| *sum += gap * e);
        }
        sums.iter().map(|sum| sum / all).collect()
    };
    let failed = |means: &[f64], bet: usize| means[bet] * factors.get(bet).unwrap_or(&1.0) > 1.0;
    let all: Vec<Vec<bool>> = (0..sets)
        .into_par_iter()
        .map(|set| {
            let means = means(set);
            (0..bets.len()).map(|bet| failed(&means, bet)).collect()
        })
        .collect();
    let share = |is: &dyn Fn(&Vec<bool>) -> bool| {
        all.iter().filter(|set| is(set)).count() as f64 / sets as f64
    };
    let each = (0..bets.len()).map(|bet| share(&|set| set[bet])).collect();
    (each, share(&|set| set.contains(&true)))
}

#[test]
fn bets_hold_given_the_calibration_set_as_often_as_they_say() {
    const SETS: u64 = 40_000;
    for n in [200, 1000, 5000] {
        for (delta, low, high) in [(0.05, 0.019, 0.031), (0.01, 0.003, 0.009)] {
            let (each, any) = shares_that_fail(&bets(n, delta), SETS, &[]);
            assert!((low..=high).contains(&any), "{n} {delta}: {any}");
            let own: f64 = delta / 4.0;
            let error = 3.0 * (own * (1.0 - own) / SETS as f64).sqrt();
            for share in &each[..4] {
                assert!((share - own).abs() <= error, "{n} {delta}: {each:?}");
            }
        }
    }
    let both = Setting { sides: Sides::Both, ..Setting::new(200) };
    let (_, share) = shares_that_fail(&Bets::new(both).expect("bets"), SETS, &[]);
    assert!((0.015..=0.05).contains(&share), "{share}");
}

#[test]
fn bets_that_are_not_normalised_fail() {
    let plain = bets(1000, 0.05);
    let (_, share) = shares_that_fail(&plain, 4000, plain.normalisers());
    assert!((0.59..=0.69).contains(&share), "{share}");
}

#[test]
fn what_is_tolerated_is_no_evidence() {
    let kinds = [
        Tolerance { junk: 0.01, ..Tolerance::default() },
        Tolerance { junk: 0.05, ..Tolerance::default() },
        Tolerance { optimism: 0.865, ..Tolerance::default() },
        Tolerance { least_effect: 0.1, ..Tolerance::default() },
        Tolerance { least_effect: 0.25, ..Tolerance::default() },
    ];
    for tolerance in kinds {
        let n = 200;
        let tolerant = Bets::new(Setting { tolerance, ..Setting::new(n) }).expect("bets");
        let values = table(&tolerant);
        // The worst law that is tolerated, as a curve of the chance that a calibration score is beyond.
        let worst = |u: f64| {
            let Tolerance { junk, optimism, least_effect } = tolerance;
            let moved = if u <= 0.0 || u >= 1.0 {
                u
            } else {
                normal::cdf(normal::quantile(u) + least_effect)
            };
            junk + (1.0 - junk) * moved.powf(optimism)
        };
        let fails = |set: &u64| {
            let gaps = gaps(n, &mut Random::stream(9, *set));
            let mut below = 0.0;
            let mut means = vec![0.0; tolerant.len()];
            let mut reached = 0.0;
            for (gap, at) in gaps.iter().zip(&values) {
                below += gap;
                let chance = worst(below.min(1.0)) - reached;
                reached += chance;
                means.iter_mut().zip(at).for_each(|(mean, e)| *mean += chance * e);
            }
            means.iter().any(|&mean| mean > 1.0 + 1e-9)
        };
        let failed = (0..1500u64).into_par_iter().filter(fails).count();
        assert!(failed <= 75, "{tolerance:?}: {failed} of 1500");
    }
}

#[test]
fn ties_keep_the_guarantee() {
    // Scores on a few levels: the interval of ranks of each level, and its chance.
    let bets = bets(200, 0.05);
    for levels in [3usize, 10, 50] {
        let fails = |set: &u64| {
            let mut random = Random::stream(levels as u64, *set);
            let drawn = (0..200).map(|_| random.below(levels) as f64);
            let calibration = Calibration::new(drawn);
            let mut means = vec![0.0; bets.len()];
            for level in 0..levels {
                let rank = Rank::of(level as f64, &calibration);
                let e = bets.logs(rank).map(f64::exp);
                means.iter_mut().zip(e).for_each(|(mean, e)| *mean += e / levels as f64);
            }
            means.iter().any(|&mean| mean > 1.0)
        };
        let failed = (0..1500u64).into_par_iter().filter(fails).count();
        assert!(failed <= 75, "{levels} levels: {failed} of 1500");
    }
}

/// A stream of scores in standard deviations.
struct Stream {
    calibration: Calibration,
    random: Random,
    /// The last score, and how much the next one follows it.
    last: f64,
    follows: f64,
}

impl Stream {
    fn new(samples: usize, set: u64, stream: u64) -> Self {
        let mut random = Random::stream(17, set);
        let calibration = Calibration::new((0..samples).map(|_| random.normal()));
        let mut random = Random::stream(1000 + set, stream);
        let last = random.normal();
        Self { calibration, random, last, follows: 0.0 }
    }

    fn next(&mut self, shift: f64) -> Rank {
        let fresh = (1.0 - self.follows * self.follows).sqrt() * self.random.normal();
        self.last = self.follows * self.last + fresh;
        Rank::of(self.last + shift, &self.calibration)
    }
}

/// Samples up to an alarm at `at`, and whether there was one, of every stream of every set.
fn run_lengths(
    sets: u64,
    streams: u64,
    at: f64,
    run: impl Fn(Stream, f64) -> (usize, bool) + Sync,
) -> (f64, f64) {
    let per_set: Vec<(usize, usize)> = (0..sets)
        .into_par_iter()
        .map(|set| {
            let runs = (0..streams).map(|stream| run(Stream::new(1000, set, stream), at.ln()));
            runs.fold((0, 0), |(samples, alarms), (n, alarm)| {
                (samples + n, alarms + usize::from(alarm))
            })
        })
        .collect();
    let (samples, alarms) =
        per_set.iter().fold((0, 0), |(s, a), (samples, alarms)| (s + samples, a + alarms));
    let short = per_set.iter().filter(|(s, a)| (*s as f64) < at * (*a as f64).max(0.7)).count();
    (samples as f64 / alarms.max(1) as f64, short as f64 / sets as f64)
}

/// Samples up to an alarm, 2000 at most.
fn until_alarm(bets: &Bets, mut stream: Stream, at: f64) -> (usize, bool) {
    let mut evidence = Evidence::new(bets);
    for t in 1..=2000 {
        evidence.step(bets, stream.next(0.0));
        if evidence.log() >= at {
            return (t, true);
        }
    }
    (2000, false)
}

#[test]
fn without_a_change_alarms_are_as_rare_as_proved() {
    let bets = bets(1000, 0.05);
    let (length, short) = run_lengths(200, 16, 200.0, |stream, at| until_alarm(&bets, stream, at));
    // 907 in the study that the constants come from, with an error of about 25 here.
    assert!((790.0..=1020.0).contains(&length), "{length}");
    assert!(short <= 0.05, "{short}");
    let (length, _) = run_lengths(200, 16, 200.0, |mut stream, at| {
        let mut learning = Learning::new(&bets);
        for t in 1..=2000 {
            learning.step(&bets, stream.next(0.0));
            if learning.log() >= at {
                return (t, true);
            }
        }
        (2000, false)
    });
    assert!((280.0..=350.0).contains(&length), "learning: {length}");
}

#[test]
fn dependent_and_sorted_samples_break_the_run_length() {
    let bets = bets(1000, 0.05);
    let (length, _) = run_lengths(60, 8, 200.0, |mut stream, at| {
        stream.follows = 0.6;
        until_alarm(&bets, stream, at)
    });
    assert!(length < 160.0, "dependent: {length}");
    let (length, _) = run_lengths(60, 8, 200.0, |mut stream, at| {
        let mut evidence = Evidence::new(&bets);
        for batch in 0..100 {
            let mut ranks: Vec<Rank> = (0..20).map(|_| stream.next(0.0)).collect();
            ranks.sort_by_key(|rank| std::cmp::Reverse(rank.high));
            for (i, rank) in ranks.into_iter().enumerate() {
                evidence.step(&bets, rank);
                if evidence.log() >= at {
                    return (20 * batch + i + 1, true);
                }
            }
        }
        (2000, false)
    });
    assert!(length < 160.0, "sorted: {length}");
}

#[test]
fn changes_are_found_as_soon_as_measured() {
    let bets = bets(1000, 0.05);
    for (shift, expected, band) in [(0.5, 84.6, 8.0), (1.0, 23.6, 1.5), (2.0, 7.4, 0.5)] {
        let delay = |run: u64| {
            let mut stream = Stream::new(1000, run, 7);
            let mut evidence = Evidence::new(&bets);
            for t in 1..=3000 {
                evidence.step(&bets, stream.next(shift));
                if evidence.log() >= 1e4f64.ln() {
                    return t;
                }
            }
            3000
        };
        let total: usize = (0..500u64).into_par_iter().map(delay).sum();
        let mean = total as f64 / 500.0;
        assert!((mean - expected).abs() <= band, "{shift} SD: {mean}");
    }
}

#[test]
fn two_sides_see_scores_that_fall() {
    let both = Bets::new(Setting { sides: Sides::Both, ..Setting::new(1000) }).expect("bets");
    let delay = |run: u64| {
        let mut stream = Stream::new(1000, run, 3);
        let mut evidence = Evidence::new(&both);
        for t in 1..=3000 {
            evidence.step(&both, stream.next(-1.0));
            if evidence.log() >= 1e4f64.ln() {
                assert!(both.shift(evidence.leading()).is_none_or(|shift| shift < 0.0));
                return t;
            }
        }
        3000
    };
    let total: usize = (0..200u64).into_par_iter().map(delay).sum();
    assert!((22.0..=29.0).contains(&(total as f64 / 200.0)), "{total}");
}

#[test]
fn the_beginning_of_a_change_is_covered() {
    let (bets, before) = (bets(1000, 0.05), 300);
    let found: Vec<bool> = (0..150u64)
        .into_par_iter()
        .filter_map(|run| {
            let mut stream = Stream::new(1000, run, 11);
            let (mut evidence, mut ranks) = (Evidence::new(&bets), Vec::new());
            for t in 1..=2000 {
                let rank = stream.next(if t > before { 1.0 } else { 0.0 });
                ranks.push(rank);
                evidence.step(&bets, rank);
                if evidence.log() >= 1e4f64.ln() {
                    let onset = onset(&bets, &ranks, 0.05, 0.5).expect("settings");
                    let covers = |o: taste_monitor::sequential::Onset| {
                        (o.earliest..=o.latest).contains(&(before + 1))
                    };
                    return (t > before).then(|| onset.is_some_and(covers));
                }
            }
            None
        })
        .collect();
    let share = found.iter().filter(|f| **f).count() as f64 / found.len() as f64;
    assert!(found.len() > 130 && share >= 0.85, "{share} of {}", found.len());
}

#[test]
fn a_change_had_begun_by_the_later_end_whatever_it_is() {
    // One sample in twenty becomes extreme: no shift of all, so that the earlier end says nothing.
    let (bets, before) = (bets(1000, 0.05), 300);
    let found: Vec<bool> = (0..120u64)
        .into_par_iter()
        .filter_map(|run| {
            let mut stream = Stream::new(1000, run, 13);
            let mut extreme = Random::stream(77, run);
            let (mut evidence, mut ranks) = (Evidence::new(&bets), Vec::new());
            for t in 1..=3000 {
                let is_extreme = t > before && extreme.uniform() < 0.05;
                let rank = stream.next(if is_extreme { 9.0 } else { 0.0 });
                ranks.push(rank);
                evidence.step(&bets, rank);
                if evidence.log() >= 1e4f64.ln() {
                    let onset = onset(&bets, &ranks, 0.05, 0.5).expect("settings");
                    return (t > before).then(|| onset.is_none_or(|o| o.latest > before));
                }
            }
            None
        })
        .collect();
    let share = found.iter().filter(|f| **f).count() as f64 / found.len() as f64;
    assert!(found.len() > 100 && share >= 0.95, "{share} of {}", found.len());
}

#[test]
fn several_streams_share_one_run_length() {
    // The mean of two streams' R, each normalised at half of δ; the streams are the same scores, the worst case.
    let half = bets(1000, 0.025);
    let (length, short) = run_lengths(100, 12, 200.0, |mut stream, at| {
        let mut evidence = [Evidence::new(&half), Evidence::new(&half)];
        for t in 1..=2000 {
            let rank = stream.next(0.0);
            for e in &mut evidence {
                e.step(&half, rank);
            }
            let mean = evidence.iter().map(|e| e.log().exp()).sum::<f64>() / 2.0;
            if mean.ln() >= at {
                return (t, true);
            }
        }
        (2000, false)
    });
    assert!(length > 850.0 && short <= 0.025, "{length} {short}");
}

#[test]
fn over_a_whole_life_alarms_are_as_rare_as_proved() {
    let bets = bets(1000, 0.05);
    let alarms = (0..1000u64)
        .into_par_iter()
        .filter(|run| {
            let mut stream = Stream::new(1000, *run, 19);
            let mut evidence = Evidence::new(&bets);
            (0..1500).for_each(|_| evidence.step(&bets, stream.next(0.0)));
            evidence.lifetime_p_value() <= 0.05
        })
        .count();
    // At most α + δ over calibration sets, far less as measured.
    assert!(alarms <= 50, "{alarms} of 1000");
}
