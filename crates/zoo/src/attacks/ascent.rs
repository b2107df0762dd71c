//! Auto-PGD (Croce and Hein 2020): steps with momentum along a gradient, halved where the loss stops rising. What the
//! attacks that are named `apgd-` share.

use ndarray::{Array2, Axis};
use taste_choice::Arguments;
use taste_detector::Error;

use super::{
    Loss, Task, Watch,
    attack::{count, number},
    start,
    task::{Found, each_row, right, row},
};

/// The settings of Auto-PGD.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) steps: usize,
    pub(super) restarts: usize,
    /// A step is halved unless a larger share than this of the last steps raised the loss.
    pub(super) rho: f64,
    /// Whether a sample is done with at its first success, in place of its last.
    pub(super) early: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self { steps: 100, restarts: 1, rho: 0.75, early: false }
    }
}

impl Plan {
    pub(super) fn read(arguments: &mut Arguments<'_>) -> Result<Self, taste_choice::Error> {
        let Self { steps, restarts, rho, .. } = Self::default();
        Ok(Self {
            steps: count(arguments, "steps", steps)?,
            restarts: count(arguments, "restarts", restarts)?,
            rho: number(arguments, "rho", 1.0, rho)?,
            early: arguments.flag("early"),
        })
    }

    pub(super) fn written(&self) -> String {
        let early = if self.early { ",early" } else { "" };
        format!("steps={},restarts={},rho={}{early}", self.steps, self.restarts, self.rho)
    }

    /// The steps after which lengths are looked at: the first time after 22 % of them, then after intervals that get shorter by
    /// 3 % down to 6 %.
    pub(super) fn checkpoints(&self) -> Vec<usize> {
        let share = |percent: usize| (percent * self.steps / 100).max(1);
        let (mut interval, mut at) = (share(22), share(22));
        let mut found = Vec::new();
        while at <= self.steps {
            found.push(at);
            interval = interval.saturating_sub(share(3)).max(share(6));
            at += interval;
        }
        found
    }

    /// Restarts for samples that are not misled yet; `first` tells apart what is random in several such runs.
    pub(super) fn restarts(
        &self,
        task: &Task<'_>,
        loss: Loss,
        targets: &[usize],
        first: u64,
        watch: &mut Watch<'_>,
    ) -> Result<Found, Error> {
        let mut found = Found::none(task);
        for restart in 0..self.restarts {
            let left = found.left();
            let rest = task.select(&left);
            let aims: Vec<usize> = left.iter().map(|&i| targets[i]).collect();
            let mut part = watch.part(1.0 / (self.restarts - restart) as f64);
            let number = first * self.restarts as u64 + restart as u64;
            let ascent = Ascent::new(self, &rest, loss, &aims, number, &mut part)?;
            found.take(&left, &ascent.run(&mut part)?);
        }
        Ok(found)
    }
}

/// A run from one starting point of every sample.
struct Ascent<'a> {
    plan: &'a Plan,
    task: &'a Task<'a>,
    loss: Loss,
    targets: &'a [usize],
    now: Array2<f32>,
    before: Array2<f32>,
    gradient: Array2<f32>,
    best: Array2<f32>,
    best_gradient: Array2<f32>,
    states: Vec<State>,
    found: Found,
    /// The samples that go on.
    active: Vec<usize>,
}

/// How a sample fares.
#[derive(Clone, Debug)]
struct State {
    step: f64,
    loss: f32,
    best: f32,
    /// The best loss at the last checkpoint.
    best_then: f32,
    /// How often the loss rose since.
    rises: usize,
    /// Whether the step was halved there.
    halved: bool,
}

/// The share of a step; the rest is momentum.
const NEW: f32 = 0.75;

impl<'a> Ascent<'a> {
    fn new(
        plan: &'a Plan,
        task: &'a Task<'a>,
        loss: Loss,
        targets: &'a [usize],
        number: u64,
        watch: &mut Watch<'_>,
    ) -> Result<Self, Error> {
        let now = start::surface(task, number);
        let slope = task.victim.slope(loss, &now.view(), &task.labels, targets)?;
        watch.flat(&slope.gradient);
        let state = |&loss: &f32| State {
            step: 2.0 * task.ball.eps(),
            loss,
            best: loss,
            best_then: loss,
            rises: 0,
            halved: true,
        };
        let misled = right(&slope.logits, &task.labels).iter().map(|right| !right).collect();
        let mut ascent = Self {
            plan,
            task,
            loss,
            targets,
            before: now.clone(),
            best: now.clone(),
            best_gradient: slope.gradient.clone(),
            gradient: slope.gradient,
            states: slope.loss.iter().map(state).collect(),
            found: Found { points: now.clone(), misled },
            active: (0..task.len()).collect(),
            now,
        };
        ascent.drop_misled();
        Ok(ascent)
    }

    fn run(mut self, watch: &mut Watch<'_>) -> Result<Found, Error> {
        let mut checkpoints = self.plan.checkpoints().into_iter().peekable();
        let mut last = 0;
        for done in 1..=self.plan.steps {
            if self.active.is_empty() {
                break;
            }
            self.advance(if done == 1 { 1.0 } else { NEW });
            self.look()?;
            if checkpoints.next_if_eq(&done).is_some() {
                self.check(done - last);
                last = done;
            }
            self.drop_misled();
            watch.reach(done as f64 / self.plan.steps as f64)?;
        }
        watch.reach(1.0)?;
        Ok(self.found)
    }

    /// A step with momentum.
    fn advance(&mut self, new: f32) {
        let Self { task, now, before, gradient, states, .. } = self;
        let ball = task.ball;
        let (at, was) = (&*now, &*before);
        let mut next = at.clone();
        each_row(&mut next, |i, point| {
            let (x, at, was) = (task.row(i), row(at, i), row(was, i));
            ball.step(point, row(gradient, i), states[i].step);
            ball.project(x, point);
            for ((value, at), was) in point.iter_mut().zip(at).zip(was) {
                *value = at + new * (*value - at) + (1.0 - new) * (at - was);
            }
            ball.project(x, point);
        });
        *before = std::mem::replace(now, next);
    }

    /// The loss at the new points, and what it says.
    fn look(&mut self) -> Result<(), Error> {
        let Self { task, active, now, .. } = self;
        let whole = active.len() == task.len();
        let labels: Vec<usize> = active.iter().map(|&i| task.labels[i]).collect();
        let aims: Vec<usize> = active.iter().map(|&i| self.targets[i]).collect();
        let chosen = if whole { None } else { Some(now.select(Axis(0), active)) };
        let points = &chosen.as_ref().unwrap_or(now).view();
        let slope = task.victim.slope(self.loss, points, &labels, &aims)?;
        for (k, &i) in active.iter().enumerate() {
            let (state, loss) = (&mut self.states[i], slope.loss[k]);
            state.rises += usize::from(loss > state.loss);
            state.loss = loss;
            if loss > state.best {
                state.best = loss;
                self.best.row_mut(i).assign(&now.row(i));
                self.best_gradient.row_mut(i).assign(&slope.gradient.row(k));
            }
        }
        for (k, right) in right(&slope.logits, &labels).into_iter().enumerate() {
            if !right {
                let i = active[k];
                self.found.misled[i] = true;
                self.found.points.row_mut(i).assign(&now.row(i));
            }
        }
        if whole {
            self.gradient = slope.gradient;
        } else {
            for (k, &i) in active.iter().enumerate() {
                self.gradient.row_mut(i).assign(&slope.gradient.row(k));
            }
        }
        Ok(())
    }

    /// Halves the steps of samples that do not get on, and goes back to where they were best.
    fn check(&mut self, interval: usize) {
        for &i in &self.active {
            let state = &mut self.states[i];
            let wavers = state.rises as f64 <= self.plan.rho * interval as f64;
            let stuck = !state.halved && state.best_then >= state.best;
            state.halved = wavers || stuck;
            state.best_then = state.best;
            state.rises = 0;
            if state.halved {
                state.step /= 2.0;
                self.now.row_mut(i).assign(&self.best.row(i));
                self.gradient.row_mut(i).assign(&self.best_gradient.row(i));
            }
        }
    }

    fn drop_misled(&mut self) {
        if self.plan.early {
            let misled = &self.found.misled;
            self.active.retain(|&i| !misled[i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_come_closer_together() {
        assert_eq!(Plan::default().checkpoints(), [22, 41, 57, 70, 80, 87, 93, 99]);
        let few = Plan { steps: 10, ..Plan::default() };
        assert_eq!(few.checkpoints(), [2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(Plan { steps: 1, ..Plan::default() }.checkpoints(), [1]);
    }
}
