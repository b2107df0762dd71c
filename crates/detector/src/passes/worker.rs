//! Going through a part of the data.

use ndarray::{Array2, ArrayD, ArrayView1, ArrayViewD, Axis, IxDyn};
use taste_data::Chunk;
use taste_engine::{Batch, Model, Session};
use taste_stats::{
    covariance::Covariance, groups::GroupMeans, moments::Moments, random::hash, tally::Tally,
};

use super::{
    By, Gather, Plan, State,
    blocks::{Blocks, Sum},
    drawn::Draw,
    sketch::Sketch,
    state::{Counts, Kept},
};
use crate::{Engine, Error, Profile, profile::Grouping, refused};

/// Goes through a part of the data for a plan.
///
/// Where samples have numbers and come one after the other ([`Worker::new`]), the result does not depend on where data were
/// cut, as far as that was at the borders of blocks. Where they have keys and come in any order ([`Worker::of_part`]), sums
/// are merged by the number of the part, and another division of the same samples may change their last bits.
pub struct Worker<'p> {
    plan: &'p Plan,
    session: Option<Session>,
    state: State,
    /// Samples that wait until a chunk is full.
    waiting: Waiting,
    order: Order,
    /// The block at hand, and its sums.
    block: Option<u64>,
    sums: Vec<Sum>,
}

/// How the samples of a part of the data come.
#[derive(Clone, Copy)]
enum Order {
    /// Row after row from this one on. Those that the plan does not hold may be left out.
    Rows(u64),
    /// All of them in any order, as the part of this number.
    Any(u64),
}

#[derive(Default)]
struct Waiting {
    keys: Vec<u64>,
    labels: Vec<Option<i64>>,
    /// One sample after the other.
    values: Vec<f32>,
}

impl<'p> Worker<'p> {
    /// Prepares to go through the rows from `first` on. Only rows of the plan's share count, so a reader that knows
    /// [`Plan::holds`] may leave the others out.
    pub fn new(plan: &'p Plan, engine: &Engine, first: u64) -> Result<Self, Error> {
        Self::in_order(plan, engine, Order::Rows(first))
    }

    /// Prepares to go through samples with keys of their own, in any order: all of those in the part of the data with this
    /// number. No two samples may have the same key, and no two parts the same number.
    pub fn of_part(plan: &'p Plan, engine: &Engine, part: u64) -> Result<Self, Error> {
        Self::in_order(plan, engine, Order::Any(part))
    }

    fn in_order(plan: &'p Plan, engine: &Engine, order: Order) -> Result<Self, Error> {
        let parts = plan.parts();
        let session = match &parts.network {
            None => None,
            Some(network) => {
                let model = Model::from_bytes("the graph of a pass", &network.onnx)?;
                let names: Vec<&str> = network.outputs.iter().map(String::as_str).collect();
                let session = engine.backend.load(&model, &names, engine.threads)?;
                Some(session.with_batch(network.batch.map_or(Batch::Open, Batch::Fixed)))
            }
        };
        let state = State {
            sketch: Sketch::default(),
            profile: Profile::default(),
            plan: plan.id(),
            counts: Counts::default(),
            kept: Vec::new(),
            blocks: Blocks::new(parts.block),
        };
        Ok(Self {
            plan,
            session,
            state,
            waiting: Waiting::default(),
            order,
            block: None,
            sums: Vec::new(),
        })
    }

    /// How many samples of the plan's share it has seen.
    pub fn taken(&self) -> usize {
        usize::try_from(self.state.counts.taken).unwrap_or(usize::MAX)
    }

    /// Takes samples, with the numbers of their rows or with their keys.
    pub fn update(&mut self, chunk: &Chunk) -> Result<(), Error> {
        let parts = self.plan.parts();
        for (at, &index) in chunk.index.iter().enumerate() {
            let row = index as u64;
            if let Order::Any(_) = self.order {
                self.offer(row);
            }
            if !self.plan.holds(row) {
                continue;
            }
            self.state.counts.taken += 1;
            if parts.gathers.is_empty() {
                continue;
            }
            let block = match self.order {
                Order::Rows(_) => row / parts.block,
                Order::Any(part) => part,
            };
            if self.block != Some(block) {
                self.close(row)?;
                self.block = Some(block);
            }
            self.waiting.keys.push(row);
            self.waiting.labels.push(chunk.labels.as_ref().map(|l| l[at]));
            self.waiting.values.extend(chunk.values.index_axis(Axis(0), at));
            if self.waiting.keys.len() >= parts.chunk {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// What was gathered of the rows up to `end`; of samples with keys, whatever came.
    pub fn finish(mut self, end: u64) -> Result<State, Error> {
        self.close(end)?;
        if let Order::Rows(first) = self.order {
            (first..end).for_each(|row| self.offer(row));
        }
        Ok(self.state)
    }

    fn offer(&mut self, key: u64) {
        let counts = &mut self.state.counts;
        counts.offered += 1;
        counts.checksum = counts.checksum.wrapping_add(hash(0, key));
    }

    /// Ends the block at hand, when all rows before `reached` have been offered.
    fn close(&mut self, reached: u64) -> Result<(), Error> {
        self.flush()?;
        let sums = std::mem::take(&mut self.sums);
        if let Some(block) = self.block.take()
            && !sums.is_empty()
        {
            let Order::Rows(first) = self.order else {
                return self.state.blocks.add(block..block.saturating_add(1), false, sums);
            };
            let size = self.plan.parts().block;
            let (start, end) = (block.saturating_mul(size), (block + 1).saturating_mul(size));
            let whole = first <= start && end <= reached;
            let rows = start.max(first)..end.min(reached);
            self.state.blocks.add(rows, whole, sums)?;
        }
        Ok(())
    }

    /// Runs the samples that wait.
    fn flush(&mut self) -> Result<(), Error> {
        let Waiting { keys, labels, values } = std::mem::take(&mut self.waiting);
        if keys.is_empty() {
            return Ok(());
        }
        let parts = self.plan.parts();
        let width: usize = parts.sample_shape.iter().product();
        let input = Array2::from_shape_vec((keys.len(), width), values)
            .map_err(|_| refused("samples of different sizes"))?;
        let outputs = match self.session.as_ref().zip(parts.network.as_ref()) {
            None => Vec::new(),
            Some((session, network)) => {
                let shape: Vec<usize> =
                    std::iter::once(keys.len()).chain(parts.sample_shape.clone()).collect();
                let view = ArrayViewD::from_shape(IxDyn(&shape), input.as_slice().unwrap_or(&[]))
                    .map_err(|e| refused(e.to_string()))?;
                let results = session.run_samples(&network.inputs, view)?;
                results.iter().map(|v| matrix(v.to_f32())).collect::<Result<Vec<_>, _>>()?
            }
        };
        self.gather(&keys, &labels, &input, &outputs)
    }

    fn gather(
        &mut self,
        keys: &[u64],
        labels: &[Option<i64>],
        input: &Array2<f32>,
        outputs: &[Array2<f32>],
    ) -> Result<(), Error> {
        let parts = self.plan.parts();
        let of = |output: &Option<usize>| output.map_or(input, |i| &outputs[i]);
        let grouping = Grouping::of(&parts.sample_shape);
        for sample in input.outer_iter() {
            self.state.sketch.add(sample.iter());
            self.state.profile.add(grouping, sample.iter());
        }
        let counts: Vec<bool> = (0..keys.len())
            .map(|i| {
                if !usable_input(&input.row(i), parts.may_miss) {
                    self.state.counts.bad_inputs += 1;
                    return !parts.strict;
                }
                let values = parts.gathers.iter().all(|(_, output, gather)| {
                    // What may be missing in a sample as it was read is no bad value.
                    let as_read =
                        output.is_none() && matches!(gather, Gather::Rows { whole: true, .. });
                    as_read || finite(&of(output).row(i))
                });
                self.state.counts.bad_values += u64::from(!values);
                values || !parts.strict
            })
            .collect();
        self.prepare(|output| of(output).ncols());
        for (at, (_, output, gather)) in parts.gathers.iter().enumerate() {
            let rows = of(output);
            let usable = |i: &usize| counts[*i];
            let clean = |i: &usize| counts[*i] && (parts.strict || finite(&rows.row(*i)));
            match (&mut self.state.kept[at], gather) {
                (Kept::Sum(place), gather) => {
                    let picked: Vec<usize> = (0..keys.len()).filter(clean).collect();
                    add(&mut self.sums[*place], *gather, rows, labels, &picked)?;
                }
                (Kept::Values(tally), _) => {
                    let picked = (0..keys.len()).filter(clean);
                    tally.add(picked.flat_map(|i| rows.row(i).to_vec()));
                }
                (Kept::Range { low, high }, _) => {
                    for row in (0..keys.len()).filter(clean).map(|i| rows.row(i)) {
                        low.iter_mut().zip(&row).for_each(|(l, v)| *l = l.min(*v));
                        high.iter_mut().zip(&row).for_each(|(h, v)| *h = h.max(*v));
                    }
                }
                (Kept::Rows(draw), Gather::Rows { whole, .. }) => {
                    let kept = |i: &usize| if *whole { usable(i) } else { clean(i) };
                    for i in (0..keys.len()).filter(kept) {
                        draw.offer(keys[i], labels[i], rows.row(i).iter().copied());
                    }
                }
                (Kept::Rows(_), _) => {}
            }
        }
        Ok(())
    }

    /// Makes the accumulators, once widths are known, and the sums of a new block.
    fn prepare(&mut self, width: impl Fn(&Option<usize>) -> usize) {
        let parts = self.plan.parts();
        if self.state.kept.is_empty() {
            let mut sums = 0;
            self.state.kept = parts
                .gathers
                .iter()
                .map(|(_, output, gather)| match *gather {
                    Gather::Moments | Gather::Covariance | Gather::Classes { .. } => {
                        sums += 1;
                        Kept::Sum(sums - 1)
                    }
                    Gather::Values => Kept::Values(Tally::new()),
                    Gather::Range => Kept::Range {
                        low: vec![f32::INFINITY; width(output)],
                        high: vec![f32::NEG_INFINITY; width(output)],
                    },
                    Gather::Rows { most, seed, .. } => {
                        Kept::Rows(Draw::new(most, seed, width(output)))
                    }
                })
                .collect();
        }
        if self.sums.is_empty() {
            let new = |(_, output, gather): &(String, Option<usize>, Gather)| match *gather {
                Gather::Moments => Some(Sum::Moments(Moments::new(width(output)))),
                Gather::Covariance => Some(Sum::Covariance(Covariance::new(width(output)))),
                Gather::Classes { classes, by } => {
                    let width = width(output) - usize::from(by != By::Label);
                    Some(Sum::Classes(GroupMeans::new(classes, width)))
                }
                _ => None,
            };
            self.sums = parts.gathers.iter().filter_map(new).collect();
        }
    }
}

impl std::fmt::Debug for Worker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("plan", &self.plan.purpose()).finish_non_exhaustive()
    }
}

/// Whether the entries of a sample are numbers, or missing where they may be.
fn usable_input(row: &ArrayView1<'_, f32>, may_miss: bool) -> bool {
    row.iter().all(|v| v.is_finite() || (may_miss && v.is_nan()))
}

fn finite(row: &ArrayView1<'_, f32>) -> bool {
    row.iter().all(|v| v.is_finite())
}

fn add(
    sum: &mut Sum,
    gather: Gather,
    rows: &Array2<f32>,
    labels: &[Option<i64>],
    picked: &[usize],
) -> Result<(), Error> {
    match (sum, gather) {
        (Sum::Moments(moments), _) => {
            for &i in picked {
                moments.push_rows(&rows.row(i).insert_axis(Axis(0)))?;
            }
        }
        (Sum::Covariance(covariance), _) => {
            covariance.add(rows.select(Axis(0), picked).mapv(f64::from))?;
        }
        (Sum::Classes(means), Gather::Classes { by, .. }) => {
            add_by_class(means, by, rows, labels, picked)?;
        }
        (Sum::Classes(_), _) => {}
    }
    Ok(())
}

fn add_by_class(
    means: &mut GroupMeans,
    by: By,
    rows: &Array2<f32>,
    labels: &[Option<i64>],
    picked: &[usize],
) -> Result<(), Error> {
    for &i in picked {
        let row = rows.row(i).to_vec();
        if by == By::Label {
            means.push(labels[i], &row)?;
            continue;
        }
        let Some((&answer, values)) = row.split_last() else { continue };
        #[expect(clippy::cast_possible_truncation, reason = "the number of a class")]
        let answer = answer as i64;
        match (by, labels[i]) {
            (By::RightAnswer, Some(label)) if (0..means.len() as i64).contains(&label) => {
                if label == answer {
                    means.push(Some(label), values)?;
                }
            }
            // A label that is missing or none of a class is counted.
            (By::RightAnswer, label) => means.push(label, values)?,
            _ => means.push(Some(answer), values)?,
        }
    }
    Ok(())
}

/// A result as a row for every sample.
fn matrix(array: ArrayD<f32>) -> Result<Array2<f32>, Error> {
    let rows = array.shape().first().copied().unwrap_or(0);
    let width = array.len().checked_div(rows).unwrap_or(0);
    array.into_shape_with_order((rows, width)).map_err(|e| refused(e.to_string()))
}
