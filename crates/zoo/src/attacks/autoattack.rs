//! `AutoAttack`, version "standard" (Croce and Hein 2020): four attacks one after the other, each for the samples that the
//! model is still right about.

use std::sync::Arc;

use ndarray::Array2;
use taste_choice::{Arguments, Choice};
use taste_detector::Error;

use super::{
    Attack, AttackKind, Find, Loss, Needs, Task, Watch,
    apgd_ce::{self, ApgdCe},
    apgd_t::{self, ApgdT},
    ascent::Plan,
    attack::count,
    fab_t::{self, FabT},
    square::{self, Square},
    task::Found,
};

pub(super) const KIND: AttackKind = AttackKind {
    choice: Choice {
        name: "autoattack",
        usage: "autoattack[:steps=100,queries=5000,early]",
        about: "AutoAttack, version standard: apgd-ce, apgd-t, fab-t and square with their defaults, each for samples that \
                are not misled yet; with early a sample is done with at its first success (Croce and Hein 2020); up to \
                1900 gradients and 5900 answers",
    },
    needs: Needs::Gradients,
    cost: 11_600,
    read: |arguments| Ok(Arc::new(AutoAttack::read(arguments)?)),
};

#[derive(Debug)]
struct AutoAttack {
    steps: usize,
    queries: usize,
    early: bool,
    parts: [(AttackKind, Box<dyn Find>); 4],
}

impl AutoAttack {
    fn read(arguments: &mut Arguments<'_>) -> Result<Self, taste_choice::Error> {
        let steps = count(arguments, "steps", Plan::default().steps)?;
        let queries = count(arguments, "queries", Square::default().queries)?;
        Ok(Self::new(steps, queries, arguments.flag("early")))
    }

    fn new(steps: usize, queries: usize, early: bool) -> Self {
        let plan = || Plan { steps, early, ..Plan::default() };
        let parts: [(AttackKind, Box<dyn Find>); 4] = [
            (apgd_ce::KIND, Box::new(ApgdCe { plan: plan() })),
            (apgd_t::KIND, Box::new(ApgdT { plan: plan(), ..ApgdT::default() })),
            (fab_t::KIND, Box::new(FabT { steps, early, ..FabT::default() })),
            (square::KIND, Box::new(Square { queries, ..Square::default() })),
        ];
        Self { steps, queries, early, parts }
    }
}

impl Attack for AutoAttack {
    fn written(&self) -> String {
        let Self { steps, queries, early, .. } = self;
        let early = if *early { ",early" } else { "" };
        format!("{}:steps={steps},queries={queries}{early}", KIND.choice.name)
    }

    fn losses(&self, classes: usize) -> Vec<Loss> {
        self.parts.iter().flat_map(|(_, part)| part.losses(classes)).collect()
    }

    fn notes(&self, classes: usize) -> Result<Vec<String>, Error> {
        let notes = self.parts.iter().map(|(_, part)| part.notes(classes));
        Ok(notes.collect::<Result<Vec<_>, _>>()?.concat())
    }

    fn run(&self, task: &Task<'_>, watch: &mut Watch<'_>) -> Result<Array2<f32>, Error> {
        let mut found = Found::none(task);
        for (place, (kind, part)) in self.parts.iter().enumerate() {
            let left = found.left();
            let ahead: usize = self.parts[place..].iter().map(|(kind, _)| kind.cost).sum();
            let mut watched = watch.part(kind.cost as f64 / ahead as f64);
            found.take(&left, &part.find(&task.select(&left), &mut watched)?);
            watch.stage(kind.choice.name, found.left().len());
        }
        watch.reach(1.0)?;
        Ok(found.points)
    }
}
