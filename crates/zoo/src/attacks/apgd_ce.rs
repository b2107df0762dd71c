//! Auto-PGD on the cross-entropy (Croce and Hein 2020).

use std::sync::Arc;

use ndarray::Array2;
use taste_choice::{Arguments, Choice};
use taste_detector::Error;

use super::{Attack, AttackKind, Find, Loss, Needs, Task, Watch, ascent::Plan, task::Found};

pub(super) const KIND: AttackKind = AttackKind {
    choice: Choice {
        name: "apgd-ce",
        usage: "apgd-ce[:steps=100,restarts=1,rho=0.75,early]",
        about: "Auto-PGD on the cross-entropy, for samples that the model is right about: steps with momentum that are halved \
                where the loss stops rising; the last point that misleads counts, or with early the first (Croce and Hein \
                2020); 100 gradients",
    },
    needs: Needs::Gradients,
    cost: 300,
    read: |arguments| Ok(Arc::new(ApgdCe::read(arguments)?)),
};

/// Auto-PGD on the cross-entropy.
#[derive(Clone, Debug, Default)]
pub(super) struct ApgdCe {
    pub(super) plan: Plan,
}

impl ApgdCe {
    fn read(arguments: &mut Arguments<'_>) -> Result<Self, taste_choice::Error> {
        Ok(Self { plan: Plan::read(arguments)? })
    }
}

impl Find for ApgdCe {
    fn find(&self, task: &Task<'_>, watch: &mut Watch<'_>) -> Result<Found, Error> {
        self.plan.restarts(task, Loss::CrossEntropy, &task.labels, 0, watch)
    }
}

impl Attack for ApgdCe {
    fn written(&self) -> String {
        format!("{}:{}", KIND.choice.name, self.plan.written())
    }

    fn losses(&self, _: usize) -> Vec<Loss> {
        vec![Loss::CrossEntropy]
    }

    fn run(&self, task: &Task<'_>, watch: &mut Watch<'_>) -> Result<Array2<f32>, Error> {
        Ok(self.find(task, watch)?.points)
    }
}
