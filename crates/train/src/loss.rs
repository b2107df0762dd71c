//! What training makes small.

use taste_graph::{Build, Dim, Id, OpError};
use taste_ops::functions;

/// A loss: the sum over the batch of something for each sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// −Σ target · log softmax(y) over classes.
    CrossEntropy,
    /// The mean of (y − target)² over the entries of a sample.
    Squares,
}

impl Loss {
    /// Adds the loss of a batch, as one number.
    pub(crate) fn build(self, b: &mut Build<'_>, y: Id, target: Id) -> Result<Id, OpError> {
        let axes: Vec<usize> = (0..b.fact(y).rank()).collect();
        let total = match self {
            Self::CrossEntropy => {
                let log = functions::log_softmax(b, y, 1)?;
                let picked = b.mul(log, target)?;
                let sum = b.sum(picked, &axes)?;
                b.neg(sum)?
            }
            Self::Squares => {
                let entries: usize = b.fact(y).shape[1..].iter().map(|d| d.at(0)).product();
                let gap = b.sub(y, target)?;
                let squares = b.square(gap)?;
                let sum = b.sum(squares, &axes)?;
                b.scale(sum, 1.0 / entries.max(1) as f64)?
            }
        };
        b.reshape(total, &[Dim::from(1)])
    }
}
