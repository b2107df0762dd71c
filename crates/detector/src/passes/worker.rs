//! Going through a part of the data.

use ndarray::{Array2, ArrayD, ArrayView1, ArrayViewD, Axis, IxDyn};
use taste_data::Chunk;
use taste_engine::Model;
use taste_stats::{covariance::Covariance, moments::Moments, random::hash};

use super::{
    Gather, Plan, State,
    blocks::{Blocks, Sum},
    drawn::Draw,
    state::{Counts, Kept},
};
use crate::{Engine, Error, refused, scorer::Runner};

/// Goes through a part of the data for a plan.
pub struct Worker<'p> {
    plan: &'p Plan,
    runner: Option<Runner>,
    state: State,
    /// Samples that wait until a chunk is full.
    waiting: Vec<Sample>,
    /// The block at hand, and the sums of its rows so far.
    block: Option<Block>,
    sums: Vec<Sum>,
}

/// The rows of a block so far.
struct Block {
    first: u64,
    last: u64,
    rows: u64,
}

struct Sample {
    key: u64,
    label: Option<i64>,
    values: Vec<f32>,
}

impl<'p> Worker<'p> {
    /// Prepares to go through a part of the data.
    pub fn new(plan: &'p Plan, engine: &Engine) -> Result<Self, Error> {
        let parts = plan.parts();
        let runner = match &parts.network {
            None => None,
            Some(network) => {
                let model = Model::from_bytes("the graph of a pass", &network.onnx)?;
                let names: Vec<&str> = network.outputs.iter().map(String::as_str).collect();
                Some(Runner::new(
                    engine.backend.load(&model, &names, engine.threads)?,
                    &network.input,
                    &parts.sample_shape,
                    network.batch,
                ))
            }
        };
        let state = State {
            plan: plan.id(),
            counts: Counts::default(),
            kept: Vec::new(),
            blocks: Blocks::new(parts.block),
        };
        Ok(Self { plan, runner, state, waiting: Vec::new(), block: None, sums: Vec::new() })
    }

    /// How many samples of the plan's share it has seen.
    pub fn taken(&self) -> usize {
        usize::try_from(self.state.counts.taken).unwrap_or(usize::MAX)
    }

    /// Takes samples, in the order of their rows.
    pub fn update(&mut self, chunk: &Chunk) -> Result<(), Error> {
        let parts = self.plan.parts();
        for (at, &index) in chunk.index.iter().enumerate() {
            let row = index as u64;
            self.turn_to(row)?;
            self.state.counts.offered += 1;
            self.state.counts.checksum = self.state.counts.checksum.wrapping_add(hash(0, row));
            if !parts.share.holds(row) {
                continue;
            }
            self.state.counts.taken += 1;
            if parts.gathers.is_empty() {
                continue;
            }
            let values = chunk.values.index_axis(Axis(0), at).iter().copied().collect();
            let label = chunk.labels.as_ref().map(|l| l[at]);
            self.waiting.push(Sample { key: row, label, values });
            if self.waiting.len() >= parts.chunk {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// What was gathered.
    pub fn finish(mut self) -> Result<State, Error> {
        self.close()?;
        Ok(self.state)
    }

    /// Begins the block of a row, if it is another.
    fn turn_to(&mut self, row: u64) -> Result<(), Error> {
        let size = self.state.blocks.size();
        match &mut self.block {
            Some(block) if block.first / size == row / size => {
                block.rows += 1;
                block.last = row;
            }
            _ => {
                self.close()?;
                self.block = Some(Block { first: row, last: row, rows: 1 });
            }
        }
        Ok(())
    }

    /// Ends the block at hand.
    fn close(&mut self) -> Result<(), Error> {
        self.flush()?;
        let sums = std::mem::take(&mut self.sums);
        if let Some(Block { first, last, rows }) = self.block.take()
            && !sums.is_empty()
        {
            let whole = rows == self.state.blocks.size();
            self.state.blocks.add(first, last + 1, whole, sums)?;
        }
        Ok(())
    }

    /// Runs the samples that wait.
    fn flush(&mut self) -> Result<(), Error> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        let parts = self.plan.parts();
        let width: usize = parts.sample_shape.iter().product();
        let mut flat = Vec::with_capacity(waiting.len() * width);
        waiting.iter().for_each(|s| flat.extend(&s.values));
        let input = Array2::from_shape_vec((waiting.len(), width), flat)
            .map_err(|_| refused("samples of different sizes"))?;
        let outputs = match &self.runner {
            None => Vec::new(),
            Some(runner) => {
                let shape: Vec<usize> =
                    std::iter::once(waiting.len()).chain(parts.sample_shape.clone()).collect();
                let view = ArrayViewD::from_shape(IxDyn(&shape), input.as_slice().unwrap_or(&[]))
                    .map_err(|e| refused(e.to_string()))?;
                let results = runner.run(view)?;
                results.iter().map(|v| matrix(v.to_f32())).collect::<Result<Vec<_>, _>>()?
            }
        };
        self.gather(&waiting, &input, &outputs)
    }

    fn gather(
        &mut self,
        samples: &[Sample],
        input: &Array2<f32>,
        outputs: &[Array2<f32>],
    ) -> Result<(), Error> {
        let parts = self.plan.parts();
        let of = |output: &Option<usize>| output.map_or(input, |i| &outputs[i]);
        let counts: Vec<bool> = (0..samples.len())
            .map(|i| {
                if !finite(&input.row(i)) {
                    self.state.counts.bad_inputs += 1;
                    return !parts.strict;
                }
                let values = parts.gathers.iter().all(|g| finite(&of(&g.1).row(i)));
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
                (Kept::Sum(place), _) => {
                    let picked: Vec<usize> = (0..samples.len()).filter(clean).collect();
                    add(&mut self.sums[*place], rows, &picked)?;
                }
                (Kept::Range { low, high }, _) => {
                    for row in (0..samples.len()).filter(clean).map(|i| rows.row(i)) {
                        low.iter_mut().zip(&row).for_each(|(l, v)| *l = l.min(*v));
                        high.iter_mut().zip(&row).for_each(|(h, v)| *h = h.max(*v));
                    }
                }
                (Kept::Rows(draw), Gather::Rows { whole, .. }) => {
                    let kept = |i: &usize| if *whole { usable(i) } else { clean(i) };
                    for i in (0..samples.len()).filter(kept) {
                        draw.offer(samples[i].key, samples[i].label, rows.row(i).iter().copied());
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
                    Gather::Moments | Gather::Covariance => {
                        sums += 1;
                        Kept::Sum(sums - 1)
                    }
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
            let new = |(_, output, gather): &(String, Option<usize>, Gather)| match gather {
                Gather::Moments => Some(Sum::Moments(Moments::new(width(output)))),
                Gather::Covariance => Some(Sum::Covariance(Covariance::new(width(output)))),
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

fn finite(row: &ArrayView1<'_, f32>) -> bool {
    row.iter().all(|v| v.is_finite())
}

fn add(sum: &mut Sum, rows: &Array2<f32>, picked: &[usize]) -> Result<(), Error> {
    match sum {
        Sum::Moments(moments) => {
            for &i in picked {
                moments.push_rows(&rows.row(i).insert_axis(Axis(0)))?;
            }
        }
        Sum::Covariance(covariance) => {
            covariance.add(rows.select(Axis(0), picked).mapv(f64::from))?;
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
