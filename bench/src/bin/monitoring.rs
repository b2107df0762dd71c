//! What `taste monitor` is worth: false alarms without a change, delays after one, and orders of scores that were measured.
//! `bench/monitoring.py` runs this, and other people's detectors beside it.

use std::{error::Error, fs, path::PathBuf};

use clap::{Parser, Subcommand};
use rayon::prelude::*;
use taste_monitor::sequential::{Bets, Evidence, Learning, Rank, Setting, Sides, Tolerance};
use taste_stats::{conformal::Calibration, quantile::Quantile, random::Random};

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Run lengths without a change, by calibration set
    Null {
        #[arg(long, default_value_t = 200)]
        sets: u64,
        #[arg(long, default_value_t = 10)]
        streams: u64,
    },
    /// Samples from a change to the alarm
    Delays {
        #[arg(long, default_value_t = 400)]
        runs: u64,
    },
    /// Alarms on scores in random orders: a file of calibration scores and files of streams, a number a line
    Orders {
        #[arg(long)]
        calibration: PathBuf,
        #[arg(long, default_value_t = 50)]
        orders: u64,
        #[arg(long, default_value_t = 4000)]
        samples: usize,
        #[arg(long, default_value_t = 10_000.0)]
        run_length: f64,
        #[arg(long, default_value_t = 0.0)]
        least_effect: f64,
        /// Streams that share delta
        #[arg(long, default_value_t = 1)]
        shared: u64,
        streams: Vec<PathBuf>,
    },
}

fn main() -> Result<(), Box<dyn Error>> {
    let text = match Cli::parse().what {
        What::Null { sets, streams } => null(sets, streams)?,
        What::Delays { runs } => delays(runs)?,
        What::Orders {
            calibration,
            orders,
            samples,
            run_length,
            least_effect,
            shared,
            streams,
        } => {
            let scores = numbers(&calibration)?;
            let tolerance = Tolerance { least_effect, ..Tolerance::default() };
            let setting = Setting::new(scores.len());
            let delta = setting.delta / shared as f64;
            let bets = Bets::new(Setting { tolerance, delta, ..setting })?;
            let order =
                Order { calibration: Calibration::new(scores), bets, orders, samples, run_length };
            streams.iter().map(|path| order.row(path)).collect::<Result<String, _>>()?
        }
    };
    #[expect(clippy::print_stdout, reason = "the result of the program")]
    {
        print!("{text}");
    }
    Ok(())
}

fn numbers(path: &PathBuf) -> Result<Vec<f64>, Box<dyn Error>> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let parsed = text.lines().map(|line| line.trim().parse::<f64>());
    Ok(parsed.collect::<Result<_, _>>().map_err(|e| format!("{}: {e}", path.display()))?)
}

/// Where scores come from.
#[derive(Clone, Copy)]
enum Source {
    Normal,
    /// Rounded to so many levels.
    Levels(f64),
    /// Each follows the one before.
    Follows(f64),
}

impl Source {
    fn draw(self, random: &mut Random, last: &mut f64) -> f64 {
        let fresh = random.normal();
        match self {
            Self::Normal => fresh,
            Self::Levels(count) => (fresh * count / 6.0).round() * 6.0 / count,
            Self::Follows(share) => {
                *last = share * *last + (1.0 - share * share).sqrt() * fresh;
                *last
            }
        }
    }
}

/// A detector of changes: whether it fires at a rank.
enum Watcher<'b> {
    Ours(&'b Bets, Evidence),
    Learning(&'b Bets, Learning),
    /// Bets that are not normalised, with ln R of each.
    Bare(&'b Bets, Vec<f64>),
}

impl Watcher<'_> {
    fn log(&mut self, rank: Rank) -> f64 {
        match self {
            Self::Ours(bets, evidence) => {
                evidence.step(bets, rank);
                evidence.log()
            }
            Self::Bare(bets, sums) => {
                let bare = bets.logs(rank).zip(bets.normalisers()).map(|(log, b)| log + b.ln());
                for (sum, log) in sums.iter_mut().zip(bare) {
                    *sum = log + sum.exp().ln_1p();
                }
                (sums.iter().map(|s| s.exp()).sum::<f64>() / sums.len() as f64).ln()
            }
            Self::Learning(bets, learning) => {
                learning.step(bets, rank);
                learning.log()
            }
        }
    }
}

/// A row of the table of run lengths.
struct Null {
    name: &'static str,
    samples: usize,
    sides: Sides,
    run_length: f64,
    source: Source,
    kind: Kind,
    /// Whether each batch of twenty is sorted, the worst last.
    sorted: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Ours,
    Learning,
    Bare,
}

fn null(sets: u64, streams: u64) -> Result<String, Box<dyn Error>> {
    let plain = Null {
        name: "default",
        samples: 1000,
        sides: Sides::Upper,
        run_length: 200.0,
        source: Source::Normal,
        kind: Kind::Ours,
        sorted: false,
    };
    let rows = [
        Null { samples: 200, ..plain },
        Null { ..plain },
        Null { samples: 5000, ..plain },
        Null { run_length: 500.0, ..plain },
        Null { name: "scores on 10 levels", source: Source::Levels(10.0), ..plain },
        Null { name: "scores on 3 levels", source: Source::Levels(3.0), ..plain },
        Null { name: "two-sided", sides: Sides::Both, ..plain },
        Null { name: "learning", kind: Kind::Learning, ..plain },
        Null { name: "control: bets without normalisers", samples: 200, kind: Kind::Bare, ..plain },
        Null {
            name: "control: neighbours correlated at 0.6",
            source: Source::Follows(0.6),
            ..plain
        },
        Null { name: "control: batches of 20 sorted, the worst last", sorted: true, ..plain },
    ];
    let mut text = String::from(
        "| | n | A | mean run length | sets below A | 5 % quantile of sets | lifetime alarms at α = .01 |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        text += &row.measure(sets, streams)?;
    }
    Ok(text)
}

impl Null {
    fn measure(&self, sets: u64, streams: u64) -> Result<String, Box<dyn Error>> {
        let bets = Bets::new(Setting { sides: self.sides, ..Setting::new(self.samples) })?;
        let of_set = |set: u64| {
            let mut random = Random::stream(31, set);
            let mut last = 0.0;
            let drawn = (0..self.samples).map(|_| self.source.draw(&mut random, &mut last));
            let calibration = Calibration::new(drawn.collect::<Vec<_>>());
            let runs =
                (0..streams).map(|s| self.run(&bets, &calibration, Random::stream(7000 + set, s)));
            runs.fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2))
        };
        let all: Vec<(usize, usize, usize)> = (0..sets).into_par_iter().map(of_set).collect();
        let (time, alarms, life) =
            all.iter().fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
        let lengths: Vec<f64> = all.iter().map(|s| s.0 as f64 / s.1.max(1) as f64).collect();
        let below =
            lengths.iter().zip(&all).filter(|(l, s)| s.1 > 0 && **l < self.run_length).count();
        let fifth = Quantile::Linear.of(&lengths, 0.05).unwrap_or(0.0);
        let lifetime = match self.kind {
            Kind::Ours => format!("{:.4}", life as f64 / (sets * streams) as f64),
            _ => "–".to_owned(),
        };
        Ok(format!(
            "| {} | {} | {} | {:.0} | {:.3} | {fifth:.0} | {lifetime} |\n",
            self.name,
            self.samples,
            self.run_length,
            time as f64 / alarms.max(1) as f64,
            below as f64 / sets as f64,
        ))
    }

    /// Samples up to an alarm, ten times the run length at most; whether there was one, and one over the whole life.
    fn run(
        &self,
        bets: &Bets,
        calibration: &Calibration,
        mut random: Random,
    ) -> (usize, usize, usize) {
        let most = 10.0 * self.run_length;
        let mut last = random.normal();
        let mut watcher = match self.kind {
            Kind::Ours => Watcher::Ours(bets, Evidence::new(bets)),
            Kind::Learning => Watcher::Learning(bets, Learning::new(bets)),
            Kind::Bare => Watcher::Bare(bets, vec![f64::NEG_INFINITY; bets.normalisers().len()]),
        };
        let (mut t, mut first, mut life) = (0, None, 0);
        while (t as f64) < most {
            let mut batch: Vec<Rank> = (0..20)
                .map(|_| Rank::of(self.source.draw(&mut random, &mut last), calibration))
                .collect();
            if self.sorted {
                batch.sort_by_key(|rank| std::cmp::Reverse(rank.high));
            }
            for rank in batch {
                t += 1;
                let log = watcher.log(rank);
                if first.is_none() && log >= self.run_length.ln() {
                    first = Some(t);
                }
                if let Watcher::Ours(_, evidence) = &watcher
                    && evidence.log_lifetime() >= 100f64.ln()
                {
                    life = 1;
                }
            }
            if first.is_some() && self.kind != Kind::Ours {
                break;
            }
        }
        (first.unwrap_or(t), usize::from(first.is_some()), life)
    }
}

const SHIFTS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 3.0];
const MOST: usize = 3000;

/// Samples up to an alarm at A = 10,000, the change at the first of them.
fn delays(runs: u64) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    for n in [200, 1000, 5000] {
        let upper = Bets::new(Setting::new(n))?;
        let both = Bets::new(Setting { sides: Sides::Both, ..Setting::new(n) })?;
        for (name, bets, learns) in [
            ("taste", &upper, false),
            ("taste, two-sided", &both, false),
            ("taste, learning", &upper, true),
        ] {
            let cell = |shift: f64| {
                found(runs, n, |calibration, random| {
                    let mut watcher = if learns {
                        Watcher::Learning(bets, Learning::new(bets))
                    } else {
                        Watcher::Ours(bets, Evidence::new(bets))
                    };
                    (1..=MOST).find(|_| {
                        let rank = Rank::of(random.normal() + shift, calibration);
                        watcher.log(rank) >= 1e4f64.ln()
                    })
                })
            };
            text += &row(&format!("{name}, n = {n}"), "≥ 10,000 (proved)", &SHIFTS.map(cell));
        }
    }
    // An e-detector for normal scores whose mean and deviation are taken from the calibration: as the books have it, exact if
    // those were the true ones.
    let cell = |shift: f64| {
        found(runs, 1000, |calibration, random| {
            let scores = calibration.scores();
            let mean = scores.iter().sum::<f64>() / scores.len() as f64;
            let square = scores.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>();
            let deviation = (square / (scores.len() - 1) as f64).sqrt();
            let sizes = [0.25, 0.5, 1.0, 2.0f64];
            let mut sums = [0.0f64; 4];
            (1..=MOST).find(|_| {
                let z = (random.normal() + shift - mean) / deviation;
                for (sum, m) in sums.iter_mut().zip(sizes) {
                    *sum = (*sum + 1.0) * (m * z - 0.5 * m * m).exp();
                }
                sums.iter().sum::<f64>() / 4.0 >= 1e4
            })
        })
    };
    text += &row(
        "e-detector for normal scores (edetect-style), n = 1000",
        "≥ 10,000 if scores are normal and their moments known",
        &SHIFTS.map(cell),
    );
    text += "| always fires | 1 | 1 | 1 | 1 | 1 | 1 |\n| never fires | ∞ | – | – | – | – | – |\n";
    Ok(text)
}

fn row(name: &str, length: &str, cells: &[String; 5]) -> String {
    format!("| {name} | {length} | {} |\n", cells.join(" | "))
}

/// The mean of delays, those without an alarm counted as 3000, and their share.
fn found(
    runs: u64,
    n: usize,
    run: impl Fn(&Calibration, &mut Random) -> Option<usize> + Sync,
) -> String {
    let all: Vec<Option<usize>> = (0..runs)
        .into_par_iter()
        .map(|i| {
            let mut random = Random::stream(51, i);
            let calibration = Calibration::new((0..n).map(|_| random.normal()).collect::<Vec<_>>());
            run(&calibration, &mut random)
        })
        .collect();
    let mean = all.iter().map(|d| d.unwrap_or(MOST) as f64).sum::<f64>() / runs as f64;
    let missed = all.iter().filter(|d| d.is_none()).count() as f64 / runs as f64;
    let missed =
        if missed > 0.0 { format!(" [{:.0} % missed]", 100.0 * missed) } else { String::new() };
    format!("{mean:.1}{missed}")
}

/// Scores of a stream in random orders.
struct Order {
    calibration: Calibration,
    bets: Bets,
    orders: u64,
    samples: usize,
    run_length: f64,
}

impl Order {
    fn row(&self, path: &PathBuf) -> Result<String, Box<dyn Error>> {
        let scores = numbers(path)?;
        let ranks: Vec<Rank> = scores.iter().map(|&s| Rank::of(s, &self.calibration)).collect();
        let mut delays: Vec<f64> = (0..self.orders)
            .into_par_iter()
            .map(|order| {
                let mut random = Random::stream(91, order);
                let mut shuffled = ranks.clone();
                for i in (1..shuffled.len()).rev() {
                    shuffled.swap(i, random.below(i + 1));
                }
                let mut evidence = Evidence::new(&self.bets);
                let at = shuffled.iter().take(self.samples).position(|rank| {
                    evidence.step(&self.bets, *rank);
                    evidence.log() >= self.run_length.ln()
                });
                at.map_or(f64::INFINITY, |t| (t + 1) as f64)
            })
            .collect();
        delays.sort_by(f64::total_cmp);
        let quiet = delays.iter().filter(|d| d.is_infinite()).count() as f64 / self.orders as f64;
        let median = delays[delays.len() / 2];
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Ok(format!("{name}\t{quiet}\t{median}\n"))
    }
}
