//! The classifier under attack, in an engine: its logits, and losses of them with their gradients in the sample.

use std::sync::OnceLock;

use ndarray::{Array2, ArrayD, ArrayView2, ArrayViewD, Axis, CowArray, Ix2, IxDyn};
use taste_detector::{Engine, Error, refused};
use taste_engine::{Draft, Model, Request, Scale, Session, Value};
use taste_graph::{Build, Dim, Fact, Id, diff};

use super::Loss;

/// A classifier that can be attacked. Graphs of losses are made when they are first asked for, once each.
#[derive(Debug)]
pub struct Victim {
    name: String,
    draft: Draft,
    logits: Id,
    engine: Engine,
    forward: Session,
    losses: [OnceLock<Session>; Loss::ALL.len()],
    classes: usize,
    fingerprint: Option<String>,
    /// What samples are made of before the model sees them.
    normalised: Option<Normalised>,
}

/// What is subtracted from every entry of a sample, and what it is divided by then.
#[derive(Debug)]
struct Normalised {
    mean: Vec<f32>,
    std: Vec<f32>,
}

/// A loss of every sample.
#[derive(Debug)]
pub(super) struct Slope {
    pub(super) logits: Array2<f32>,
    pub(super) loss: Vec<f32>,
    /// In the sample, one row each.
    pub(super) gradient: Array2<f32>,
}

/// The names of what is fed and computed beside the model.
const LABEL: &str = "attack_label";
const TARGET: &str = "attack_target";

impl Victim {
    /// A model in an engine; the request names the output if it is not the first, shapes that the file leaves open, and the
    /// memory that values may take.
    pub fn new(model: &Model, asked: &Request, engine: &Engine) -> Result<Self, Error> {
        let mut draft = model.draft(asked)?;
        draft.reserve(&[LABEL, TARGET]);
        draft.check_single()?;
        if !draft.answer().has_classes() {
            return Err(refused(format!(
                "{}: attacks are for classifiers, and the model is taken for {}",
                model.name(),
                draft.taken_for()
            )));
        }
        let (logits, classes) = (draft.logits(), draft.width());
        let ends = [("attack_logits".to_owned(), logits)];
        let session = engine.backend.compile(draft.graph(), &ends, engine.threads)?;
        let forward = session.with_batch(draft.batch());
        Ok(Self {
            name: model.name().to_owned(),
            logits,
            engine: engine.clone(),
            forward,
            losses: Default::default(),
            classes,
            fingerprint: model.onnx().sha256(),
            draft,
            normalised: None,
        })
    }

    /// Behind a normalisation: the model sees (x − mean) / std, each one number or one for every channel, and attacks see and
    /// move x. So distances are those of pixels, whatever the model wants.
    pub fn with_normalisation(mut self, mean: &[f32], std: &[f32]) -> Result<Self, Error> {
        if mean.is_empty() && std.is_empty() {
            return Ok(self);
        }
        let shape = self.sample_shape();
        let each = |what: &str, numbers: &[f32], otherwise: f32| {
            let entries = shape.iter().product();
            let channels = numbers.len();
            match numbers {
                [] => Ok(vec![otherwise; entries]),
                [one] => Ok(vec![*one; entries]),
                many if shape.first() == Some(&channels) => {
                    let pixels = entries / channels.max(1);
                    Ok((0..entries).map(|entry| many[entry / pixels]).collect())
                }
                many if shape.last() == Some(&channels) => {
                    Ok((0..entries).map(|entry| many[entry % channels]).collect())
                }
                _ => Err(refused(format!(
                    "{what} has {channels} numbers, and samples of shape {shape:?} do not have as many channels"
                ))),
            }
        };
        let (mean, std) = (each("mean", mean, 0.0)?, each("std", std, 1.0)?);
        self.normalised = Some(Normalised { mean, std });
        Ok(self)
    }

    /// The model's name, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many classes it tells apart.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The sizes of one sample.
    pub fn sample_shape(&self) -> Vec<usize> {
        self.draft.sample_shape()
    }

    /// The SHA-256 of the model's file, if it was read from one.
    pub(crate) fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// What is subtracted from every entry before the model sees it, and what it is divided by then.
    pub(crate) fn normalisation(&self) -> Option<(&[f32], &[f32])> {
        self.normalised.as_ref().map(|n| (&n.mean[..], &n.std[..]))
    }

    /// Whether the output is taken for probabilities, so that losses look at their logarithms or at what they are made of.
    pub(super) fn sees_probabilities(&self) -> bool {
        self.draft.reading().scale == Scale::Probabilities
    }

    /// How many samples at once stay within the memory asked for, with a loss and its gradient if the attack needs one.
    pub(super) fn chunk(&self, loss: Option<Loss>) -> Result<usize, Error> {
        Ok(match loss {
            None => self.draft.chunk(&[("attack_logits".to_owned(), self.logits)]),
            Some(loss) => {
                let (draft, ends) = self.with_loss(loss)?;
                draft.chunk(&ends)
            }
        })
    }

    /// The logits of samples, one a row.
    pub(super) fn logits(&self, x: &ArrayView2<'_, f32>) -> Result<Array2<f32>, Error> {
        if x.nrows() == 0 {
            return Ok(Array2::zeros((0, self.classes)));
        }
        let seen = self.seen(x);
        let shaped = self.shaped(&seen)?;
        let mut found = self.forward.run(&[(self.draft.input_name(), shaped)])?;
        rows(found.remove(0))
    }

    /// A loss of samples with its gradient; targets matter to targeted losses alone.
    pub(super) fn slope(
        &self,
        loss: Loss,
        x: &ArrayView2<'_, f32>,
        labels: &[usize],
        targets: &[usize],
    ) -> Result<Slope, Error> {
        if x.nrows() == 0 {
            let (logits, gradient) = (Array2::zeros((0, self.classes)), x.to_owned());
            return Ok(Slope { logits, loss: Vec::new(), gradient });
        }
        let session = self.session(loss)?;
        let seen = self.seen(x);
        let shaped = self.shaped(&seen)?;
        let (label, target) = (self.marks(labels), self.marks(targets));
        let (label, target) = (label.view().into_dyn(), target.view().into_dyn());
        let mut feeds = vec![(self.draft.input_name(), shaped), (LABEL, label)];
        if loss.is_targeted() {
            feeds.push((TARGET, target));
        }
        let mut found = session.run(&feeds)?.into_iter();
        let mut next = || found.next().ok_or_else(|| refused("the engine left a result out"));
        let (logits, loss, mut gradient) = (rows(next()?)?, rows(next()?)?, rows(next()?)?);
        if let Some(Normalised { std, .. }) = &self.normalised {
            for mut row in gradient.outer_iter_mut() {
                row.iter_mut().zip(std).for_each(|(slope, std)| *slope /= std);
            }
        }
        Ok(Slope { logits, loss: loss.into_iter().collect(), gradient })
    }

    /// Makes the graph of a loss, so that a model that can't be differentiated is found early.
    pub(super) fn session(&self, loss: Loss) -> Result<&Session, Error> {
        let place = &self.losses[loss as usize];
        if let Some(session) = place.get() {
            return Ok(session);
        }
        let (draft, ends) = self.with_loss(loss)?;
        let session = self.engine.backend.compile(draft.graph(), &ends, self.engine.threads)?;
        Ok(place.get_or_init(|| session.with_batch(draft.batch())))
    }

    /// The graph with a loss: logits, the loss and its gradient.
    fn with_loss(&self, loss: Loss) -> Result<(Draft, Vec<(String, Id)>), Error> {
        let mut draft = self.draft.clone();
        let fact = Fact::float(vec![draft.rows(), Dim::from(self.classes)]);
        let x = draft.input();
        let mut b = draft.build();
        let label = b.graph_mut().input(LABEL, fact.clone());
        let target = if loss.is_targeted() { b.graph_mut().input(TARGET, fact) } else { label };
        let (value, gradient) = self.gradient(&mut b, loss, (x, label, target))?;
        let named =
            [("attack_logits", self.logits), ("attack_loss", value), ("attack_gradient", gradient)];
        let ends = named.into_iter().map(|(name, id)| (name.to_owned(), id)).collect();
        Ok((draft, ends))
    }

    fn gradient(
        &self,
        b: &mut Build<'_>,
        loss: Loss,
        (x, label, target): (Id, Id, Id),
    ) -> Result<(Id, Id), Error> {
        let value = loss.build(b, self.logits, label, target)?;
        let found = diff::gradient(b, value, x).map_err(|cause| {
            refused(format!("{}: the model can't be differentiated: {cause}", self.name))
        })?;
        let gradient = found.ok_or_else(|| {
            refused(format!(
                "{}: the output {:?} does not change with the input in a way that has a gradient",
                self.name,
                self.draft.output_name()
            ))
        })?;
        Ok((value, gradient))
    }

    /// Rows as the model sees them.
    fn seen<'a>(&self, x: &'a ArrayView2<'_, f32>) -> CowArray<'a, f32, Ix2> {
        let Some(Normalised { mean, std }) = &self.normalised else { return x.view().into() };
        let mut seen = x.to_owned();
        for mut row in seen.outer_iter_mut() {
            row.iter_mut().zip(mean).zip(std).for_each(|((v, mean), std)| *v = (*v - mean) / std);
        }
        seen.into()
    }

    /// Rows as samples of the model's shape.
    fn shaped<'a>(&self, x: &'a CowArray<'_, f32, Ix2>) -> Result<ArrayViewD<'a, f32>, Error> {
        let shape: Vec<usize> = std::iter::once(x.nrows()).chain(self.sample_shape()).collect();
        x.view().into_shape_with_order(IxDyn(&shape)).map_err(|e| refused(e.to_string()))
    }

    /// 1 at a class of every sample.
    fn marks(&self, classes: &[usize]) -> Array2<f32> {
        let mut marks = Array2::zeros((classes.len(), self.classes));
        for (mut row, &class) in marks.axis_iter_mut(Axis(0)).zip(classes) {
            row[class] = 1.0;
        }
        marks
    }
}

/// A result with one row a sample.
fn rows(value: Value) -> Result<Array2<f32>, Error> {
    let array: ArrayD<f32> = match value {
        Value::F32(array) => array,
        other => other.to_f32(),
    };
    let count = array.shape().first().copied().unwrap_or(0);
    let width = array.len() / count.max(1);
    let array =
        if array.is_standard_layout() { array } else { array.as_standard_layout().into_owned() };
    array.into_shape_with_order((count, width)).map_err(|e| refused(e.to_string()))
}

/// The class of every row: the first of the largest logits.
pub(super) fn predictions(logits: &Array2<f32>) -> Vec<usize> {
    logits.outer_iter().map(|row| first_largest(row.iter().copied())).collect()
}

fn first_largest(values: impl Iterator<Item = f32>) -> usize {
    let best = values.enumerate().reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map_or(0, |(class, _)| class)
}

/// The classes of a sample from the largest logit on, without its label.
pub(super) fn rivals<'a>(logits: impl IntoIterator<Item = &'a f32>, label: usize) -> Vec<usize> {
    let mut order: Vec<(usize, f32)> = logits.into_iter().copied().enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    order.into_iter().map(|(class, _)| class).filter(|class| *class != label).collect()
}
