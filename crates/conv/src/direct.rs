//! Sums straight from the copy of the input.

use rten_simd::{Isa, ops::BitOps};

use crate::{
    Channels,
    axis::{Direction, Sweep, Window},
    batch::{LANES, LENGTH, Part},
    finish::Finish,
    image::Layout,
    pairs::by_turns,
    product::{self, OUTPUTS, Packed, Product, Taps, VECTORS, blocks},
    spaced,
    strips::{Strip, strips},
    tiles::{Run, Tiles},
    work::{Work, room},
};

/// What is spent on a vector of outputs for every input and output beside products, in multiplications of vectors; measured.
const COPY: usize = 12;
const WRITE: usize = 20;

/// The weights of every pass.
#[derive(Clone, Debug)]
pub(crate) struct Direct {
    pub(crate) sweeps: [Vec<Sweep>; 2],
    pub(crate) passes: Vec<Pass>,
    /// Groups of channels, and how many outputs each has.
    groups: usize,
    outputs: usize,
}

/// The outputs of one sweep along each axis.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    pub(crate) sweeps: [usize; 2],
    taps: Vec<[isize; 2]>,
    /// By group.
    pub(crate) weights: Vec<Packed>,
}

/// A group of channels.
#[derive(Clone, Copy)]
pub(crate) struct Group {
    pub(crate) number: usize,
    /// Its first output.
    pub(crate) first: usize,
    /// Those of its outputs that are in a part: the first, and the one behind the last.
    pub(crate) outputs: (usize, usize),
}

impl Pass {
    /// Where taps read in images of a layout.
    fn taps(&self, layout: &Layout) -> Taps {
        Taps::new(self.taps.iter().map(|&t| layout.tap(t)).collect())
    }

    /// Sums of a group in the vectors that begin at `sources` in images.
    fn product<'a>(
        &'a self,
        group: Group,
        (images, layout): (&'a [f32], &Layout),
        taps: &'a Taps,
        sources: &'a [usize],
    ) -> Product<'a> {
        let weights = &self.weights[group.number];
        Product { weights, images, plane: layout.plane, taps, sources, outputs: group.outputs }
    }
}

/// A pass over the samples of a part.
struct Plan<'a> {
    pass: &'a Pass,
    sweeps: [&'a Sweep; 2],
    taps: Taps,
    tiles: Tiles,
    /// Where vectors are read, and where they go.
    sources: Vec<usize>,
    targets: Vec<Target>,
    /// Entries of a row of the output.
    width: usize,
}

/// Where a vector goes in a part of the output, for its first channel.
#[derive(Clone, Copy)]
enum Target {
    /// All of it, one entry after the other.
    Whole(usize),
    /// In runs of a tile, from where a sample begins.
    Runs { sample: usize, tile: usize },
}

impl<'a> Plan<'a> {
    /// Nothing if the pass has no outputs.
    fn new(
        pass: &'a Pass,
        sweeps: [&'a Sweep; 2],
        layout: &Layout,
        part: &Part<'_>,
        lanes: usize,
    ) -> Option<Self> {
        let ([height, width], channels) = (part.size, part.channels.1 - part.channels.0);
        let counts = [sweeps[0].count(height), sweeps[1].count(width)];
        if counts.contains(&0) {
            return None;
        }
        let tiles = Tiles::new(counts, layout.row(), lanes);
        let images = (0..part.samples).map(|s| s * part.inputs * layout.plane);
        let sources = images.flat_map(|i| tiles.sources().map(move |t| i + t)).collect();
        let taps = pass.taps(layout);
        let mut plan = Self { pass, sweeps, taps, tiles, sources, targets: Vec::new(), width };
        let target = |sample: usize, tile: usize| match plan.tiles.runs(tile) {
            [run] if run.length == lanes && sweeps[1].step == 1 => {
                Target::Whole(sample + plan.place(run))
            }
            _ => Target::Runs { sample, tile },
        };
        let samples = (0..part.samples).map(|s| s * channels * height * width);
        plan.targets =
            samples.flat_map(|s| (0..plan.tiles.len()).map(move |t| target(s, t))).collect();
        Some(plan)
    }

    /// Where a run begins in a channel.
    fn place(&self, run: &Run) -> usize {
        let [y, x] = self.sweeps;
        (y.first + run.row * y.step) * self.width + x.first + run.column * x.step
    }
}

impl Direct {
    /// What an output of a size costs, in multiplications of vectors.
    pub(crate) fn cost(
        direction: Direction,
        windows: [Window; 2],
        channels: Channels,
        size: [usize; 2],
    ) -> usize {
        let pairs = channels.inputs_of_group() * channels.outputs;
        // Every output of a transposed convolution has a share of the weights alone.
        let taps = windows.map(|w| match direction {
            Direction::Forward => w.size,
            Direction::Transposed => w.size.div_ceil(w.stride),
        });
        let vectors = Tiles::count(size, size[1] + windows[1].size - 1, LENGTH);
        vectors * (taps[0] * taps[1] * pairs + COPY * channels.inputs + WRITE * channels.outputs)
    }

    /// From the weight of a group, an output and an input of it, a row and a column of the window.
    pub(crate) fn new(
        direction: Direction,
        windows: [Window; 2],
        channels: Channels,
        weight: impl Fn(usize, [usize; 2], [usize; 2]) -> f32,
    ) -> Self {
        let (groups, inputs, outputs) =
            (channels.groups, channels.inputs_of_group(), channels.outputs_of_group());
        let sweeps = windows.map(|w| direction.sweeps(w));
        let mut passes = Vec::new();
        for (y, rows) in sweeps[0].iter().enumerate() {
            for (x, columns) in sweeps[1].iter().enumerate() {
                let pairs = rows.taps.iter().flat_map(|r| columns.taps.iter().map(move |c| (r, c)));
                let pairs: Vec<_> = pairs.collect();
                let weights = (0..groups).map(|group| {
                    Packed::new([outputs, inputs, pairs.len()], |output, input, tap| {
                        let (row, column) = pairs[tap];
                        weight(group, [output, input], [row.weight, column.weight])
                    })
                });
                let weights = weights.collect();
                let taps = pairs.iter().map(|(r, c)| [r.offset, c.offset]).collect();
                passes.push(Pass { sweeps: [y, x], taps, weights });
            }
        }
        Self { sweeps, passes, groups, outputs }
    }

    fn sweeps(&self) -> [&[Sweep]; 2] {
        [&self.sweeps[0], &self.sweeps[1]]
    }

    /// The sizes of blocks of channels that are summed together.
    pub(crate) fn blocks(&self) -> Vec<usize> {
        let group = blocks(self.outputs, OUTPUTS);
        (0..self.groups).flat_map(|_| group.clone()).collect()
    }

    /// The groups of channels.
    pub(crate) fn groups(&self, (start, end): (usize, usize)) -> impl Iterator<Item = Group> {
        let per_group = self.outputs;
        (start / per_group..end.div_ceil(per_group)).map(move |number| {
            let first = number * per_group;
            let outputs = (start.saturating_sub(first), per_group.min(end - first));
            Group { number, first, outputs }
        })
    }

    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    pub(crate) fn run<I: Isa>(&self, isa: I, part: &mut Part<'_>, work: &mut Work) {
        let lanes = isa.f32().len();
        let by_two = |sweeps: &Vec<Sweep>| sweeps.iter().all(|s| s.step == 2);
        if self.sweeps.iter().all(by_two) {
            return self.run_by_two(isa, part, work);
        }
        let layout = Layout::new(part.inner, part.size, self.sweeps());
        let plans: Vec<Plan<'_>> = self
            .passes
            .iter()
            .filter_map(|pass| {
                let sweeps = [0, 1].map(|axis| &self.sweeps[axis][pass.sweeps[axis]]);
                Plan::new(pass, sweeps, &layout, part, lanes)
            })
            .collect();
        let (area, first) = (part.size[0] * part.size[1], part.channels.0);
        for group in self.groups(part.channels) {
            let images = (work.images.copy(&layout, part, group.number), &layout);
            for plan in &plans {
                let product = plan.pass.product(group, images, &plan.taps, &plan.sources);
                let finish = &mut part.finish;
                let mut into = Output { finish, plan, group: group.first, first, area };
                product.run(isa, &mut work.partial, &mut into);
            }
        }
    }

    /// The four passes of a transposed convolution with a stride of two, written together.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn run_by_two<I: Isa>(&self, isa: I, part: &mut Part<'_>, work: &mut Work) {
        let ops = isa.f32();
        // A vector of each pass makes two strips.
        let strips = strips(part, ops.len(), 2);
        let layout = Layout::new(part.inner, part.size, self.sweeps());
        let (image, width) = (part.inputs * layout.plane, layout.row());
        let place = |s: &Strip| s.sample * image + s.row / 2 * width + s.column / 2;
        let sources: Vec<usize> = strips.iter().step_by(2).map(place).collect();
        let taps: Vec<Taps> = self.passes.iter().map(|pass| pass.taps(&layout)).collect();
        let row = (sources.len() + VECTORS) * ops.len();
        let size = self.outputs * row + LANES;
        let summed = room(&mut work.summed, self.passes.len() * size);
        for group in self.groups(part.channels) {
            let images = (work.images.copy(&layout, part, group.number), &layout);
            let (first, end) = group.outputs;
            let passes = self.passes.iter().zip(&taps).zip(summed.chunks_exact_mut(size));
            for ((pass, taps), into) in passes {
                let product = pass.product(group, images, taps, &sources);
                product.run(isa, &mut work.partial, &mut Sums { into, row, first });
            }
            for output in first..end {
                let mut channel = part.channel(group.first + output - part.channels.0);
                for (i, pair) in strips.chunks_exact(2).enumerate() {
                    let at = (output - first) * row + i * ops.len();
                    let [a, b, c, d] = spaced::load(isa, summed, at, size);
                    channel.write(isa, pair, [by_turns(isa, [a, b]), by_turns(isa, [c, d])]);
                }
            }
        }
    }
}

/// Sums of one pass for every output.
struct Sums<'a> {
    into: &'a mut [f32],
    /// From one output to the next.
    row: usize,
    /// The first output.
    first: usize,
}

impl<I: Isa> product::Sink<I> for Sums<'_> {
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn block<const OC: usize, const V: usize>(
        &mut self,
        isa: I,
        output: usize,
        vector: usize,
        _count: usize,
        sums: &[[I::F32; V]; OC],
    ) {
        let ops = isa.f32();
        let start = (output - self.first) * self.row + vector * ops.len();
        for (o, sums) in sums.iter().enumerate() {
            // Vectors beyond the last one are not read.
            let row = &mut self.into[start + o * self.row..][..V * ops.len()];
            for (&sum, place) in sums.iter().zip(row.chunks_exact_mut(ops.len())) {
                ops.store(sum, place);
            }
        }
    }
}

/// The output that sums are written to.
struct Output<'a, 'b> {
    finish: &'a mut Finish<'b>,
    plan: &'a Plan<'a>,
    /// The first channel of the group, and the first of the part.
    group: usize,
    first: usize,
    /// Entries of a channel.
    area: usize,
}

impl<I: Isa> product::Sink<I> for Output<'_, '_> {
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn block<const OC: usize, const V: usize>(
        &mut self,
        isa: I,
        output: usize,
        vector: usize,
        count: usize,
        sums: &[[I::F32; V]; OC],
    ) {
        for (o, sums) in sums.iter().enumerate() {
            let channel = self.group + output + o;
            let base = (channel - self.first) * self.area;
            for (target, &sum) in self.plan.targets[vector..vector + count].iter().zip(sums) {
                match *target {
                    Target::Whole(at) => self.finish.vectors(isa, channel, base + at, [sum]),
                    Target::Runs { sample, tile } => {
                        let mut values = [0.0; LANES];
                        isa.f32().store(sum, &mut values);
                        for run in self.plan.tiles.runs(tile) {
                            let values = &values[run.lane..run.lane + run.length];
                            let at = sample + base + self.plan.place(run);
                            self.finish.scalars(channel, at, self.plan.sweeps[1].step, values);
                        }
                    }
                }
            }
        }
    }
}
