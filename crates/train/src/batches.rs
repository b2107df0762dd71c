//! Which samples a step sees, and how they are changed. A function of the seed and the step alone, so that a run
//! that is resumed sees what one that was never interrupted sees.

use ndarray::{ArrayD, IxDyn};
use taste_engine::Value;
use taste_stats::random::Random;

use crate::{
    Augment,
    noise::{Mix, Noise},
    step::Batch,
    table::{Answers, Table},
};

/// What random numbers are for.
#[derive(Clone, Copy)]
enum Purpose {
    Weights,
    Division,
    Order,
    Noise,
    Change,
    HeldOutNoise,
}

fn stream(seed: u64, purpose: Purpose, number: usize) -> Random {
    Random::stream(seed ^ (purpose as u64) << 56, number as u64)
}

/// The seed of the first weights.
pub(crate) fn weight_seed(seed: u64) -> u64 {
    stream(seed, Purpose::Weights, 0).bits()
}

/// How samples become inputs and targets.
pub(crate) struct Batches {
    table: Table,
    /// The width of a one-hot target.
    classes: usize,
    /// Noise added to every entry, with what was added as the target.
    noise: Option<Noise>,
    augment: Augment,
    size: usize,
    seed: u64,
    train: Vec<usize>,
    held_out: Vec<usize>,
    order: Option<(usize, Vec<usize>)>,
}

impl Batches {
    pub(crate) fn new(
        table: Table,
        classes: usize,
        noise: Option<Noise>,
        augment: Augment,
        size: usize,
        seed: u64,
        held_out: f64,
    ) -> Self {
        let mut division = stream(seed, Purpose::Division, 0);
        let count = table.len();
        let mut order = division.shuffled(count);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a number of samples"
        )]
        let kept = ((count as f64 * held_out).round() as usize).min(count.saturating_sub(1));
        let train = order.split_off(kept);
        let size = size.min(train.len());
        Self { table, classes, noise, augment, size, seed, train, held_out: order, order: None }
    }

    /// What tells these samples from others.
    pub(crate) fn fingerprint(&self) -> String {
        self.table.fingerprint()
    }

    /// How many samples entered no batch because of entries that are not finite.
    pub(crate) fn skipped(&self) -> usize {
        self.table.skipped
    }

    /// The samples of a step, counted from 0.
    pub(crate) fn at(&mut self, step: usize) -> Batch {
        let per_epoch = (self.train.len() / self.size).max(1);
        let (epoch, place) = (step / per_epoch, step % per_epoch);
        let order = match self.order.take() {
            Some((of, order)) if of == epoch => order,
            _ => stream(self.seed, Purpose::Order, epoch).shuffled(self.train.len()),
        };
        let start = place * self.size;
        let rows: Vec<usize> =
            order[start..start + self.size].iter().map(|&i| self.train[i]).collect();
        self.order = Some((epoch, order));
        let mut noise = stream(self.seed, Purpose::Noise, step);
        let mut change = stream(self.seed, Purpose::Change, step);
        self.make(&rows, &mut noise, Some(&mut change))
    }

    /// The first held-out samples, in parts of the size of a batch; with other noise in every round, and the same in
    /// every call.
    pub(crate) fn held_out(
        &self,
        most: usize,
        round: usize,
    ) -> impl Iterator<Item = (Batch, Vec<usize>)> {
        let rows = &self.held_out[..self.held_out.len().min(most)];
        let parts = self.held_out.len().div_ceil(self.size.max(1));
        rows.chunks(self.size.max(1)).enumerate().map(move |(part, rows)| {
            let mut noise = stream(self.seed, Purpose::HeldOutNoise, round * parts + part);
            (self.make(rows, &mut noise, None), rows.to_vec())
        })
    }

    /// How many samples there are that the network does not learn from.
    pub(crate) fn held_out_len(&self) -> usize {
        self.held_out.len()
    }

    /// How many samples a step sees.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The first held-out samples as they are, up to a number of entries and of samples.
    pub(crate) fn some_held_out(&self, (entries, samples): (usize, usize)) -> ArrayD<f32> {
        let width = self.table.width();
        let count = self.held_out.len().min(samples).min((entries / width).max(1));
        let rows = self.held_out[..count].iter().flat_map(|&row| self.table.row(row));
        let shape = [&[count], &self.table.shape[..]].concat();
        ArrayD::from_shape_vec(IxDyn(&shape), rows.copied().collect()).expect("rows of one width")
    }

    /// The class of a sample.
    pub(crate) fn class(&self, row: usize) -> Option<usize> {
        match &self.table.answers {
            Answers::Classes(classes) => classes.get(row).copied(),
            _ => None,
        }
    }

    fn make(&self, rows: &[usize], noise: &mut Random, change: Option<&mut Random>) -> Batch {
        let width = self.table.width();
        let mut input = Vec::with_capacity(rows.len() * width);
        for &row in rows {
            input.extend_from_slice(self.table.row(row));
        }
        if let (Some(change), [.., height, across]) = (change, &self.table.shape[..])
            && !self.augment.is_nothing()
        {
            for image in input.chunks_mut(width) {
                self.augment.apply(image, [*height, *across], change);
            }
        }
        let shape = [&[rows.len()], &self.table.shape[..]].concat();
        let mut level = None;
        let (target, target_shape) = match (&self.table.answers, self.noise) {
            (Answers::Classes(classes), _) => {
                let mut one_hot = vec![0.0; rows.len() * self.classes];
                for (position, &row) in rows.iter().enumerate() {
                    one_hot[position * self.classes + classes[row]] = 1.0;
                }
                (one_hot, vec![rows.len(), self.classes])
            }
            (Answers::Numbers { values, width }, _) => {
                let of = |row: usize| &values[row * width..(row + 1) * width];
                let flat = rows.iter().flat_map(|&row| of(row).iter().copied()).collect();
                (flat, vec![rows.len(), *width])
            }
            (Answers::None, Some(kind)) => {
                let (drawn, levels) = disturb(&mut input, width, kind, noise);
                level = kind.has_levels().then(|| value(levels, &[rows.len(), 1]));
                (drawn, shape.clone())
            }
            (Answers::None, None) => (input.clone(), shape.clone()),
        };
        Batch { input: value(input, &shape), target: value(target, &target_shape), level }
    }
}

/// Adds noise to samples; returns what was drawn for every entry, and the level of every sample.
#[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
fn disturb(
    input: &mut [f32],
    width: usize,
    kind: Noise,
    random: &mut Random,
) -> (Vec<f32>, Vec<f32>) {
    let (mut drawn, mut levels) = (Vec::with_capacity(input.len()), Vec::new());
    for sample in input.chunks_mut(width) {
        let level = kind.draw(random);
        let Mix { signal, spread } = kind.at(level);
        let (signal, spread) = (signal as f32, spread as f32);
        levels.push(level as f32);
        for entry in sample {
            let noise = random.normal() as f32;
            *entry = signal * *entry + spread * noise;
            drawn.push(noise);
        }
    }
    (drawn, levels)
}

/// # Panics
/// If the shape has another number of elements.
fn value(values: Vec<f32>, shape: &[usize]) -> Value {
    ArrayD::from_shape_vec(IxDyn(shape), values).expect("rows of one width").into()
}
