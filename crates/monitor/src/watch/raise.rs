//! What happens when evidence reaches A.

use taste_stats::normal;

use super::{
    Moment, Watch,
    alarms::{Alarm, Began, Carrier, Standing, Why},
};
use crate::sequential::{Evidence, Rank, onset_after};

/// The chance that each end of "it began between" errs.
const ALPHA: f64 = 0.05;
/// Samples that are named as carriers.
const CARRIERS: usize = 5;
/// A change that took so long to find is over after so many times as long without another sign of it.
const PATIENCE: u64 = 10;

impl Watch {
    /// Evidence has reached A: an episode begins or goes on. The number of an alarm that was raised.
    pub(super) fn cross(&mut self, sequence: u64, at: Moment) -> Option<u64> {
        let log = self.log_evidence();
        let raised = if let Some(open) = self.state.alarms.open() {
            open.crossings += 1;
            open.last = at;
            None
        } else {
            let alarm = self.alarm(at, log);
            let id = alarm.id;
            self.state.alarms.raise(alarm, sequence);
            Some(id)
        };
        let streams = self.baseline.streams.iter().zip(&mut self.state.evidence);
        streams.filter(|(s, _)| s.counts).for_each(|(_, e)| e.restart());
        self.state.recent.clear();
        raised
    }

    /// Resolves an alarm that nothing has spoken for in a long time.
    pub(super) fn resolve_if_quiet(&mut self, sequence: u64, at: Moment) {
        let quiet = self.settings.quiet;
        let is_over = self.state.alarms.standing().is_some_and(|alarm| {
            let began = alarm.began.map_or(alarm.raised.sample, |b| b.likely.sample);
            let took = alarm.raised.sample.saturating_sub(began) + 1;
            at.sample - alarm.last.sample >= quiet.max(PATIENCE * took)
        });
        if is_over {
            self.state.alarms.resolve(at, Why::Quiet, sequence);
        }
    }

    fn alarm(&self, at: Moment, log: f64) -> Alarm {
        let counting = (0..self.bets.len()).filter(|i| self.baseline.streams[*i].counts);
        let logs = |i: &usize| self.state.evidence.get(*i).map_or(f64::NEG_INFINITY, Evidence::log);
        let stream = counting.max_by(|a, b| logs(a).total_cmp(&logs(b))).unwrap_or(0);
        let (before, ranks, samples) = self.state.recent.stream(stream);
        let bets = &self.bets[stream];
        let leading = self.state.evidence[stream].leading();
        // The leading stream is chosen among several.
        let alpha = ALPHA / self.bets.len() as f64;
        let shift = self.settings.assumed_shift.max(self.settings.tolerance.least_effect);
        let found = onset_after(bets, &before, &ranks, alpha, shift).ok().flatten();
        let moment = |place: usize| {
            let sample = samples.get(place.saturating_sub(1)).copied().unwrap_or(at.sample);
            let found = self.state.recent.locate(sample).map(|(moment, _)| moment);
            found.unwrap_or(Moment { sample, time: at.time })
        };
        let began = found.map(|onset| Began {
            earliest: bets.shift(leading).map(|_| moment(onset.earliest)),
            latest: moment(onset.latest),
            likely: moment(onset.likely),
        });
        let likely = found.map_or(1, |onset| onset.likely.min(ranks.len()));
        let since = &ranks[likely.saturating_sub(1).min(ranks.len())..];
        Alarm {
            id: self.state.alarms.next_id(),
            standing: Standing::Firing,
            raised: at,
            last: at,
            crossings: 1,
            log_evidence: log,
            stream: self.baseline.streams[stream].kind,
            effect: self.effect(stream, since),
            began,
            carriers: self.carriers(stream, leading, since, &samples[ranks.len() - since.len()..]),
            reasons: Vec::new(),
            acknowledged: None,
            resolved: None,
        }
    }

    /// The mean of ranks as quantiles of the normal law.
    fn effect(&self, stream: usize, ranks: &[Rank]) -> f64 {
        let all = (self.baseline.streams[stream].calibration.scores().len() + 1) as f64;
        let place = |rank: &Rank| (0.5 * (rank.low + rank.high) as f64 - 0.5) / all;
        let sum: f64 = ranks.iter().map(|rank| -normal::quantile(place(rank))).sum();
        sum / ranks.len().max(1) as f64
    }

    /// The samples that multiplied the leading bet's evidence most.
    fn carriers(
        &self,
        stream: usize,
        leading: usize,
        ranks: &[Rank],
        samples: &[u64],
    ) -> Vec<Carrier> {
        let bets = &self.bets[stream];
        let log = |rank: &Rank| bets.logs(*rank).nth(leading).unwrap_or(0.0);
        let mut all: Vec<(f64, u64)> = ranks.iter().map(log).zip(samples.iter().copied()).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        all.truncate(CARRIERS);
        let named = all.into_iter().filter(|(log, _)| *log > 0.0).filter_map(|(log, sample)| {
            let (at, name) = self.state.recent.locate(sample)?;
            Some(Carrier { at, name, log })
        });
        named.collect()
    }
}
