//! Auto-PGD on the difference of logits ratio (Croce and Hein 2020).

use std::sync::Arc;

use ndarray::Array2;
use taste_choice::Choice;
use taste_detector::{Error, refused};

use super::{Attack, AttackKind, Loss, Needs, Task, Watch, ascent::Plan};

pub(super) const KIND: AttackKind = AttackKind {
    choice: Choice {
        name: "apgd-dlr",
        usage: "apgd-dlr[:steps=100,restarts=1,rho=0.75,early]",
        about: "the same on the difference of logits ratio, which does not depend on the scale of logits; three classes or \
                more (Croce and Hein 2020); 100 gradients",
    },
    needs: Needs::Gradients,
    cost: 300,
    read: |arguments| Ok(Arc::new(ApgdDlr { plan: Plan::read(arguments)? })),
};

#[derive(Debug)]
struct ApgdDlr {
    plan: Plan,
}

impl Attack for ApgdDlr {
    fn written(&self) -> String {
        format!("{}:{}", KIND.choice.name, self.plan.written())
    }

    fn losses(&self, _: usize) -> Vec<Loss> {
        vec![Loss::Dlr]
    }

    fn notes(&self, classes: usize) -> Result<Vec<String>, Error> {
        let least = Loss::Dlr.least_classes();
        if classes < least {
            return Err(refused(format!(
                "the attack {} needs {least} classes or more, and the model has {classes}",
                KIND.choice.name
            )));
        }
        Ok(Vec::new())
    }

    fn run(&self, task: &Task<'_>, watch: &mut Watch<'_>) -> Result<Array2<f32>, Error> {
        Ok(self.plan.restarts(task, Loss::Dlr, &task.labels, 0, watch)?.points)
    }
}
