//! What is known of a stream, as a function of the records of its journal: the same records give the same state to the
//! last bit.

pub(crate) mod alarms;
pub(crate) mod dependence;
pub(crate) mod entry;
pub(crate) mod raise;
pub(crate) mod recent;
pub(crate) mod rings;
pub(crate) mod seen;
pub(crate) mod series;
pub(crate) mod worst;

use serde::{Deserialize, Serialize};
use taste_stats::conformal::Calibration;

use crate::{
    Baseline, Batch, Error, Settings,
    origin::Origin,
    sequential::{Bets, Evidence, Rank, Setting, log_mean},
};
use alarms::{Alarms, Why};
use dependence::Dependence;
use entry::{Arrived, Entry, Ranked};
use recent::Recent;
use rings::{Rings, Span};
use seen::Seen;
use series::Series;
use worst::{Worst, WorstSamples};

/// Bins of p-values.
pub(crate) const BINS: usize = 20;
/// Samples in the window whose p-values are shown.
const WINDOW: usize = 1000;

/// A sample of the stream, numbered from 1 on, and when it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The number of the sample.
    pub sample: u64,
    /// In milliseconds since 1970.
    pub time: i64,
}

/// Where p-values fell, in twenty bins of equal width.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    /// Since the last restart.
    pub(crate) all: [u64; BINS],
    /// Of the last thousand samples.
    window: std::collections::VecDeque<u8>,
}

impl Spread {
    fn push(&mut self, p_value: f64) {
        let bin = (0..BINS - 1).find(|b| p_value <= (b + 1) as f64 / BINS as f64);
        let bin = bin.unwrap_or(BINS - 1);
        self.all[bin] += 1;
        self.window.push_back(u8::try_from(bin).unwrap_or(u8::MAX));
        if self.window.len() > WINDOW {
            self.window.pop_front();
        }
    }

    pub(crate) fn window(&self) -> [u64; BINS] {
        let mut counts = [0; BINS];
        for &bin in &self.window {
            counts[usize::from(bin).min(BINS - 1)] += 1;
        }
        counts
    }
}

/// Everything that changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// Samples that came, those of the head that became the calibration included.
    pub(crate) samples: u64,
    pub(crate) flagged: u64,
    pub(crate) not_finite: u64,
    /// When the first and the last came.
    pub(crate) first: Option<i64>,
    pub(crate) last: i64,
    /// The last sample before evidence began anew by hand.
    pub(crate) restarted: Moment,
    /// Values of the head of the stream, by stream.
    pub(crate) head: Vec<Vec<f64>>,
    /// By stream; none while the calibration is gathered.
    pub(crate) evidence: Vec<Evidence>,
    /// The largest lifetime evidence, as a logarithm, and when it first reached 1/α.
    pub(crate) lifetime_peak: f64,
    pub(crate) lifetime_alarm: Option<Moment>,
    pub(crate) spread: Vec<Spread>,
    pub(crate) recent: Recent,
    pub(crate) series: Series,
    pub(crate) rings: Rings,
    pub(crate) worst: WorstSamples,
    pub(crate) dependence: Dependence,
    pub(crate) alarms: Alarms,
    pub(crate) seen: Seen,
}

/// A stream that is watched.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) baseline: Baseline,
    pub(crate) settings: Settings,
    /// By stream; none while the calibration is gathered.
    pub(crate) bets: Vec<Bets>,
    pub(crate) state: State,
}

/// What a record did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) raised: Option<u64>,
    pub(crate) crossed: bool,
}

impl Watch {
    pub(crate) fn new(baseline: Baseline, settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        let streams = baseline.streams.len();
        let state = State {
            samples: 0,
            flagged: 0,
            not_finite: 0,
            first: None,
            last: 0,
            restarted: Moment::default(),
            head: vec![Vec::new(); streams],
            evidence: Vec::new(),
            lifetime_peak: 0.0,
            lifetime_alarm: None,
            spread: vec![Spread::default(); streams],
            recent: Recent::default(),
            series: Series::default(),
            rings: Rings::default(),
            worst: WorstSamples::default(),
            dependence: Dependence::default(),
            alarms: Alarms::default(),
            seen: Seen::default(),
        };
        let mut watch = Self { baseline, settings, bets: Vec::new(), state };
        if watch.settings.recalibrate.is_none() {
            watch.begin()?;
        }
        Ok(watch)
    }

    /// Takes a saved state.
    pub(crate) fn restore(&mut self, state: State) -> Result<(), Error> {
        self.state = state;
        if self.bets.is_empty() && !self.state.evidence.is_empty() {
            self.calibrate_by_head();
            self.bets = self.make_bets()?;
        }
        Ok(())
    }

    /// Whether the head of the stream is still being gathered, and how many samples of how many there are.
    pub(crate) fn gathering(&self) -> Option<(usize, usize)> {
        let wanted = self.settings.recalibrate?;
        let have = self.state.head.first().map_or(0, Vec::len);
        self.state.evidence.is_empty().then_some((have, wanted))
    }

    fn calibrate_by_head(&mut self) {
        for (stream, head) in self.baseline.streams.iter_mut().zip(&self.state.head) {
            stream.calibration = Calibration::new(head.iter().copied());
        }
    }

    fn make_bets(&self) -> Result<Vec<Bets>, Error> {
        let streams = &self.baseline.streams;
        let made = streams.iter().map(|stream| {
            Bets::new(Setting {
                samples: stream.calibration.scores().len(),
                delta: self.settings.delta / streams.len() as f64,
                sides: stream.sides(),
                tolerance: self.settings.tolerance,
            })
        });
        made.collect()
    }

    fn begin(&mut self) -> Result<(), Error> {
        self.bets = self.make_bets()?;
        self.state.evidence = self.bets.iter().map(Evidence::new).collect();
        Ok(())
    }

    /// The record of some samples.
    pub(crate) fn entry(&self, time: i64, origin: Origin, batch: &Batch) -> Entry {
        let arrived = Arrived::of(time, origin, batch);
        if self.gathering().is_some() {
            return Entry::Scores(arrived, batch.values.clone());
        }
        Entry::Ranks(arrived, self.ranked(&batch.values))
    }

    fn ranked(&self, values: &[Vec<f64>]) -> Ranked {
        let ranks = self.baseline.streams.iter().zip(values).map(|(stream, values)| {
            values.iter().map(|&v| Rank::of(v, &stream.calibration)).collect()
        });
        let scores: &[f64] = values.first().map_or(&[], Vec::as_slice);
        let bad = |i: &usize| values.iter().any(|v| !v[*i].is_finite());
        let worst = self.state.worst.entering(scores);
        Ranked {
            ranks: ranks.collect(),
            not_finite: (0..scores.len()).filter(bad).collect(),
            worst: worst.into_iter().map(|i| (i, scores[i])).collect(),
        }
    }

    /// Takes a record.
    pub(crate) fn apply(&mut self, sequence: u64, entry: &Entry) -> Result<Applied, Error> {
        match entry {
            Entry::Ranks(arrived, ranked) => {
                let applied = self.take(sequence, arrived, ranked, 0);
                self.count(sequence, &arrived.origin, arrived.flags.len());
                return Ok(applied);
            }
            Entry::Scores(arrived, values) => {
                let applied = self.gather(sequence, arrived, values)?;
                self.count(sequence, &arrived.origin, arrived.flags.len());
                return Ok(applied);
            }
            Entry::Acknowledged { alarm, by } => {
                self.state.alarms.acknowledge(*alarm, by.clone(), sequence);
            }
            Entry::Restarted { time } => self.restart(sequence, *time),
            Entry::Explained { alarm, reasons } => {
                if let Some(alarm) = self.state.alarms.get(*alarm) {
                    alarm.reasons.clone_from(reasons);
                }
            }
            Entry::Delivered { alarm, event } => self.state.alarms.delivered(*alarm, *event),
        }
        Ok(Applied::default())
    }

    /// Notes that samples are counted.
    fn count(&mut self, sequence: u64, origin: &Origin, samples: usize) {
        match origin {
            Origin::Request { id } => self.state.seen.add_request(id, sequence),
            Origin::Rows { file, first, .. } => {
                self.state.seen.add_rows(file, first + samples as u64, sequence);
            }
            Origin::Files { files } => {
                for file in files {
                    self.state.seen.add_rows(file, 1, sequence);
                }
            }
            Origin::Each { ids, .. } => {
                for id in ids {
                    self.state.seen.add_request(id, sequence);
                }
            }
            Origin::Unnamed { .. } => {}
        }
    }

    /// The head of the stream becomes the calibration; what comes behind it counts.
    fn gather(
        &mut self,
        sequence: u64,
        arrived: &Arrived,
        values: &[Vec<f64>],
    ) -> Result<Applied, Error> {
        let (have, wanted) = self.gathering().unwrap_or((0, 0));
        let taken = (wanted - have).min(arrived.flags.len());
        let state = &mut self.state;
        for (head, values) in state.head.iter_mut().zip(values) {
            head.extend(&values[..taken]);
        }
        state.first.get_or_insert(arrived.time);
        state.last = arrived.time;
        state.samples += taken as u64;
        let flags = &arrived.flags[..taken];
        state.flagged += flags.iter().filter(|f| **f).count() as u64;
        if have + taken < wanted {
            return Ok(Applied::default());
        }
        self.calibrate_by_head();
        self.begin()?;
        let rest: Vec<Vec<f64>> = values.iter().map(|v| v[taken..].to_vec()).collect();
        let ranked = self.ranked(&rest);
        Ok(self.take(sequence, arrived, &ranked, taken))
    }

    /// Takes samples, those of the record from a position on.
    fn take(&mut self, sequence: u64, arrived: &Arrived, ranked: &Ranked, skip: usize) -> Applied {
        let (mut applied, time) = (Applied::default(), arrived.time);
        let count = ranked.ranks.first().map_or(0, Vec::len);
        let first = self.state.samples + 1;
        self.state.first.get_or_insert(time);
        self.state.last = time;
        let names = arrived.names.get(skip..).unwrap_or_default();
        let origin = arrived.origin.clone().skip(skip);
        self.state.recent.arrive(Moment { sample: first, time }, &origin, names);
        let mut highest = f64::NEG_INFINITY;
        for i in 0..count {
            self.state.samples += 1;
            let at = Moment { sample: self.state.samples, time };
            let ranks: Vec<Rank> = ranked.ranks.iter().map(|r| r[i]).collect();
            self.note(&ranks);
            if (at.sample - 1).is_multiple_of(self.settings.every) {
                self.step(at, &ranks);
            }
            let log = self.log_evidence();
            highest = highest.max(log);
            let logs = self.state.evidence.iter().map(Evidence::log);
            self.state.series.push(at, log, logs);
            if log >= self.log_threshold() {
                applied.crossed = true;
                applied.raised = self.cross(sequence, at).or(applied.raised);
            } else {
                self.resolve_if_quiet(sequence, at);
            }
        }
        let flags = arrived.flags.get(skip..).unwrap_or_default();
        let flagged = flags.iter().filter(|f| **f).count() as u64;
        self.state.flagged += flagged;
        self.state.not_finite += ranked.not_finite.len() as u64;
        self.state.rings.add(&Span {
            start: time,
            samples: count as u64,
            flagged,
            not_finite: ranked.not_finite.len() as u64,
            log: highest.max(-10.0),
        });
        for &(position, score) in &ranked.worst {
            let rank = ranked.ranks[0][position].high;
            let all = self.baseline.streams[0].calibration.scores().len() + 1;
            self.state.worst.insert(Worst {
                at: Moment { sample: first + position as u64, time },
                name: arrived.name(skip + position),
                score: if score.is_nan() { f64::INFINITY } else { score },
                p_value: rank as f64 / all as f64,
                flagged: flags.get(position).copied().unwrap_or(false),
            });
        }
        applied
    }

    /// Where ranks lie, for the page.
    fn note(&mut self, ranks: &[Rank]) {
        let streams = self.baseline.streams.iter().zip(ranks);
        for ((stream, rank), spread) in streams.zip(&mut self.state.spread) {
            let all = (stream.calibration.scores().len() + 1) as f64;
            spread.push(rank.high as f64 / all);
        }
    }

    /// The next sample of the evidence.
    fn step(&mut self, at: Moment, ranks: &[Rank]) {
        let state = &mut self.state;
        state.recent.push(at.sample, ranks, &state.evidence);
        if let Some(rank) = ranks.first() {
            let all = self.baseline.streams[0].calibration.scores().len() + 1;
            state.dependence.push((rank.low + rank.high) as f64 / (2 * all) as f64);
        }
        let steps = state.evidence.iter_mut().zip(&self.bets).zip(ranks);
        steps.for_each(|((evidence, bets), rank)| evidence.step(bets, *rank));
        let lifetime = self.log_lifetime();
        let state = &mut self.state;
        state.lifetime_peak = state.lifetime_peak.max(lifetime);
        if lifetime >= -libm::log(self.settings.lifetime) {
            state.lifetime_alarm.get_or_insert(at);
        }
    }

    /// ln R of the whole monitor: the mean over the streams that count.
    pub(crate) fn log_evidence(&self) -> f64 {
        self.mean_of(Evidence::log)
    }

    pub(crate) fn log_lifetime(&self) -> f64 {
        self.mean_of(Evidence::log_lifetime)
    }

    fn mean_of(&self, log: impl Fn(&Evidence) -> f64) -> f64 {
        let streams = self.baseline.streams.iter().zip(&self.state.evidence);
        let logs: Vec<f64> = streams.filter(|(s, _)| s.counts).map(|(_, e)| log(e)).collect();
        log_mean(&logs)
    }

    pub(crate) fn log_threshold(&self) -> f64 {
        libm::log(self.settings.run_length)
    }

    /// Begins anew by hand.
    fn restart(&mut self, sequence: u64, time: i64) {
        let state = &mut self.state;
        let at = Moment { sample: state.samples, time };
        state.alarms.resolve(at, Why::Restart, sequence);
        state.evidence.iter_mut().for_each(Evidence::restart);
        state.recent.clear();
        state.worst.clear();
        state.spread.iter_mut().for_each(|s| *s = Spread::default());
        state.dependence = Dependence::default();
        state.restarted = at;
    }
}
