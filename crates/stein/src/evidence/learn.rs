//! What is learnt of the training data: densities of features at the cuts, and what moves a sample toward the data.

use ndarray::{Array1, Array2, Axis, s};
use taste_detector::{
    Job,
    passes::{Drawn, Gather, Gathered, Watch},
};
use taste_engine::{Answer, Feature, LinearHead};
use taste_graph::{
    Dim, Id, Tensor,
    diff::{Structure, structure},
};
use taste_ops::functions;

use super::{
    columns::Columns,
    density::{ClassGaussian, any_varies},
};
use crate::{
    Error,
    fields::{Dct, Layout},
};

/// Training rows that densities are fitted to, and entries of them, at most.
const MOST_ROWS: usize = 50_000;
const MOST_ENTRIES: usize = 1 << 26;

const ROWS: &str = "features";
const RANGE: &str = "range";
const SPECTRUM: &str = "spectrum";

/// What the method looks at in the model.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) answer: Answer,
    /// Logits or outputs: N × K.
    pub(super) values: Id,
    /// K.
    pub(super) width: usize,
    /// Features from the input to the output; the last are those of the last linear layer. Empty if the model has none.
    pub(super) cuts: Vec<Feature>,
    /// Whether there is a layer between the input and the last linear layer.
    pub(super) has_hidden_layer: bool,
    /// The values as a linear function of the last features, if they are one.
    pub(super) head: Option<LinearHead>,
    pub(super) samples: Kind,
}

/// What samples are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Table,
    Image(Layout),
    /// Neither: sequences, volumes.
    Other,
}

/// What the training data gave.
#[derive(Clone, Debug)]
pub(super) struct Learnt {
    /// For every cut.
    pub(super) densities: Vec<ClassGaussian>,
    pub(super) input: Input,
    /// The mean and the deviation of every output, for regressors.
    pub(super) outputs: (Array1<f64>, Array1<f64>),
    /// Whether classes are those of labels, not the model's own answers.
    pub(super) by_labels: bool,
}

/// What is known of the samples themselves.
#[derive(Clone, Debug)]
pub(super) enum Input {
    Table(Box<Columns>),
    Image(Box<Dct>),
    None,
}

impl Subject {
    pub(super) fn new(job: &mut Job<'_>) -> Result<Self, Error> {
        let (answer, values) = (job.draft.answer(), job.draft.logits());
        let features = job.settings.features.as_deref();
        // A model without a linear layer is judged by its answers alone, unless features were asked for.
        let cuts = match job.draft.cuts(features) {
            Err(e) if features.is_some() => return Err(e.into()),
            other => other.unwrap_or_default(),
        };
        let x = job.draft.input();
        let has_hidden_layer = match cuts.last() {
            Some(last) => {
                let shapes = structure(job.draft.graph(), &[last.id], x)?;
                // What trees answer goes in steps.
                shapes.get(last.id.index()).is_none_or(|s| *s != Structure::Affine)
            }
            None => true,
        };
        let head = match cuts.last() {
            Some(last) => {
                let engine = job.engine;
                job.draft.linear_head(last, values, &engine.backend, engine.threads)?
            }
            None => None,
        };
        let shape = job.draft.sample_shape();
        // A list of ids is no table: their numbers say nothing.
        let parts = job.draft.parts();
        let is_list = parts.iter().all(|p| p.is_whole) && parts.iter().any(|p| p.width > 1);
        let samples = match (shape.len(), Layout::of(&shape)) {
            (1, _) if is_list => Kind::Other,
            (1, _) => Kind::Table,
            (_, Ok(layout)) => Kind::Image(layout),
            _ => Kind::Other,
        };
        let width = job.draft.width();
        Ok(Self { answer, values, width, cuts, has_hidden_layer, head, samples })
    }

    /// What one pass over training samples gathers: rows of features, of the answer and, for tables, of the sample.
    pub(super) fn watches(&self, job: &mut Job<'_>) -> Result<Vec<Watch>, Error> {
        let (x, seed) = (job.draft.input(), job.settings.seed);
        let mut b = job.draft.build();
        let mut columns: Vec<Id> = self.cuts.iter().map(|c| c.id).collect();
        columns.push(if self.answer.has_classes() {
            let likeliest = functions::first_max(&mut b, self.values, 1)?;
            let numbers = (0..self.width).map(|k| k as f64).collect();
            let numbers = Tensor::floats(&[1, self.width], numbers)?;
            let numbers = b.graph_mut().constant(numbers);
            let picked = b.mul(likeliest, numbers)?;
            b.sum(picked, &[1])?
        } else {
            self.values
        });
        if let Kind::Table = self.samples {
            columns.push(x);
        }
        let row = functions::concat(&mut b, &columns, 1)?;
        let width = b.fact(row).shape[1].at(1);
        let most = MOST_ROWS.min(MOST_ENTRIES / width.max(1)).max(2);
        let mut watches = vec![
            Watch::value(ROWS, row, Gather::Rows { most, seed, whole: false }),
            Watch::input(RANGE, Gather::Range),
        ];
        if let Kind::Image(layout) = self.samples {
            let spectrum = layout.spectrum(&mut b, x)?;
            watches.push(Watch::value(SPECTRUM, spectrum, Gather::Moments));
        }
        Ok(watches)
    }

    /// What the pass gave. Earlier cuts at which nothing varies are left out, such as the mean over classes of what trees give.
    pub(super) fn learn(&mut self, seen: &Gathered) -> Result<Learnt, Error> {
        let drawn = seen.rows(ROWS)?;
        let rows = drawn.values.mapv(f64::from);
        let mut at = 0;
        let mut take = |width: usize| {
            at += width;
            rows.slice(s![.., at - width..at]).to_owned()
        };
        let last = self.cuts.len().saturating_sub(1);
        let taken = self.cuts.iter().enumerate().map(|(i, cut)| (i, cut.clone(), take(cut.width)));
        let told = taken.filter(|(i, _, rows)| *i == last || any_varies(rows));
        let (cuts, features): (Vec<Feature>, Vec<Array2<f64>>) =
            told.map(|(_, cut, rows)| (cut, rows)).unzip();
        let answers = take(if self.answer.has_classes() { 1 } else { self.width });
        let (classes, by_labels) = self.classes(&answers, drawn);
        let classes = classes.as_deref().map(|c| (c, self.width));
        let densities = features
            .iter()
            .map(|rows| ClassGaussian::fit(rows, classes))
            .collect::<Result<Vec<_>, _>>()?;
        self.cuts = cuts;
        let input = match self.samples {
            Kind::Table => {
                let width = rows.ncols() - at;
                let own = rows.slice(s![.., at..at + width]).to_owned();
                Input::Table(Box::new(Columns::fit(&own, seen.range(RANGE)?)?))
            }
            Kind::Image(layout) => {
                let columns = seen.moments(SPECTRUM)?.mean().unwrap_or_default();
                Input::Image(Box::new(Dct::fit(&layout, columns, seen.range(RANGE)?)?))
            }
            Kind::Other => Input::None,
        };
        let mean = answers.mean_axis(Axis(0)).unwrap_or_default();
        // Below what single precision resolves an output does not vary.
        let deviation = ndarray::Zip::from(&answers.std_axis(Axis(0), 0.0))
            .and(&mean)
            .map_collect(|d, m| if *d > 1e-6 * m.abs() { *d } else { 0.0 });
        Ok(Learnt { densities, input, outputs: (mean, deviation), by_labels })
    }

    /// The classes of samples: by their labels where all have one that the model knows, else what the model answers.
    fn classes(&self, answers: &Array2<f64>, drawn: &Drawn) -> (Option<Vec<usize>>, bool) {
        if !self.answer.has_classes() {
            return (None, false);
        }
        let known = |l: &i64| usize::try_from(*l).ok().filter(|l| *l < self.width);
        let labels: Option<Vec<usize>> =
            drawn.labels.as_ref().and_then(|labels| labels.iter().map(known).collect());
        if let Some(labels) = labels {
            return (Some(labels), true);
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a class")]
        let own = |v: &f64| (v.round().max(0.0) as usize).min(self.width - 1);
        (Some(answers.iter().map(own).collect()), false)
    }

    /// A value of the graph as N × columns.
    pub(super) fn flat(job: &mut Job<'_>, id: Id) -> Result<Id, Error> {
        let shape = job.draft.build().fact(id).shape.clone();
        let width: usize = shape.iter().skip(1).map(|d| d.at(1)).product();
        Ok(job.draft.build().reshape(id, &[shape[0], Dim::from(width)])?)
    }
}
