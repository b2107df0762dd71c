//! The components of a sample, as values of the graph.

use taste_detector::Job;
use taste_graph::Id;

use super::{
    answers::{self, HeadResiduals, Softmax},
    columns::{log_length, log_square},
    density::stored,
    kinds::{self, Component, Set},
    learn::{Input, Learnt, Subject},
};
use crate::{Error, fields::Field as _};

/// What a sample has.
#[derive(Clone, Debug, Default)]
pub(super) struct Components {
    /// Each N × 1, in the order of the table of components.
    pub(super) values: Vec<(Component, Id)>,
    /// Drifts of the features and of the answer, for tests of batches: N × M.
    pub(super) drifts: Option<Id>,
    /// Residuals of the probability of every class: N × K.
    pub(super) residuals: Option<Id>,
    /// The sample moved toward the training data, in its own shape.
    pub(super) moved: Option<Id>,
}

impl Components {
    /// A component, if the model and the data have it.
    pub(super) fn get(&self, wanted: Component) -> Option<Id> {
        self.values.iter().find(|(c, _)| *c == wanted).map(|(_, id)| *id)
    }

    /// Adds everything that a set and the novelty may ask for.
    pub(super) fn build(
        job: &mut Job<'_>,
        subject: &Subject,
        learnt: &Learnt,
        set: Set,
    ) -> Result<Self, Error> {
        let mut found = Self::default();
        let score = found.features(job, subject, learnt)?;
        found.head(job, subject, learnt, score)?;
        let moved = found.samples(job, learnt)?;
        if set.steps()
            && let Some(moved) = moved
        {
            found.moved = Some(moved);
            found.step(job, subject, learnt, moved)?;
        }
        let place = |c: &Component| kinds::COMPONENTS.iter().position(|k| k == c);
        found.values.sort_by_key(|(c, _)| place(c));
        Ok(found)
    }

    /// q1, q2, q3: the length of the score at every cut. Returns that at the last.
    fn features(
        &mut self,
        job: &mut Job<'_>,
        subject: &Subject,
        learnt: &Learnt,
    ) -> Result<Option<Id>, Error> {
        let mut b = job.draft.build();
        let class = if subject.answer.has_classes() {
            Some(Softmax::of(&mut b, subject.values)?.likeliest)
        } else {
            None
        };
        let names = [kinds::Q3, kinds::Q2, kinds::Q1];
        let mut last = None;
        let cuts = subject.cuts.iter().zip(&learnt.densities).rev();
        for ((cut, density), name) in cuts.zip(names) {
            let s = density.score(&mut b, cut.id, class)?;
            self.values.push((name, log_square(&mut b, s)?));
            last = last.or(Some(s));
        }
        Ok(last)
    }

    /// r, E and qt: what the last layer makes of the score of its features.
    fn head(
        &mut self,
        job: &mut Job<'_>,
        subject: &Subject,
        learnt: &Learnt,
        score: Option<Id>,
    ) -> Result<(), Error> {
        let (answer, values) = (subject.answer, subject.values);
        let has_level = job.draft.has_level();
        let mut b = job.draft.build();
        if !answer.has_classes() {
            if let Some(doubt) = answers::doubt(&mut b, answer, values)? {
                self.values.push((kinds::R, doubt));
            }
            let off = answers::standardised(&mut b, values, &learnt.outputs)?;
            self.values.push((kinds::QT, log_square(&mut b, off)?));
            return Ok(());
        }
        let linear = subject.head.as_ref().zip(learnt.densities.last()).zip(score);
        let Some(((head, density), s)) = linear else {
            if let Some(doubt) = answers::doubt(&mut b, answer, values)? {
                self.values.push((kinds::R, doubt));
            }
            if has_level {
                self.values.push((kinds::E, answers::energy(&mut b, values)?));
            }
            // Without a head to read from, all directions count.
            if let Some(q3) = self.get(kinds::Q3) {
                self.values.push((kinds::QT, q3));
            }
            return Ok(());
        };
        let weights = density.weights(&head.weights);
        let softmax = Softmax::of(&mut b, values)?;
        let found = HeadResiduals::build(&mut b, &softmax, s, &weights)?;
        self.values.push((kinds::R, log_length(&mut b, found.probabilities)?));
        self.values.push((kinds::E, found.energy));
        self.residuals = Some(found.probabilities);
        if let Some(basis) = answers::read_directions(&weights) {
            let basis = stored(&mut b, &basis)?;
            let read = taste_ops::functions::matmul(&mut b, s, basis)?;
            self.values.push((kinds::QT, log_square(&mut b, read)?));
            self.drifts = Some(read);
        }
        Ok(())
    }

    /// What samples themselves tell. Returns the sample moved toward the training data.
    fn samples(&mut self, job: &mut Job<'_>, learnt: &Learnt) -> Result<Option<Id>, Error> {
        let x = job.draft.input();
        match &learnt.input {
            Input::Table(columns) => {
                let built = columns.build(&mut job.draft.build(), x)?;
                self.values.extend([
                    (kinds::SX, built.sx),
                    (kinds::Q, built.q),
                    (kinds::QCOP, built.qcop),
                    (kinds::RANGE, built.range),
                ]);
                whole_stay(job, built.moved).map(Some)
            }
            Input::Image(dct) => {
                let mut b = job.draft.build();
                let s = dct.build(&mut b, x)?;
                let scaled = dct.in_ranges(&mut b, s)?;
                let moved = dct.step(&mut b, x, s)?;
                let flat = Subject::flat(job, scaled)?;
                let sx = log_length(&mut job.draft.build(), flat)?;
                self.values.push((kinds::SX, sx));
                Ok(Some(moved))
            }
            Input::None => Ok(None),
        }
    }

    /// fz and fkl: how the answer moves with the sample.
    fn step(
        &mut self,
        job: &mut Job<'_>,
        subject: &Subject,
        learnt: &Learnt,
        moved: Id,
    ) -> Result<(), Error> {
        let after = job.draft.repeat(subject.values, moved)?;
        let (answer, pair) = (subject.answer, [subject.values, after]);
        let mut b = job.draft.build();
        let drift = answers::drift(&mut b, answer, pair, &learnt.outputs.1)?;
        self.values.push((kinds::FZ, answers::drift_length(&mut b, drift)?));
        if let Some(fkl) = answers::divergence(&mut b, answer, pair)? {
            self.values.push((kinds::FKL, fkl));
        }
        self.drifts = Some(match self.drifts {
            Some(read) => taste_ops::functions::concat(&mut b, &[read, drift], 1)?,
            None => drift,
        });
        Ok(())
    }
}

/// A moved sample with the entries that are whole numbers to the model as they were: half a category is none.
fn whole_stay(job: &mut Job<'_>, moved: Id) -> Result<Id, Error> {
    let each = job.draft.parts().iter().flat_map(|p| std::iter::repeat_n(p.is_whole, p.width));
    let moves: Vec<f64> = each.map(|whole| f64::from(u8::from(!whole))).collect();
    if moves.iter().all(|m| *m > 0.0) {
        return Ok(moved);
    }
    let x = job.draft.input();
    let moves = ndarray::Array2::from_shape_vec((1, moves.len()), moves)
        .map_err(|e| crate::refused(e.to_string()))?;
    let mut b = job.draft.build();
    let (step, moves) = (b.sub(moved, x)?, stored(&mut b, &moves)?);
    let step = b.mul(step, moves)?;
    Ok(b.add(x, step)?)
}
