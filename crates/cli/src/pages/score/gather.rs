//! What is kept of samples while they are scored: counts, sums, a draw and the worst, however many there are.

use std::collections::BTreeMap;

use ndarray::{ArrayD, Axis, Slice};
use taste_data::{Chunk, Dataset};
use taste_detector::{
    Detector, Goal, PartFacts, Role, Scores, channel_axis, explain, over_channels,
};
use taste_stats::random::Random;

/// Samples that charts are drawn from.
const DRAWN: usize = 20_000;
/// Samples that are shown.
const WORST: usize = 12;
/// The longest side of an image that is kept.
const SIDE: usize = 160;
/// The alpha of p-values where the detector has none.
const USUAL_ALPHA: f64 = 0.05;

/// What a sample looks like to the detector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) score: f64,
    pub(super) p_value: f64,
    /// Its novelty and the p-value of that.
    pub(super) novelty: Option<(f64, f64)>,
}

/// Whether a sample is harmful, and whether it is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quarter {
    Neither,
    New,
    Harmful,
    Both,
}

impl Quarter {
    pub(super) const ALL: [Self; 4] = [Self::Neither, Self::New, Self::Harmful, Self::Both];

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Neither => "neither",
            Self::New => "new but harmless",
            Self::Harmful => "familiar-looking but harmful",
            Self::Both => "new and harmful",
        }
    }
}

/// A sample that is shown.
pub(super) struct Worst {
    pub(super) name: String,
    pub(super) seen: Seen,
    /// The terms of the score.
    pub(super) terms: Vec<f32>,
    /// The sample itself, if it is an image.
    pub(super) image: Option<ArrayD<f32>>,
    /// Where it differs, summed over channels.
    pub(super) map: Option<ArrayD<f32>>,
}

/// Samples that have been scored.
pub(crate) struct Scored<'a> {
    pub(super) detector: &'a Detector,
    pub(super) alpha: f64,
    /// The part with the terms of the score.
    pub(super) evidence: Option<&'a PartFacts>,
    pub(super) samples: usize,
    pub(super) flagged: usize,
    pub(super) not_finite: usize,
    pub(super) quarters: [usize; 4],
    sums: Vec<f64>,
    summed: usize,
    drawn: BTreeMap<(u64, u64), Seen>,
    worst: explain::Chosen<'static, Worst>,
}

impl<'a> Scored<'a> {
    /// None yet.
    pub(crate) fn new(detector: &'a Detector) -> Self {
        let manifest = detector.manifest();
        let evidence = manifest.parts.iter().find(|p| p.role == Role::Evidence);
        Self {
            detector,
            alpha: manifest.decision.alpha.unwrap_or(USUAL_ALPHA),
            evidence,
            samples: 0,
            flagged: 0,
            not_finite: 0,
            quarters: [0; 4],
            sums: vec![0.0; evidence.map_or(0, |p| p.columns.len())],
            summed: 0,
            drawn: BTreeMap::new(),
            worst: explain::Chosen::new(&[], WORST),
        }
    }

    /// Adds samples with their scores.
    pub(crate) fn add(&mut self, data: &Dataset, chunk: &Chunk, scores: &Scores) {
        let map = scores.map.as_ref().map(over_channels);
        for (i, &index) in chunk.index.iter().enumerate() {
            let novelty = scores.novelty.as_ref();
            let seen = Seen {
                score: scores.score[i].into(),
                p_value: scores.p_value[i].into(),
                novelty: novelty.map(|n| (n.score[i].into(), n.p_value[i].into())),
            };
            let number = self.samples as u64;
            self.samples += 1;
            self.flagged += usize::from(scores.flag[i]);
            self.not_finite += usize::from(!seen.score.is_finite());
            self.quarters[self.quarter(&seen) as usize] += 1;
            // Those with the smallest draws: a uniform choice.
            self.drawn.insert((Random::stream(0, number).bits(), number), seen);
            if self.drawn.len() > DRAWN {
                self.drawn.pop_last();
            }
            let terms = self.terms(scores, i);
            if !terms.is_empty() && terms.iter().all(|t| t.is_finite()) {
                self.summed += 1;
                self.sums.iter_mut().zip(&terms).for_each(|(sum, &t)| *sum += f64::from(t));
            }
            let rank = match (self.detector.manifest().decision.goal, novelty) {
                (Goal::Novelty, Some(novelty)) => novelty.score[i],
                _ => scores.score[i],
            };
            let place = data.place(index);
            self.worst.offer(place, rank, || Worst {
                name: data.row_name(index).unwrap_or_else(|| place.to_string()),
                seen,
                terms,
                image: thumbnail(&chunk.values.index_axis(Axis(0), i).to_owned()),
                map: map.as_ref().map(|m| m.index_axis(Axis(0), i).to_owned()),
            });
        }
    }

    fn terms(&self, scores: &Scores, sample: usize) -> Vec<f32> {
        let part = self.evidence.and_then(|part| scores.part(&part.name));
        part.map_or_else(Vec::new, |values| values.row(sample).to_vec())
    }

    /// Where a sample stands. What has no p-value is as far out as any.
    pub(super) fn quarter(&self, seen: &Seen) -> Quarter {
        // Rounding to single precision is no reason to pass.
        let limit = self.alpha * (1.0 + 1e-6);
        let far = |p: f64| p.is_nan() || p <= limit;
        match (far(seen.p_value), seen.novelty.is_some_and(|n| far(n.1))) {
            (false, false) => Quarter::Neither,
            (false, true) => Quarter::New,
            (true, false) => Quarter::Harmful,
            (true, true) => Quarter::Both,
        }
    }

    /// Drawn samples, all where there are few.
    pub(super) fn drawn(&self) -> impl Iterator<Item = &Seen> {
        self.drawn.values()
    }

    /// The mean of every term, over samples that have one.
    pub(super) fn means(&self) -> Vec<f64> {
        self.sums.iter().map(|sum| sum / self.summed.max(1) as f64).collect()
    }

    /// The same of calibration samples.
    pub(super) fn calibration_means(&self) -> Vec<f64> {
        let Some(part) = self.evidence else { return Vec::new() };
        let parts = &self.detector.manifest().parts;
        let before = parts.iter().take_while(|p| p.name != part.name);
        let first: usize = before.map(|p| p.columns.len()).sum();
        let rows = &self.detector.reference().rows;
        let mean = |c: usize| {
            let finite = || rows.column(c).into_iter().filter(|v| v.is_finite());
            finite().map(|&v| f64::from(v)).sum::<f64>() / finite().count().max(1) as f64
        };
        (first..first + part.columns.len()).map(mean).collect()
    }

    /// The samples furthest out, the furthest first.
    pub(super) fn take_worst(&mut self) -> Vec<Worst> {
        let none = explain::Chosen::new(&[], WORST);
        std::mem::replace(&mut self.worst, none).finish().unwrap_or_default()
    }
}

/// An image of a size that a page shows; nothing for samples that are none.
fn thumbnail(sample: &ArrayD<f32>) -> Option<ArrayD<f32>> {
    let channels = channel_axis(sample.shape());
    if channels.is_none() && sample.ndim() != 2 {
        return None;
    }
    let mut image = sample.view();
    for axis in (0..sample.ndim()).filter(|&axis| Some(axis) != channels) {
        let step = sample.shape()[axis].div_ceil(SIDE).max(1);
        image.slice_axis_inplace(Axis(axis), Slice::new(0, None, isize::try_from(step).ok()?));
    }
    Some(image.to_owned())
}
