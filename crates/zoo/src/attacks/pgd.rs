//! Projected gradient descent (Madry, Makelov, Schmidt, Tsipras and Vladu 2018) on the cross-entropy; the last point counts.

use std::sync::Arc;

use ndarray::Array2;
use taste_choice::{Arguments, Choice};
use taste_detector::Error;

use super::{
    Attack, AttackKind, Ball, Loss, Needs, Norm, Task, Watch,
    attack::count,
    start,
    task::{each_row, row},
};

pub(super) const KIND: AttackKind = AttackKind {
    choice: Choice {
        name: "pgd",
        usage: "pgd[:steps=50,step=SHARE,random]",
        about: "steps along the gradient of the cross-entropy, each a share of eps (0.25; 0.2 for l2), from the sample or a \
                random point of the ball; the last point counts (Madry and others 2018); 50 gradients",
    },
    needs: Needs::Gradients,
    cost: 150,
    read,
};

#[derive(Debug)]
struct Pgd {
    steps: usize,
    /// The length of a step as a share of eps.
    step: Option<f64>,
    random: bool,
}

fn read(arguments: &mut Arguments<'_>) -> Result<Arc<dyn Attack>, taste_choice::Error> {
    let steps = count(arguments, "steps", 50)?;
    let step =
        arguments.number("step", "a share of eps above 0", |s: &f64| *s > 0.0 && s.is_finite())?;
    Ok(Arc::new(Pgd { steps, step, random: arguments.flag("random") }))
}

impl Pgd {
    fn step(&self, ball: &Ball) -> f64 {
        let share = self.step.unwrap_or(match ball.norm() {
            Norm::Linf => 0.25,
            Norm::L2 => 0.2,
        });
        share * ball.eps()
    }
}

impl Attack for Pgd {
    fn written(&self) -> String {
        let step = self.step.map_or_else(String::new, |step| format!(",step={step}"));
        let random = if self.random { ",random" } else { "" };
        format!("{}:steps={}{step}{random}", KIND.choice.name, self.steps)
    }

    fn losses(&self, _: usize) -> Vec<Loss> {
        vec![Loss::CrossEntropy]
    }

    fn run(&self, task: &Task<'_>, watch: &mut Watch<'_>) -> Result<Array2<f32>, Error> {
        let Task { victim, ball, x, labels, .. } = task;
        let mut now = if self.random { start::inside(task) } else { x.clone() };
        let length = self.step(ball);
        for done in 0..self.steps {
            let slope = victim.slope(Loss::CrossEntropy, &now.view(), labels, labels)?;
            if done == 0 {
                watch.flat(&slope.gradient);
            }
            each_row(&mut now, |i, point| {
                ball.step(point, row(&slope.gradient, i), length);
                ball.project(task.row(i), point);
            });
            watch.reach((done + 1) as f64 / self.steps as f64)?;
        }
        Ok(now)
    }
}
