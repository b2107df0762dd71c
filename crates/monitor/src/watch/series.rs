//! Evidence over the whole life in a bounded number of points.

use serde::{Deserialize, Serialize};

use super::Moment;

/// The most points that are kept; when there are more, neighbours are joined.
const MOST: usize = 2000;
/// What stands for no evidence at all.
const FLOOR: f64 = -10.0;

/// Some samples in a row. Logarithms are natural; what is below −10 counts as −10.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The last of the samples.
    pub at: Moment,
    /// The least and the largest ln R of the monitor among them.
    pub log: (f64, f64),
    /// The largest ln R of every stream among them.
    pub streams: Vec<f64>,
}

/// Points of equal numbers of samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Series {
    points: Vec<Point>,
    /// Samples that a point stands for.
    width: u64,
    /// Samples in the last point.
    filled: u64,
}

impl Default for Series {
    fn default() -> Self {
        Self { points: Vec::new(), width: 1, filled: 1 }
    }
}

impl Series {
    pub(crate) fn push(&mut self, at: Moment, log: f64, streams: impl Iterator<Item = f64>) {
        let log = log.max(FLOOR);
        let streams = streams.map(|l| l.max(FLOOR));
        match self.points.last_mut() {
            Some(last) if self.filled < self.width => {
                self.filled += 1;
                let streams = last.streams.iter().zip(streams).map(|(a, b)| a.max(b)).collect();
                *last = Point { at, log: (last.log.0.min(log), last.log.1.max(log)), streams };
            }
            _ => {
                self.filled = 1;
                self.points.push(Point { at, log: (log, log), streams: streams.collect() });
            }
        }
        if self.points.len() > MOST {
            self.halve();
        }
    }

    fn halve(&mut self) {
        let joined = self.points.chunks(2).map(|pair| match pair {
            [a, b] => Point {
                at: b.at,
                log: (a.log.0.min(b.log.0), a.log.1.max(b.log.1)),
                streams: a.streams.iter().zip(&b.streams).map(|(a, b)| a.max(*b)).collect(),
            },
            other => other[0].clone(),
        });
        let alone = self.points.len() % 2 == 1;
        self.points = joined.collect();
        self.filled += if alone { 0 } else { self.width };
        self.width *= 2;
    }

    pub(crate) fn points(&self) -> &[Point] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stay_few_and_lose_no_peak() {
        let mut series = Series::default();
        for sample in 1..=100_000u64 {
            let log = if sample == 54_321 { 9.0 } else { -1.0 };
            series.push(Moment { sample, time: 0 }, log, [log].into_iter());
            assert!(series.points.len() <= MOST);
        }
        assert!(series.points.len() > MOST / 4);
        let peaks: Vec<&Point> = series.points.iter().filter(|p| p.log.1 > 8.0).collect();
        assert_eq!(peaks.len(), 1);
        assert!(peaks[0].at.sample.abs_diff(54_321) <= series.width);
        let samples: Vec<u64> = series.points.iter().map(|p| p.at.sample).collect();
        assert!(samples.windows(2).all(|p| p[1] > p[0] && p[1] - p[0] <= series.width));
        assert_eq!(samples.last(), Some(&100_000));
    }
}
