//! What attacks maximise, as functions of the logits z of a sample with label y, in a graph.

use taste_graph::{Build, Id, OpError};
use taste_ops::functions;

/// A function of the logits, which is large where the label is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The cross-entropy, `−log softmax(z)_y`.
    CrossEntropy,
    /// The difference of logits ratio of Croce and Hein (2020), `−(z_y − max_{j≠y} z_j)/(z_π1 − z_π3)` with logits
    /// sorted from the largest on; for three classes or more.
    Dlr,
    /// The same towards a class t: `−(z_y − z_t)/(z_π1 − (z_π3 + z_π4)/2)`; for four classes or more.
    TargetedDlr,
    /// `z_t − z_y`.
    Difference,
}

/// Keeps quotients finite.
const TINY: f64 = 1e-12;
/// Beyond all logits.
const FAR: f64 = 1e9;

impl Loss {
    /// Every loss.
    pub const ALL: [Self; 4] = [Self::CrossEntropy, Self::Dlr, Self::TargetedDlr, Self::Difference];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::CrossEntropy => "cross-entropy",
            Self::Dlr => "difference of logits ratio",
            Self::TargetedDlr => "targeted difference of logits ratio",
            Self::Difference => "difference of two logits",
        }
    }

    /// How many classes it needs.
    pub fn least_classes(self) -> usize {
        match self {
            Self::CrossEntropy | Self::Difference => 2,
            Self::Dlr => 3,
            Self::TargetedDlr => 4,
        }
    }

    /// Whether it looks at a class that the attack aims at.
    pub fn is_targeted(self) -> bool {
        matches!(self, Self::TargetedDlr | Self::Difference)
    }

    /// The loss (N × 1) of logits (N × K); `label` and `target` are 1 at a class and 0 elsewhere (N × K).
    pub(super) fn build(
        self,
        b: &mut Build<'_>,
        logits: Id,
        label: Id,
        target: Id,
    ) -> Result<Id, OpError> {
        match self {
            Self::CrossEntropy => {
                let log_p = functions::log_softmax(b, logits, 1)?;
                let own = at(b, log_p, label)?;
                b.neg(own)
            }
            Self::Difference => towards(b, logits, label, target),
            Self::Dlr => {
                let away = b.scale(label, -FAR)?;
                let others = b.add(logits, away)?;
                let [best, _] = functions::top_k(b, others, 1, 1)?;
                let own = at(b, logits, label)?;
                let lead = b.sub(best, own)?;
                let [top, _] = functions::top_k(b, logits, 1, 3)?;
                let (first, third) = (place(b, top, 0)?, place(b, top, 2)?);
                let spread = b.sub(first, third)?;
                quotient(b, lead, spread)
            }
            Self::TargetedDlr => {
                let lead = towards(b, logits, label, target)?;
                let [top, _] = functions::top_k(b, logits, 1, 4)?;
                let (third, fourth) = (place(b, top, 2)?, place(b, top, 3)?);
                let both = b.add(third, fourth)?;
                let (first, half) = (place(b, top, 0)?, b.scale(both, 0.5)?);
                let spread = b.sub(first, half)?;
                quotient(b, lead, spread)
            }
        }
    }
}

/// The value at the class that is marked.
fn at(b: &mut Build<'_>, values: Id, mark: Id) -> Result<Id, OpError> {
    let own = b.mul(values, mark)?;
    b.sum(own, &[1])
}

/// `z_t − z_y`.
fn towards(b: &mut Build<'_>, logits: Id, label: Id, target: Id) -> Result<Id, OpError> {
    let way = b.sub(target, label)?;
    at(b, logits, way)
}

fn place(b: &mut Build<'_>, values: Id, position: usize) -> Result<Id, OpError> {
    functions::slice(b, values, 1, position, 1)
}

fn quotient(b: &mut Build<'_>, above: Id, below: Id) -> Result<Id, OpError> {
    let below = b.offset(below, TINY)?;
    let inverse = functions::reciprocal(b, below)?;
    b.mul(above, inverse)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use taste_graph::{Dim, Fact, Graph, Tensor, diff};

    use super::*;

    const LOGITS: [[f64; 5]; 3] =
        [[1.0, 4.0, -2.0, 0.5, 3.0], [0.2, -0.3, 0.9, 2.0, 1.1], [5.0, 1.0, 2.5, -4.0, 0.0]];
    const LABELS: [usize; 3] = [1, 0, 0];
    const TARGETS: [usize; 3] = [4, 3, 2];

    fn by_hand(loss: Loss, z: &[f64], y: usize, t: usize) -> f64 {
        let mut sorted = z.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let other = z.iter().enumerate().filter(|(j, _)| *j != y).map(|(_, v)| *v);
        match loss {
            Loss::CrossEntropy => z.iter().map(|v| (v - z[y]).exp()).sum::<f64>().ln(),
            Loss::Difference => z[t] - z[y],
            Loss::Dlr => -(z[y] - other.fold(f64::MIN, f64::max)) / (sorted[0] - sorted[2]),
            Loss::TargetedDlr => -(z[y] - z[t]) / (sorted[0] - 0.5 * (sorted[2] + sorted[3])),
        }
    }

    #[test]
    fn losses_and_their_gradients_are_those_of_the_formulas() {
        let flat: Vec<f64> = LOGITS.concat();
        let marks = |classes: [usize; 3]| -> Tensor {
            let ones = (0..15).map(|i| f64::from(u8::from(classes[i / 5] == i % 5)));
            Tensor::floats(&[3, 5], ones.collect()).expect("marks")
        };
        for loss in Loss::ALL {
            let mut graph = Graph::new();
            let fact = Fact::float(vec![Dim::BATCH, Dim::fixed(5)]);
            let [z, y, t] = ["z", "y", "t"].map(|name| graph.input(name, fact.clone()));
            let mut b = Build::new(&mut graph);
            let value = loss.build(&mut b, z, y, t).expect("a loss");
            let slope = diff::gradient(&mut b, value, z).expect("a gradient").expect("it depends");
            let logits = Tensor::floats(&[3, 5], flat.clone()).expect("logits");
            let feeds = HashMap::from([(z, logits), (y, marks(LABELS)), (t, marks(TARGETS))]);
            let found = graph.eval(&[value, slope], &feeds, 3).expect("values");
            let [values, slopes] = [0, 1].map(|i| {
                found[i].as_float().expect("floats").iter().copied().collect::<Vec<f64>>()
            });
            for i in 0..3 {
                let of = |z: &[f64]| by_hand(loss, z, LABELS[i], TARGETS[i]);
                assert!((values[i] - of(&LOGITS[i])).abs() < 1e-9, "{loss:?} {i}");
                for k in 0..5 {
                    const STEP: f64 = 1e-5;
                    let (mut up, mut down) = (LOGITS[i], LOGITS[i]);
                    up[k] += STEP;
                    down[k] -= STEP;
                    let wanted = (of(&up) - of(&down)) / (2.0 * STEP);
                    let got = slopes[5 * i + k];
                    assert!((got - wanted).abs() < 1e-6, "{loss:?} {i} {k}: {got} for {wanted}");
                }
            }
        }
    }
}
