//! How much came, by second, minute and hour.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// What came within a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// When it starts, in milliseconds since 1970.
    pub start: i64,
    /// Samples.
    pub samples: u64,
    /// Those that the detector flagged.
    pub flagged: u64,
    /// Those without a finite score.
    pub not_finite: u64,
    /// The largest ln R of the monitor.
    pub log: f64,
}

/// The last spans of one length; spans without samples are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ring {
    length: i64,
    most: usize,
    spans: VecDeque<Span>,
}

impl Ring {
    fn new(length: i64, most: usize) -> Self {
        Self { length, most, spans: VecDeque::new() }
    }

    fn add(&mut self, more: &Span) {
        let start = more.start - more.start.rem_euclid(self.length);
        // A clock that went back adds to the last span.
        if let Some(last) = self.spans.back_mut().filter(|last| last.start >= start) {
            last.samples += more.samples;
            last.flagged += more.flagged;
            last.not_finite += more.not_finite;
            last.log = last.log.max(more.log);
            return;
        }
        self.spans.push_back(Span { start, ..*more });
        while self.spans.len() > self.most {
            self.spans.pop_front();
        }
    }
}

/// Ten minutes by second, a day by minute, three months by hour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rings([Ring; 3]);

impl Default for Rings {
    fn default() -> Self {
        Self([Ring::new(1000, 600), Ring::new(60_000, 1440), Ring::new(3_600_000, 2208)])
    }
}

impl Rings {
    pub(crate) fn add(&mut self, more: &Span) {
        self.0.iter_mut().for_each(|ring| ring.add(more));
    }

    /// By second, minute and hour.
    pub(crate) fn spans(&self) -> [Vec<Span>; 3] {
        [0, 1, 2].map(|i| self.0[i].spans.iter().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_adds_up_and_old_spans_go() {
        let mut rings = Rings::default();
        for second in 0..2000 {
            let start = 1_000_000_000 + second * 1000 + 7;
            rings.add(&Span { start, samples: 2, flagged: 1, not_finite: 0, log: 0.5 });
        }
        let [seconds, minutes, hours] = rings.spans();
        assert_eq!(seconds.len(), 600);
        assert!(minutes.len() <= 35 && hours.len() <= 2);
        assert_eq!(minutes.iter().map(|s| s.samples).sum::<u64>(), 4000);
        assert!(seconds.iter().all(|s| s.start % 1000 == 0));
        rings.add(&Span { start: 5, samples: 1, ..Span::default() });
        assert_eq!(rings.spans()[2].iter().map(|s| s.samples).sum::<u64>(), 4001);
    }
}
