//! What the output of a model says, and what it would say of other samples.

use taste_graph::{Build, Calculus, DType, Dim, Graph, Id, OpError};
use taste_ops::functions;

use crate::{Draft, Error, error::request, hints::Hint, target::Head};

/// What the output of a model holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// One of several classes: logits, or probabilities.
    Classes,
    /// One of two classes, as one number.
    Binary,
    /// Several yes-or-no answers.
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

    /// The answer of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|a| a.name() == name)
    }

    /// Whether the answer is one of several classes.
    pub fn has_classes(self) -> bool {
        matches!(self, Self::Classes | Self::Binary)
    }

    /// Whether an output of so many entries can hold it.
    pub fn fits(self, entries: usize) -> bool {
        match self {
            Self::Classes => entries > 1,
            Self::Binary => entries == 1,
            Self::Labels | Self::Numbers => true,
        }
    }
}

/// How classes and labels are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// As numbers that a softmax or a sigmoid makes probabilities of.
    Logits,
    /// As probabilities.
    Probabilities,
}

/// What an output was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What it holds.
    pub answer: Answer,
    /// How that is written; numbers are as they are.
    pub scale: Scale,
}

/// What an output was on some samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glimpse {
    /// The smallest and the largest entry.
    pub entries: (f64, f64),
    /// The smallest and the largest sum of a row.
    pub sums: (f64, f64),
}

/// Half precision rounds probabilities of many classes to this.
const ROUNDING: f64 = 5e-3;
/// Probabilities below what one less them resolves in single precision are taken for this.
const LEAST: f64 = 1e-7;

impl Glimpse {
    fn is_within_one(&self) -> bool {
        self.entries.0 >= -1e-6 && self.entries.1 <= 1.0 + 1e-3
    }

    fn sums_to_one(&self) -> bool {
        self.is_within_one()
            && (self.sums.0 - 1.0).abs() < ROUNDING
            && (self.sums.1 - 1.0).abs() < ROUNDING
    }
}

/// What the operators before an output tell of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Softmax,
    Sigmoid,
    /// A product with weights, whose values have no bounds.
    Affine,
    /// A `ReLU` or a softplus, whose values have no bound above.
    Amount,
    Other,
}

impl Ending {
    pub(crate) fn of(graph: &Graph, head: &Head) -> Self {
        if head.softmax_inside {
            return Self::Softmax;
        }
        if functions::sigmoid_argument(graph, head.output).is_some() {
            return Self::Sigmoid;
        }
        if functions::is_amount(graph, head.output) {
            return Self::Amount;
        }
        let mut id = head.output;
        while graph.fact(id).dtype == DType::Float {
            let node = graph.node_of(id);
            let mut open = node.args.iter().filter(|a| graph.as_constant(**a).is_none());
            let (Some(&only), None) = (open.next(), open.next()) else { break };
            match node.op.calculus() {
                Calculus::Bilinear(_) if !node.op.is_elementwise() => return Self::Affine,
                Calculus::Bilinear(_) | Calculus::Linear(_) => id = only,
                _ => break,
            }
        }
        Self::Other
    }
}

/// All that is known of an output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) entries: usize,
    pub(crate) ending: Ending,
    pub(crate) hint: Option<Hint>,
    /// What the user says it holds.
    pub(crate) asked: Option<Answer>,
    pub(crate) seen: Option<Glimpse>,
    /// What it was found to hold before.
    pub(crate) found: Option<Reading>,
}

impl Known {
    /// Whether its values have to be looked at. Weights of a classifier may be those of votes.
    fn is_open(&self) -> bool {
        let tells = match self.ending {
            Ending::Softmax | Ending::Sigmoid => true,
            Ending::Affine => self.hint != Some(Hint::Classes),
            // Several may be made to sum to one.
            Ending::Amount => self.entries == 1,
            Ending::Other => false,
        };
        !tells && self.seen.is_none() && self.found.is_none()
    }

    pub(crate) fn reading(&self) -> Reading {
        if let Some(found) = self.found {
            return found;
        }
        let sums = self.entries > 1 && self.seen.is_some_and(|s| s.sums_to_one());
        let has_bounds = !matches!(self.ending, Ending::Affine | Ending::Amount);
        let within = has_bounds && self.seen.is_some_and(|s| s.is_within_one());
        let several = self.entries > 1;
        let answer = match (self.asked, self.ending, self.hint) {
            (Some(asked), _, _) => asked,
            (None, Ending::Softmax, _) if several => Answer::Classes,
            (None, Ending::Sigmoid, _) if several => Answer::Labels,
            (None, Ending::Sigmoid, _) => Answer::Binary,
            (None, _, Some(Hint::Numbers)) => Answer::Numbers,
            (None, _, Some(Hint::Classes)) if !several => Answer::Binary,
            (None, ..) if several && within && !sums => Answer::Labels,
            (None, ..) if several => Answer::Classes,
            (None, ..) if within => Answer::Binary,
            (None, ..) => Answer::Numbers,
        };
        let is_probability = match answer {
            Answer::Classes => sums || self.ending == Ending::Softmax,
            Answer::Binary | Answer::Labels => {
                within || sums || matches!(self.ending, Ending::Softmax | Ending::Sigmoid)
            }
            Answer::Numbers => false,
        };
        let scale = if is_probability { Scale::Probabilities } else { Scale::Logits };
        Reading { answer, scale }
    }
}

impl Head {
    /// The same output, taken for what a reading says.
    pub(crate) fn read(self, b: &mut Build<'_>, reading: Reading) -> Result<Self, OpError> {
        let (rows, entries) = (b.fact(self.output).shape[0], Dim::from(self.entries));
        let inside = functions::sigmoid_argument(b.graph_mut(), self.output);
        let inside = inside.map(|z| b.reshape(z, &[rows, entries])).transpose()?;
        let z = match (reading.answer, reading.scale, inside) {
            (Answer::Classes, _, _) if self.softmax_inside => return Ok(self),
            (Answer::Classes | Answer::Numbers, Scale::Logits, _) | (Answer::Numbers, ..) => {
                self.output
            }
            (Answer::Classes, Scale::Probabilities, _) => logarithm(b, self.output)?,
            (Answer::Binary | Answer::Labels, _, Some(z)) => z,
            (Answer::Binary | Answer::Labels, Scale::Logits, None) => self.output,
            (Answer::Binary | Answer::Labels, Scale::Probabilities, None) => {
                let other = b.from_offset(1.0, self.output)?;
                let (yes, no) = (logarithm(b, self.output)?, logarithm(b, other)?);
                b.sub(yes, no)?
            }
        };
        let is_binary = reading.answer == Answer::Binary;
        let logits = if is_binary {
            let (low, high) = (b.scale(z, -0.5)?, b.scale(z, 0.5)?);
            functions::concat(b, &[low, high], 1)?
        } else {
            z
        };
        Ok(Self {
            logits,
            width: if is_binary { 2 } else { self.entries },
            softmax_inside: false,
            has_classes: reading.answer.has_classes(),
            ..self
        })
    }
}

/// log(max(p, least)).
fn logarithm(b: &mut Build<'_>, p: Id) -> Result<Id, OpError> {
    b.formula([p], |[p]| ((p - LEAST).then(functions::relu) + LEAST).then(functions::log))
}

impl Draft {
    /// What the output was taken for.
    pub fn reading(&self) -> Reading {
        self.known.reading()
    }

    /// What the output was taken for to hold.
    pub fn answer(&self) -> Answer {
        self.reading().answer
    }

    /// Whether logits have a level beside their differences: logarithms of probabilities have none, and their energy is zero.
    pub fn has_level(&self) -> bool {
        let Reading { answer, scale } = self.reading();
        answer != Answer::Classes || scale == Scale::Logits || self.head.softmax_inside
    }

    /// Whether only values can tell what the output holds.
    pub fn wants_a_look(&self) -> bool {
        self.known.is_open()
    }

    /// Takes the output for what its values on some samples show. To be called before anything is built upon the output.
    pub fn look(&mut self, seen: Glimpse) -> Result<(), Error> {
        self.known.seen = Some(seen);
        self.read()
    }

    /// Takes the output for what is known of it.
    pub(crate) fn read(&mut self) -> Result<(), Error> {
        let (reading, as_found) = (self.reading(), self.as_found);
        let (name, entries) = (self.output_name(), self.known.entries);
        if !reading.answer.fits(entries) {
            return Err(request(if reading.answer == Answer::Classes {
                format!(
                    "{name:?} has one entry, and the logits of classes are two or more; one number that stands for two \
                     classes is a binary answer"
                )
            } else {
                format!(
                    "{name:?} has {entries} entries, and a binary answer is one; several are the logits of classes, or \
                     labels"
                )
            }));
        }
        self.head = as_found.read(&mut self.build(), reading)?;
        Ok(())
    }

    /// Fails if the output holds answers at many places, unless it was said what it holds.
    pub fn check_single(&self) -> Result<(), Error> {
        let many = self.places.len() > 1 && self.known.asked.is_none();
        if !many {
            return Ok(());
        }
        let sizes: Vec<String> = self.places.iter().map(ToString::to_string).collect();
        Err(Error::ManyPlaces { output: self.output_name().to_owned(), sizes: sizes.join(" × ") })
    }

    /// What the output was taken for, in words, with what told it.
    pub fn taken_for(&self) -> String {
        let (name, entries) = (self.output_name(), self.known.entries);
        let Reading { answer, scale } = self.reading();
        let is_probability = scale == Scale::Probabilities;
        match (answer, self.known.ending) {
            (Answer::Classes, Ending::Softmax) => {
                format!("a classifier of {entries} classes, as {name:?} is a softmax")
            }
            (Answer::Classes, _) if is_probability => {
                format!("a classifier of {entries} classes, as rows of {name:?} sum to one")
            }
            (Answer::Classes, _) => {
                format!("a classifier of {entries} classes: the softmax of {name:?}")
            }
            (Answer::Binary, Ending::Sigmoid) => {
                format!("a classifier of two classes: {name:?} is a sigmoid")
            }
            (Answer::Binary, _) if is_probability => {
                format!("a classifier of two classes: {name:?} lies between 0 and 1")
            }
            (Answer::Binary, _) => format!("a classifier of two classes: the sigmoid of {name:?}"),
            (Answer::Labels, Ending::Sigmoid) => {
                format!("{entries} yes-or-no answers: {name:?} is a sigmoid of each")
            }
            (Answer::Labels, _) if is_probability => {
                format!("{entries} yes-or-no answers: {name:?} lies between 0 and 1")
            }
            (Answer::Labels, _) => format!("{entries} yes-or-no answers: the sigmoid of {name:?}"),
            (Answer::Numbers, _) if entries == 1 => format!("a regressor: {name:?} is one number"),
            (Answer::Numbers, _) => format!("a regressor: {name:?} is {entries} numbers"),
        }
    }

    /// What a value that was computed from the input is for other samples. Nothing that does not depend on the input is
    /// computed, or stored, twice.
    pub fn repeat(&mut self, value: Id, samples: Id) -> Result<Id, Error> {
        let (graph, bind) = (self.graph().clone(), self.bound(samples));
        Ok(self.build().graph_mut().absorb(&graph, &bind, &[value])?[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Known = Known {
        entries: 3,
        ending: Ending::Other,
        hint: None,
        asked: None,
        seen: None,
        found: None,
    };

    fn read(known: Known) -> (Answer, Scale) {
        let Reading { answer, scale } = known.reading();
        (answer, scale)
    }

    const SHARES: Option<Glimpse> = Some(Glimpse { entries: (0.0, 1.0), sums: (0.9999, 1.0001) });
    const SPREAD: Option<Glimpse> = Some(Glimpse { entries: (0.0, 1.0), sums: (0.2, 1.7) });
    const WIDE: Option<Glimpse> = Some(Glimpse { entries: (-4.0, 5.0), sums: (-3.0, 3.0) });

    #[test]
    fn values_tell_what_operators_do_not() {
        let cases = [
            (Known { seen: SHARES, ..OPEN }, (Answer::Classes, Scale::Probabilities)),
            (Known { seen: SPREAD, ..OPEN }, (Answer::Labels, Scale::Probabilities)),
            (Known { seen: WIDE, ..OPEN }, (Answer::Classes, Scale::Logits)),
            (Known { seen: SPREAD, entries: 1, ..OPEN }, (Answer::Binary, Scale::Probabilities)),
            (Known { seen: WIDE, entries: 1, ..OPEN }, (Answer::Numbers, Scale::Logits)),
            // What weights make has no bounds, wherever some values lie.
            (
                Known { seen: SPREAD, ending: Ending::Affine, ..OPEN },
                (Answer::Classes, Scale::Logits),
            ),
            (
                Known { seen: SPREAD, ending: Ending::Affine, entries: 1, ..OPEN },
                (Answer::Numbers, Scale::Logits),
            ),
            (
                Known { seen: SPREAD, ending: Ending::Amount, entries: 1, ..OPEN },
                (Answer::Numbers, Scale::Logits),
            ),
            (
                Known { seen: SHARES, ending: Ending::Amount, ..OPEN },
                (Answer::Classes, Scale::Probabilities),
            ),
        ];
        for (known, want) in cases {
            assert_eq!(read(known), want, "{known:?}");
        }
    }

    #[test]
    fn the_kind_of_estimator_and_the_user_come_before_values() {
        let numbers = Known { hint: Some(Hint::Numbers), seen: SHARES, ..OPEN };
        assert_eq!(read(numbers).0, Answer::Numbers);
        let one = Known { hint: Some(Hint::Classes), entries: 1, ..OPEN };
        assert_eq!(read(one), (Answer::Binary, Scale::Logits));
        let asked = Known { asked: Some(Answer::Classes), ..numbers };
        assert_eq!(read(asked), (Answer::Classes, Scale::Probabilities));
        let asked = Known { asked: Some(Answer::Labels), ending: Ending::Affine, ..OPEN };
        assert_eq!(read(asked), (Answer::Labels, Scale::Logits));
    }

    #[test]
    fn an_output_holds_what_fits_its_entries() {
        assert!(!Answer::Classes.fits(1) && !Answer::Binary.fits(3));
        assert!(Answer::Classes.fits(2) && Answer::Binary.fits(1) && Answer::Numbers.fits(3));
        assert!(Answer::ALL.iter().all(|a| Answer::named(a.name()) == Some(*a)));
    }
}
