//! The fast gradient sign method (Goodfellow, Shlens and Szegedy 2015): x + ε·sign ∇CE, and ε·∇CE/‖∇CE‖ for L2.

use std::sync::Arc;

use ndarray::Array2;
use taste_choice::Choice;
use taste_detector::Error;

use super::{
    Attack, AttackKind, Loss, Needs, Task, Watch,
    task::{each_row, row},
};

pub(super) const KIND: AttackKind = AttackKind {
    choice: Choice {
        name: "fgsm",
        usage: "fgsm",
        about: "one step of length eps along the gradient of the cross-entropy, by its signs for linf (Goodfellow, Shlens \
                and Szegedy 2015); 1 gradient",
    },
    needs: Needs::Gradients,
    cost: 3,
    read: |_| Ok(Arc::new(Fgsm)),
};

#[derive(Debug)]
struct Fgsm;

impl Attack for Fgsm {
    fn written(&self) -> String {
        KIND.choice.name.to_owned()
    }

    fn losses(&self, _: usize) -> Vec<Loss> {
        vec![Loss::CrossEntropy]
    }

    fn run(&self, task: &Task<'_>, watch: &mut Watch<'_>) -> Result<Array2<f32>, Error> {
        let Task { victim, ball, x, labels, .. } = task;
        let slope = victim.slope(Loss::CrossEntropy, &x.view(), labels, labels)?;
        watch.flat(&slope.gradient);
        let mut moved = x.clone();
        each_row(&mut moved, |i, point| {
            ball.step(point, row(&slope.gradient, i), ball.eps());
            ball.project(task.row(i), point);
        });
        watch.reach(1.0)?;
        Ok(moved)
    }
}
