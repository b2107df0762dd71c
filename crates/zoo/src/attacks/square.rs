//! The Square attack (Andriushchenko, Croce, Flammarion and Hein 2020): random windows, of which those stay that bring the
//! model nearer to an error. No gradients.

use std::sync::Arc;

use ndarray::{Array2, Axis};
use taste_choice::{Arguments, Choice};
use taste_detector::{Error, refused};
use taste_stats::random::Random;

use super::{
    Attack, AttackKind, Find, Loss, Needs, Norm, Task, Watch,
    attack::{count, number},
    ball::narrow,
    grid::Grid,
    pyramid,
    task::{Found, each_row, row},
};

pub(super) const KIND: AttackKind = AttackKind {
    choice: Choice {
        name: "square",
        usage: "square[:queries=5000,restarts=1,p=0.8]",
        about: "random square windows of pixels, of which those stay that bring the model nearer to an error; p is the \
                share of pixels at first (Andriushchenko and others 2020); no gradients, 5000 answers",
    },
    needs: Needs::Answers,
    cost: 5000,
    read: |arguments| Ok(Arc::new(Square::read(arguments)?)),
};

/// Random windows.
#[derive(Clone, Debug)]
pub(super) struct Square {
    pub(super) queries: usize,
    pub(super) restarts: usize,
    pub(super) p: f64,
}

impl Default for Square {
    fn default() -> Self {
        Self { queries: 5000, restarts: 1, p: 0.8 }
    }
}

/// What random numbers are drawn for, beside the number of the restart.
const WINDOWS: u64 = 1 << 32;

impl Square {
    fn read(arguments: &mut Arguments<'_>) -> Result<Self, taste_choice::Error> {
        let usual = Self::default();
        Ok(Self {
            queries: count(arguments, "queries", usual.queries)?,
            restarts: count(arguments, "restarts", usual.restarts)?,
            p: number(arguments, "p", 1.0, usual.p)?,
        })
    }

    /// The share of pixels in a window, which is halved at certain queries.
    fn share(&self, query: usize) -> f64 {
        const HALVED: [usize; 9] = [10, 50, 200, 500, 1000, 2000, 4000, 6000, 8000];
        let times = HALVED.iter().filter(|after| query > **after).count();
        self.p / f64::from(1u32 << times)
    }

    /// One run from stripes or tiles.
    fn search(
        &self,
        task: &Task<'_>,
        grid: Grid,
        restart: usize,
        watch: &mut Watch<'_>,
    ) -> Result<Found, Error> {
        let purpose = WINDOWS + restart as u64;
        let mut random: Vec<Random> = (0..task.len()).map(|i| task.random(i, purpose)).collect();
        let mut best = first(task, grid, &mut random);
        let mut margins = margins(&task.victim.logits(&best.view())?, &task.labels);
        for query in 0..self.queries {
            let active: Vec<usize> = (0..task.len()).filter(|&i| margins[i] > 0.0).collect();
            if active.is_empty() {
                break;
            }
            let mut tried = best.select(Axis(0), &active);
            let share = self.share(query);
            let mut drawn: Vec<Random> = active.iter().map(|&i| random[i].clone()).collect();
            propose(task, grid, share, &active, &mut drawn, &mut tried);
            let labels: Vec<usize> = active.iter().map(|&i| task.labels[i]).collect();
            let found = self::margins(&task.victim.logits(&tried.view())?, &labels);
            for (k, &i) in active.iter().enumerate() {
                random[i] = drawn[k].clone();
                if found[k] < margins[i] {
                    margins[i] = found[k];
                    best.row_mut(i).assign(&tried.row(k));
                }
            }
            watch.reach((query + 1) as f64 / self.queries as f64)?;
        }
        watch.reach(1.0)?;
        let misled = margins.iter().map(|margin| *margin <= 0.0).collect();
        Ok(Found { points: best, misled })
    }
}

/// By how much the label leads all other classes.
fn margins(logits: &Array2<f32>, labels: &[usize]) -> Vec<f32> {
    let margin = |(row, &label): (ndarray::ArrayView1<'_, f32>, &usize)| {
        let others = row.iter().enumerate().filter(|(class, _)| *class != label);
        row[label] - others.fold(f32::NEG_INFINITY, |most, (_, z)| most.max(*z))
    };
    logits.outer_iter().zip(labels).map(margin).collect()
}

/// Where every sample starts: stripes of one sign in a column of a channel, or tiles of pyramids for L2.
fn first(task: &Task<'_>, grid: Grid, random: &mut [Random]) -> Array2<f32> {
    let ball = task.ball;
    let mut points = task.x.clone();
    for (i, mut point) in points.outer_iter_mut().enumerate() {
        let point = point.as_slice_mut().unwrap_or_default();
        match ball.norm() {
            Norm::Linf => {
                let eps = narrow(ball.eps());
                for channel in 0..grid.channels {
                    for column in 0..grid.width {
                        let change = eps * random_sign(&mut random[i]);
                        for line in 0..grid.height {
                            point[grid.at(channel, line, column)] += change;
                        }
                    }
                }
            }
            Norm::L2 => {
                let change = pyramid::tiles(grid, &mut random[i]);
                pyramid::apply(ball, task.row(i), &change, point);
            }
        }
        ball.project(task.row(i), point);
    }
    points
}

/// The next point to try of every active sample.
fn propose(
    task: &Task<'_>,
    grid: Grid,
    share: f64,
    active: &[usize],
    random: &mut [Random],
    points: &mut Array2<f32>,
) {
    let ball = task.ball;
    match ball.norm() {
        Norm::Linf => {
            let change = 2.0 * narrow(ball.eps());
            for (k, mut point) in points.outer_iter_mut().enumerate() {
                let point = point.as_slice_mut().unwrap_or_default();
                let window = grid.window(share, 1, &mut random[k]);
                for channel in 0..grid.channels {
                    let change = change * random_sign(&mut random[k]);
                    window.each(|line, column| point[grid.at(channel, line, column)] += change);
                }
            }
        }
        Norm::L2 => {
            for (k, mut point) in points.outer_iter_mut().enumerate() {
                let point = point.as_slice_mut().unwrap_or_default();
                let x = task.row(active[k]);
                let change = pyramid::moved(ball, grid, share, x, point, &mut random[k]);
                pyramid::apply(ball, x, &change, point);
            }
        }
    }
    each_row(points, |k, point| ball.project(row(&task.x, active[k]), point));
}

/// +1 or −1.
pub(super) fn random_sign(random: &mut Random) -> f32 {
    if random.bits() >> 63 == 0 { 1.0 } else { -1.0 }
}

impl Find for Square {
    fn find(&self, task: &Task<'_>, watch: &mut Watch<'_>) -> Result<Found, Error> {
        let shape = task.victim.sample_shape();
        let grid = Grid::of(&shape);
        if task.ball.norm() == Norm::L2 && !grid.is_image() {
            return Err(refused(format!(
                "the attack {} with the norm l2 is for images, and samples have the shape {shape:?}",
                KIND.choice.name
            )));
        }
        let mut found = Found::none(task);
        for restart in 0..self.restarts {
            let left = found.left();
            let mut part = watch.part(1.0 / (self.restarts - restart) as f64);
            found.take(&left, &self.search(&task.select(&left), grid, restart, &mut part)?);
        }
        Ok(found)
    }
}

impl Attack for Square {
    fn written(&self) -> String {
        let Self { queries, restarts, p } = self;
        format!("{}:queries={queries},restarts={restarts},p={p}", KIND.choice.name)
    }

    fn losses(&self, _: usize) -> Vec<Loss> {
        Vec::new()
    }

    fn run(&self, task: &Task<'_>, watch: &mut Watch<'_>) -> Result<Array2<f32>, Error> {
        Ok(self.find(task, watch)?.points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "halves are exact")]
    fn windows_are_halved_on_schedule() {
        let square = Square::default();
        for (query, part) in [(0, 1.0), (10, 1.0), (11, 2.0), (51, 4.0), (201, 8.0), (4999, 128.0)]
        {
            assert_eq!(square.share(query), 0.8 / part, "{query}");
        }
        assert_eq!(square.share(9000), 0.8 / 512.0);
    }

    #[test]
    fn margins_leave_the_label_out() {
        let logits = ndarray::array![[1.0f32, 3.0, 2.0], [1.0, 3.0, 2.0]];
        assert_eq!(margins(&logits, &[1, 0]), [1.0, -2.0]);
    }
}
