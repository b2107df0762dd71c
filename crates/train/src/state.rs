//! What changes during a run.

use ndarray::ArrayD;
use taste_engine::Value;

use crate::{
    Parameters, Point,
    adam::{Adam, Update},
    trained::HeldOut,
};

/// Weights as a session takes them.
pub(crate) type Weights = Vec<(String, Value)>;

/// Everything that the next step depends on, and the history.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// Steps made.
    pub(crate) step: usize,
    pub(crate) weights: Weights,
    /// The moving average of the weights, if one is kept.
    pub(crate) average: Option<Weights>,
    pub(crate) adam: Adam,
    pub(crate) curve: Vec<Point>,
    /// The newest judgement on held-out samples.
    pub(crate) last: Option<HeldOut>,
    /// The weights that did best on held-out samples, if the best are wanted.
    pub(crate) best: Option<(Weights, HeldOut)>,
    /// The sum of the losses since the last point of the curve, and how many they are.
    pub(crate) pending: (f64, usize),
    /// How many judgements in a row were no better than the best.
    pub(crate) misses: usize,
}

fn floats(weights: &mut Weights) -> impl Iterator<Item = &mut ArrayD<f32>> {
    weights.iter_mut().filter_map(|(_, value)| match value {
        Value::F32(a) => Some(a),
        _ => None,
    })
}

impl State {
    pub(crate) fn new(parameters: &Parameters, averages: bool) -> Self {
        let weights: Weights =
            parameters.iter().map(|(name, a)| (name.to_owned(), a.clone().into())).collect();
        Self {
            step: 0,
            adam: Adam::new(parameters.iter().map(|(_, a)| a.len())),
            average: averages.then(|| weights.clone()),
            weights,
            curve: Vec::new(),
            last: None,
            best: None,
            misses: 0,
            pending: (0.0, 0),
        }
    }

    /// The weights that a run would return now.
    pub(crate) fn result(&self) -> &Weights {
        self.average.as_ref().unwrap_or(&self.weights)
    }

    /// Makes a step; the average keeps the share `keep` of itself.
    pub(crate) fn update(&mut self, gradients: &[ArrayD<f32>], update: Update, keep: f64) {
        self.adam.update(floats(&mut self.weights), gradients, update);
        self.step += 1;
        if let Some(average) = &mut self.average {
            // The first weights were random, and should not be remembered for long.
            let steps = self.step as f64;
            let keep = keep.min((1.0 + steps) / (10.0 + steps));
            #[expect(clippy::cast_possible_truncation, reason = "weights are single precision")]
            let share = (1.0 - keep) as f32;
            for (average, weight) in floats(average).zip(floats(&mut self.weights)) {
                average.zip_mut_with(weight, |a, &w| *a += share * (w - *a));
            }
        }
    }

    /// Where the run stands between two points of the curve.
    pub(crate) fn now(&self) -> Point {
        let last = self.curve.last();
        let loss = match self.pending {
            (_, 0) => last.map_or(f64::NAN, |p| p.loss),
            (sum, count) => sum / count as f64,
        };
        Point { step: self.step, loss, held_out: last.and_then(|p| p.held_out) }
    }

    /// A point of the curve, with how the weights do; `keep_best` keeps a copy of the best.
    pub(crate) fn note(&mut self, held_out: Option<HeldOut>, keep_best: bool) -> Point {
        let (sum, count) = std::mem::take(&mut self.pending);
        let loss = sum / count.max(1) as f64;
        let point = Point { step: self.step, loss, held_out: held_out.as_ref().map(|h| h.loss) };
        self.curve.push(point);
        if let Some(held_out) = held_out.as_ref().filter(|_| keep_best) {
            if self.best.as_ref().is_some_and(|(_, best)| best.loss <= held_out.loss) {
                self.misses += 1;
            } else {
                self.best = Some((self.result().clone(), held_out.clone()));
                self.misses = 0;
            }
        }
        self.last = held_out;
        point
    }
}
