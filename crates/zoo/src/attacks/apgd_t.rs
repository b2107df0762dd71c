//! Auto-PGD towards one class after another, on the targeted difference of logits ratio (Croce and Hein 2020).

use std::sync::Arc;

use ndarray::Array2;
use taste_choice::{Arguments, Choice};
use taste_detector::Error;

use super::{
    Attack, AttackKind, Find, Loss, Needs, Task, Watch, ascent::Plan, attack::count, targets,
    task::Found,
};

pub(super) const KIND: AttackKind = AttackKind {
    choice: Choice {
        name: "apgd-t",
        usage: "apgd-t[:targets=9,steps=100,restarts=1,rho=0.75,early]",
        about: "Auto-PGD towards each of the likeliest other classes in turn, on the targeted difference of logits ratio, \
                for samples that are not misled yet (Croce and Hein 2020); 900 gradients",
    },
    needs: Needs::Gradients,
    cost: 2700,
    read: |arguments| Ok(Arc::new(ApgdT::read(arguments)?)),
};

/// Auto-PGD towards classes.
#[derive(Clone, Debug)]
pub(super) struct ApgdT {
    pub(super) plan: Plan,
    pub(super) targets: usize,
}

impl Default for ApgdT {
    fn default() -> Self {
        Self { plan: Plan::default(), targets: targets::COUNT }
    }
}

impl ApgdT {
    fn read(arguments: &mut Arguments<'_>) -> Result<Self, taste_choice::Error> {
        let targets = count(arguments, "targets", targets::COUNT)?;
        Ok(Self { plan: Plan::read(arguments)?, targets })
    }
}

/// What is maximised in a model of so many classes.
fn loss(classes: usize) -> Loss {
    let fits = classes >= Loss::TargetedDlr.least_classes();
    if fits { Loss::TargetedDlr } else { Loss::Difference }
}

impl Find for ApgdT {
    fn find(&self, task: &Task<'_>, watch: &mut Watch<'_>) -> Result<Found, Error> {
        let loss = loss(task.victim.classes());
        targets::each(task, self.targets, watch, |task, aims, rank, watch| {
            self.plan.restarts(task, loss, aims, rank as u64, watch)
        })
    }
}

impl Attack for ApgdT {
    fn written(&self) -> String {
        format!("{}:targets={},{}", KIND.choice.name, self.targets, self.plan.written())
    }

    fn losses(&self, classes: usize) -> Vec<Loss> {
        vec![loss(classes)]
    }

    fn notes(&self, classes: usize) -> Result<Vec<String>, Error> {
        let mut notes = targets::notes(KIND.choice.name, self.targets, classes);
        let (used, wanted) = (loss(classes), Loss::TargetedDlr);
        if used != wanted {
            notes.push(format!(
                "{}: the {} needs {} classes, and the model has {classes}: the {} takes its place",
                KIND.choice.name,
                wanted.name(),
                wanted.least_classes(),
                used.name()
            ));
        }
        Ok(notes)
    }

    fn run(&self, task: &Task<'_>, watch: &mut Watch<'_>) -> Result<Array2<f32>, Error> {
        Ok(self.find(task, watch)?.points)
    }
}
