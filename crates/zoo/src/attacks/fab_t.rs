//! The fast adaptive boundary attack towards one class after another (Croce and Hein 2020, "Minimally distorted adversarial
//! examples"): the shortest change that misleads, by projections on the linearised boundary.

use std::sync::Arc;

use ndarray::{Array2, Axis};
use taste_choice::{Arguments, Choice};
use taste_detector::Error;

use super::{
    Attack, AttackKind, Ball, Find, Loss, Needs, Task, Watch,
    attack::{count, number},
    ball::narrow,
    plane, start, targets,
    task::{Found, each_row, right, row},
};

pub(super) const KIND: AttackKind = AttackKind {
    choice: Choice {
        name: "fab-t",
        usage: "fab-t[:targets=9,steps=100,restarts=1,alpha=0.1,eta=1.05,beta=0.9,early]",
        about: "the shortest change that misleads towards each of the likeliest other classes in turn, by projections on the \
                linearised boundary; changes longer than eps do not count; with early the first that does (Croce and Hein \
                2020); 900 gradients and 900 answers",
    },
    needs: Needs::Gradients,
    cost: 3600,
    read: |arguments| Ok(Arc::new(FabT::read(arguments)?)),
};

/// The boundary attack towards classes.
#[derive(Clone, Debug)]
pub(super) struct FabT {
    pub(super) targets: usize,
    pub(super) steps: usize,
    pub(super) restarts: usize,
    /// The largest share of the way back to the sample in a step.
    pub(super) alpha: f64,
    /// How far beyond the boundary a step goes.
    pub(super) eta: f64,
    /// The share of a change that is kept after a success.
    pub(super) beta: f64,
    pub(super) early: bool,
}

impl Default for FabT {
    fn default() -> Self {
        Self {
            targets: targets::COUNT,
            steps: 100,
            restarts: 1,
            alpha: 0.1,
            eta: 1.05,
            beta: 0.9,
            early: false,
        }
    }
}

impl FabT {
    fn read(arguments: &mut Arguments<'_>) -> Result<Self, taste_choice::Error> {
        let usual = Self::default();
        Ok(Self {
            targets: count(arguments, "targets", usual.targets)?,
            steps: count(arguments, "steps", usual.steps)?,
            restarts: count(arguments, "restarts", usual.restarts)?,
            alpha: number(arguments, "alpha", 1.0, usual.alpha)?,
            eta: number(arguments, "eta", 10.0, usual.eta)?,
            beta: number(arguments, "beta", 1.0, usual.beta)?,
            early: arguments.flag("early"),
        })
    }
}

impl Find for FabT {
    fn find(&self, task: &Task<'_>, watch: &mut Watch<'_>) -> Result<Found, Error> {
        targets::each(task, self.targets, watch, |task, aims, rank, watch| {
            let mut found = Found::none(task);
            for restart in 0..self.restarts {
                let left = found.left();
                let rest = task.select(&left);
                let aims: Vec<usize> = left.iter().map(|&i| aims[i]).collect();
                let number = (rank * self.restarts + restart) as u64;
                let mut part = watch.part(1.0 / (self.restarts - restart) as f64);
                let search = Search::new(self, &rest, &aims, (restart > 0).then_some(number));
                found.take(&left, &search.run(&mut part)?);
            }
            Ok(found)
        })
    }
}

impl Attack for FabT {
    fn written(&self) -> String {
        let Self { targets, steps, restarts, alpha, eta, beta, early } = self;
        format!(
            "{}:targets={targets},steps={steps},restarts={restarts},alpha={alpha},eta={eta},beta={beta}{}",
            KIND.choice.name,
            if *early { ",early" } else { "" }
        )
    }

    fn losses(&self, _: usize) -> Vec<Loss> {
        vec![Loss::Difference]
    }

    fn notes(&self, classes: usize) -> Result<Vec<String>, Error> {
        Ok(targets::notes(KIND.choice.name, self.targets, classes))
    }

    fn run(&self, task: &Task<'_>, watch: &mut Watch<'_>) -> Result<Array2<f32>, Error> {
        Ok(self.find(task, watch)?.points)
    }
}

/// A search for the shortest change of every sample.
struct Search<'a> {
    plan: &'a FabT,
    task: &'a Task<'a>,
    targets: &'a [usize],
    now: Array2<f32>,
    best: Array2<f32>,
    /// The length of the best change.
    lengths: Vec<f64>,
    active: Vec<usize>,
}

impl<'a> Search<'a> {
    /// From the samples themselves, or with a number from random points half as far as eps.
    fn new(plan: &'a FabT, task: &'a Task<'a>, targets: &'a [usize], random: Option<u64>) -> Self {
        let mut now = task.x.clone();
        if let Some(number) = random {
            now = start::surface(task, number);
            each_row(&mut now, |i, point| {
                for (value, centre) in point.iter_mut().zip(task.row(i)) {
                    *value = centre + 0.5 * (*value - centre);
                }
            });
        }
        Self {
            plan,
            task,
            targets,
            now,
            best: task.x.clone(),
            lengths: vec![f64::INFINITY; task.len()],
            active: (0..task.len()).collect(),
        }
    }

    fn run(mut self, watch: &mut Watch<'_>) -> Result<Found, Error> {
        for done in 1..=self.plan.steps {
            if self.active.is_empty() {
                break;
            }
            self.step(done == 1, watch)?;
            watch.reach(done as f64 / self.plan.steps as f64)?;
        }
        watch.reach(1.0)?;
        let eps = self.task.ball.eps();
        let misled = self.lengths.iter().map(|length| *length <= eps).collect();
        Ok(Found { points: self.best, misled })
    }

    fn step(&mut self, first: bool, watch: &mut Watch<'_>) -> Result<(), Error> {
        let Self { plan, task, active, .. } = self;
        let labels: Vec<usize> = active.iter().map(|&i| task.labels[i]).collect();
        let aims: Vec<usize> = active.iter().map(|&i| self.targets[i]).collect();
        let mut points = self.now.select(Axis(0), active);
        let slope = task.victim.slope(Loss::Difference, &points.view(), &labels, &aims)?;
        if first {
            watch.flat(&slope.gradient);
        }
        let chosen = &*active;
        each_row(&mut points, |k, point| {
            let (x, w) = (task.row(chosen[k]), row(&slope.gradient, k));
            plan.towards_boundary(task.ball, x, w, f64::from(slope.loss[k]), point);
        });
        let logits = task.victim.logits(&points.view())?;
        for (k, right) in right(&logits, &labels).into_iter().enumerate() {
            let (i, mut point) = (active[k], points.row_mut(k));
            if !right {
                let x = task.row(i);
                let length = task.ball.norm().distance(x, point.as_slice().unwrap_or_default());
                if length < self.lengths[i] {
                    self.lengths[i] = length;
                    self.best.row_mut(i).assign(&point);
                }
                let beta = narrow(plan.beta);
                point.iter_mut().zip(x).for_each(|(value, x)| *value = x + beta * (*value - x));
            }
            self.now.row_mut(i).assign(&point);
        }
        if plan.early {
            let (lengths, eps) = (&self.lengths, task.ball.eps());
            self.active.retain(|&i| lengths[i] > eps);
        }
        Ok(())
    }
}

impl FabT {
    /// Moves a point to beyond the linearised boundary w·p = b, near the sample's own projection on it. `lead` is w·p − b at the
    /// point: how far the class that is aimed at leads the label.
    fn towards_boundary(&self, ball: &Ball, x: &[f32], w: &[f32], lead: f64, point: &mut [f32]) {
        const LEAST: f64 = 1e-8;
        let (norm, bounds) = (ball.norm(), ball.bounds());
        let (mut own, mut of_x) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        plane::nearest(norm, bounds, point, w, lead, &mut own);
        let between = x.iter().zip(&*point).zip(w);
        let way: f64 = between.map(|((x, p), w)| f64::from(*w) * f64::from(x - p)).sum();
        plane::nearest(norm, bounds, x, w, lead + way, &mut of_x);
        let zeros = vec![0.0; x.len()];
        let length = |change: &[f32]| norm.distance(&zeros, change).max(LEAST);
        let (near, far) = (length(&own), length(&of_x));
        let alpha = narrow((near / (near + far)).min(self.alpha));
        let eta = narrow(self.eta);
        for (entry, value) in point.iter_mut().enumerate() {
            let forward = *value + eta * own[entry];
            let back = x[entry] + eta * of_x[entry];
            *value = forward * (1.0 - alpha) + back * alpha;
        }
        ball.clip(point);
    }
}
