//! What a model's output is.

use taste_graph::{
    Build, Dim, Graph, Id, OpError,
    algebra::{Slice, Span},
};
use taste_ops::functions;

use super::Target;
use crate::error::{Error, request};

/// What a model's output is, as far as its last operator tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// The output, one row a sample.
    pub(crate) output: Id,
    /// What softmax is or would be applied to.
    pub(crate) logits: Id,
    /// Columns of the output.
    pub(crate) entries: usize,
    /// Columns of the logits.
    pub(crate) width: usize,
    /// Whether the logits are those of classes.
    pub(crate) has_classes: bool,
    /// Whether the output is softmax of the logits already.
    pub(crate) softmax_inside: bool,
}

impl Head {
    /// Looks at an output; it becomes a matrix with one row a sample.
    pub(crate) fn of(graph: &mut Graph, name: &str, output: Id) -> Result<Self, Error> {
        let shape = graph.fact(output).shape.clone();
        let (rows, rest) = shape.split_first().map_or((Dim::from(1), &shape[..]), |(r, s)| (*r, s));
        let width = rest
            .iter()
            .map(|d| d.as_fixed().and_then(|d| usize::try_from(d).ok()))
            .try_fold(1usize, |p, d| p.checked_mul(d?))
            .ok_or_else(|| {
                request(format!(
                    "output {name:?} has shape {}: only its first axis may depend on the batch",
                    graph.fact(output)
                ))
            })?;
        if width == 0 {
            return Err(request(format!("output {name:?} is empty: {}", graph.fact(output))));
        }
        let inside = functions::as_softmax(graph, output)?;
        let (output, logits) = inside.unwrap_or((output, output));
        let mut b = Build::new(graph);
        let matrix = [rows, Dim::from(width)];
        let (output, logits) = (b.reshape(output, &matrix)?, b.reshape(logits, &matrix)?);
        let (has_classes, softmax_inside) = (width > 1, inside.is_some());
        Ok(Self { output, logits, entries: width, width, has_classes, softmax_inside })
    }

    /// An entry of every row of a matrix: of a class, or of the likeliest one.
    pub(super) fn class(
        &self,
        b: &mut Build<'_>,
        matrix: Id,
        class: Option<usize>,
    ) -> Result<Id, Error> {
        if let Some(k) = class {
            Ok(Self::column(b, matrix, k)?)
        } else {
            let mask = functions::first_max(b, self.logits, 1)?;
            let picked = b.mul(matrix, mask)?;
            Ok(row_sum(b, picked)?)
        }
    }

    /// A column of a matrix.
    pub(super) fn column(b: &mut Build<'_>, matrix: Id, k: usize) -> Result<Id, Error> {
        let width = b.fact(matrix).shape[1].at(1);
        if k >= width {
            return Err(request(format!(
                "there is no class {k}: the output has {width} entries, counted from 0"
            )));
        }
        let column = b.push(Slice::along(1, Span { start: k, step: 1, len: 1 }), &[matrix])?;
        let rows = b.fact(column).shape[0];
        Ok(b.reshape(column, &[rows])?)
    }

    /// The target that users expect when they name none.
    pub(crate) fn default_target(&self) -> Target {
        if self.has_classes { Target::prob(None) } else { Target::output(0) }
    }

    /// Builds f: one scalar a sample, or one a class.
    pub(crate) fn build(&self, graph: &mut Graph, target: Target) -> Result<Id, Error> {
        let kind = target.kind();
        if kind.needs_classes && !self.has_classes {
            return Err(request(match self.entries {
                1 => format!(
                    "target {target} needs an output with one entry a class, and this one has a single entry: use \
                     output:0"
                ),
                n => format!(
                    "target {target} needs the classes of a classifier, and this output is {n} numbers or labels: use \
                     output:0 to output:{}",
                    n - 1
                ),
            }));
        }
        (kind.build)(self, &mut Build::new(graph), target.class())
    }

    /// Class probabilities as a matrix.
    pub(crate) fn probabilities(&self, b: &mut Build<'_>) -> Result<Id, OpError> {
        let centred = self.centred(b)?;
        functions::softmax(b, centred, 1)
    }

    /// Logarithms of class probabilities as a matrix.
    pub(super) fn log_probabilities(&self, b: &mut Build<'_>) -> Result<Id, OpError> {
        let centred = self.centred(b)?;
        functions::log_softmax(b, centred, 1)
    }

    /// Logits relative to the largest. Probabilities are the same; in their derivatives 1 − p of a likely class would
    /// be what rounding leaves of it, and is now a sum over the other classes.
    fn centred(&self, b: &mut Build<'_>) -> Result<Id, OpError> {
        let first = functions::first_max(b, self.logits, 1)?;
        let product = b.mul(self.logits, first)?;
        let largest = b.sum(product, &[1])?;
        b.sub(self.logits, largest)
    }
}

/// The sum of each row of a matrix.
pub(crate) fn row_sum(b: &mut Build<'_>, matrix: Id) -> Result<Id, OpError> {
    let sum = b.sum(matrix, &[1])?;
    let rows = b.fact(sum).shape[0];
    b.reshape(sum, &[rows])
}
