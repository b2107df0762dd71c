//! What the output of a model says, and what it would say of other samples.

use taste_graph::{Dim, Id};
use taste_ops::functions;

use crate::{Draft, Error};

/// What the output of a model holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A class: logits, or probabilities that a softmax made of them.
    Classes,
    /// One of two classes, as one number behind a sigmoid.
    Binary,
    /// Several yes-or-no answers, each behind a sigmoid of its own.
    Labels,
    /// Numbers: a regressor.
    Numbers,
}

impl Answer {
    /// Every answer.
    pub const ALL: [Self; 4] = [Self::Classes, Self::Binary, Self::Labels, Self::Numbers];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Classes => "classes",
            Self::Binary => "binary",
            Self::Labels => "labels",
            Self::Numbers => "numbers",
        }
    }

    /// Whether the answer is one of several classes.
    pub fn has_classes(self) -> bool {
        matches!(self, Self::Classes | Self::Binary)
    }
}

impl Draft {
    /// What the output holds, as far as its last operators tell: several numbers without a sigmoid are logits.
    pub fn answer(&self) -> Answer {
        match (self.width(), self.ends_in_sigmoid()) {
            (1, true) => Answer::Binary,
            (1, false) => Answer::Numbers,
            (_, true) => Answer::Labels,
            (_, false) => Answer::Classes,
        }
    }

    /// Whether the output is a sigmoid of what answers are read from.
    pub fn ends_in_sigmoid(&self) -> bool {
        functions::sigmoid_argument(self.graph(), self.output()).is_some()
    }

    /// The numbers that the answer is read from: logits (N × K) of classes or labels, or the output itself. One number behind a
    /// sigmoid, z, is the logits −z/2 and z/2 of two classes.
    pub fn answer_values(&mut self, answer: Answer) -> Result<Id, Error> {
        let (rows, width) = (self.rows(), Dim::from(self.width()));
        let inside = functions::sigmoid_argument(self.graph(), self.output());
        let (logits, output) = (self.logits(), self.output());
        let mut b = self.build();
        Ok(match answer {
            Answer::Classes => logits,
            Answer::Numbers => output,
            Answer::Labels => b.reshape(inside.unwrap_or(output), &[rows, width])?,
            Answer::Binary => {
                let z = b.reshape(inside.unwrap_or(output), &[rows, Dim::from(1)])?;
                let (low, high) = (b.scale(z, -0.5)?, b.scale(z, 0.5)?);
                functions::concat(&mut b, &[low, high], 1)?
            }
        })
    }

    /// What a value that was computed from the input is for other samples. Nothing that does not depend on the input is
    /// computed, or stored, twice.
    pub fn repeat(&mut self, value: Id, samples: Id) -> Result<Id, Error> {
        let (graph, x) = (self.graph().clone(), self.input());
        let mut b = self.build();
        Ok(b.graph_mut().absorb(&graph, &[(x, samples)], &[value])?[0])
    }
}
