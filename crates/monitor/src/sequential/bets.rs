//! The bets: by how much a rank multiplies evidence, for a few sizes of shift.

use taste_stats::normal;

use super::{Rank, Tolerance, bins::Bins, curve::shifted, normaliser::Binned};
use crate::Error;

/// The shifts that are bet on, in standard deviations.
const SHIFTS: [f64; 4] = [0.25, 0.5, 1.0, 2.0];
/// The stake of the bet that waits: it keeps the rest of its evidence, and so sees few but extreme samples.
const STAKE: f64 = 0.1;
/// Where bets may be cut off when something is tolerated: high values cost the most there.
const CAPS: [f64; 10] = [1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0, f64::INFINITY];

/// The fewest calibration scores that a stream is held against.
pub const LEAST_SAMPLES: usize = 19;

/// Which scores count as changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sides {
    /// Larger ones.
    #[default]
    Upper,
    /// Larger and smaller ones: for signed values.
    Both,
}

/// What bets are made for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The number of calibration scores.
    pub samples: usize,
    /// The chance, over calibration sets, that the guarantee does not hold for the one at hand.
    pub delta: f64,
    /// Which scores count.
    pub sides: Sides,
    /// What does not count as a change.
    pub tolerance: Tolerance,
}

impl Setting {
    /// Upper side, δ = 0.05, nothing tolerated.
    pub fn new(samples: usize) -> Self {
        Self { samples, delta: 0.05, sides: Sides::Upper, tolerance: Tolerance::default() }
    }
}

/// The bets as a table, fixed for ever: replaying ranks gives the same evidence to the last bit.
#[derive(Clone, Debug, PartialEq)]
pub struct Bets {
    setting: Setting,
    bins: Bins,
    normalisers: Vec<f64>,
    processes: Vec<Process>,
}

/// One bet.
#[derive(Clone, Debug, PartialEq)]
struct Process {
    /// The shift that it is made for; none for the one that waits.
    shift: Option<f64>,
    /// Whether it bets on small scores.
    is_mirrored: bool,
    /// Before normalisation, by bin.
    raw: Vec<f64>,
    /// The logarithm of what evidence is multiplied by.
    log: Vec<f64>,
}

impl Bets {
    /// The bets of a setting. Takes milliseconds.
    pub fn new(setting: Setting) -> Result<Self, Error> {
        let Setting { samples, delta, sides, tolerance } = setting;
        if samples < LEAST_SAMPLES {
            return Err(Error::TooFew { found: samples, least: LEAST_SAMPLES });
        }
        if !(delta > 0.0 && delta < 1.0) {
            let wanted = "between 0 and 1";
            return Err(Error::Setting {
                name: "chance that a guarantee fails",
                wanted,
                found: delta,
            });
        }
        tolerance.check()?;
        let bins = Bins::new(samples);
        let count = SHIFTS.len() * if sides == Sides::Both { 2 } else { 1 };
        let bases = SHIFTS.map(|shift| base(shift, &bins, delta / count as f64, &tolerance));
        let normalisers = bases.iter().map(|b| b.1).collect();
        let mut processes: Vec<Process> = bases
            .iter()
            .zip(SHIFTS)
            .map(|((raw, normaliser), shift)| {
                let log = raw.iter().map(|b| libm::log(b / normaliser)).collect();
                Process { shift: Some(shift), is_mirrored: false, raw: raw.clone(), log }
            })
            .collect();
        if let Some((raw, normaliser)) = bases.last() {
            let lazy = |b: &f64| 1.0 - STAKE + STAKE * b;
            processes.push(Process {
                shift: None,
                is_mirrored: false,
                raw: raw.iter().map(lazy).collect(),
                log: raw.iter().map(|b| libm::log(lazy(&(b / normaliser)))).collect(),
            });
        }
        if sides == Sides::Both {
            let mirrored = processes.iter().map(|p| Process { is_mirrored: true, ..p.clone() });
            processes.extend(mirrored.collect::<Vec<_>>());
        }
        Ok(Self { setting, bins, normalisers, processes })
    }

    /// What they were made for.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.processes.len()
    }

    /// Whether there are none: never.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// What the bets on every shift are divided by.
    pub fn normalisers(&self) -> &[f64] {
        &self.normalisers
    }

    /// The shift that a bet is made for, negative where it bets on small scores; none for one that waits for few extreme
    /// samples.
    pub fn shift(&self, bet: usize) -> Option<f64> {
        let process = self.processes.get(bet)?;
        process.shift.map(|shift| if process.is_mirrored { -shift } else { shift })
    }

    /// The smallest shift in standard deviations that evidence can grow from, with so many calibration scores.
    pub fn smallest_visible(&self) -> f64 {
        let each = self.setting.delta / self.normalisers.len() as f64;
        -2.0 * normal::quantile(each) / (self.setting.samples as f64).sqrt()
            + self.setting.tolerance.least_effect
    }

    /// The logarithms of what every bet multiplies evidence by at a rank. With ties the least of the interval counts, which
    /// keeps the guarantee for discrete scores.
    pub fn logs(&self, rank: Rank) -> impl Iterator<Item = f64> + '_ {
        self.at(rank).map(|(process, bin)| process.log[bin])
    }

    /// Every bet before normalisation, at the careful end of a rank's interval and at the other.
    pub(super) fn raw(&self, rank: Rank) -> impl Iterator<Item = (f64, f64)> + '_ {
        let turned = Rank { low: rank.high, high: rank.low };
        self.at(rank)
            .zip(self.at(turned))
            .map(|((process, careful), (_, bold))| (process.raw[careful], process.raw[bold]))
    }

    /// Every process with the bin of a rank.
    fn at(&self, rank: Rank) -> impl Iterator<Item = (&Process, usize)> + '_ {
        let upper = self.bins.of(rank.high);
        let lower = self.bins.of((self.bins.ranks() + 1).saturating_sub(rank.low));
        self.processes.iter().map(move |p| (p, if p.is_mirrored { lower } else { upper }))
    }

    /// The bins, for bets beside those of the table.
    pub(super) fn bins(&self) -> &Bins {
        &self.bins
    }
}

/// The bet on a shift and its normaliser. With a tolerance it is cut off where that lets it grow fastest if the shift is
/// real, which depends on nothing that is observed.
fn base(shift: f64, bins: &Bins, delta: f64, tolerance: &Tolerance) -> (Vec<f64>, f64) {
    let (whole, widths) = (shifted(shift, bins), bins.widths());
    if tolerance.is_none() {
        let normaliser = Binned { values: &whole, widths: &widths }.quantile(delta);
        return (whole, normaliser);
    }
    let growth = |bet: &[f64], normaliser: f64| -> f64 {
        let shares = whole.iter().zip(&widths).map(|(b, w)| b * w);
        shares.zip(bet).map(|(share, b)| share * libm::log(b / normaliser)).sum()
    };
    let capped = CAPS.map(|cap| {
        let bet: Vec<f64> = whole.iter().map(|b| b.min(cap)).collect();
        let worst = tolerance.worst(Binned { values: &bet, widths: &widths });
        let normaliser = Binned { values: &worst, widths: &widths }.quantile(delta);
        let growth = growth(&bet, normaliser);
        (growth, bet, normaliser)
    });
    let best = capped.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or((whole, 1.0), |(_, bet, normaliser)| (bet, normaliser))
}
