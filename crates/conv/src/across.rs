//! Few entries of many samples: a vector has the same entry of several samples.
//!
//! Where pictures have a handful of entries, a vector of neighbours would be mostly empty, and most weights of a window lie beyond the
//! picture. Here every entry of the output has sums over those weights alone that lie within.

use rten_simd::{Isa, ops::BitOps};

use crate::{
    Channels,
    axis::{Direction, Sweep, Window},
    batch::{LANES, LENGTH, Part},
    direct::{Direct, Pass},
    finish::Finish,
    product::{Product, Sink, Taps},
    work::{Work, room},
};

/// The most entries of a picture, and the largest window and stride.
const ENTRIES: usize = 64;
const WINDOW: usize = 16;

/// What is spent on a vector of an entry of an input and of an output beside products, in multiplications of vectors; measured.
const ENTER: usize = 24;
const LEAVE: usize = 64;

/// Whether samples are enough, and pictures small enough.
pub(crate) fn suits(
    windows: [Window; 2],
    samples: usize,
    inner: [usize; 2],
    size: [usize; 2],
) -> bool {
    let small = |s: [usize; 2]| s[0].saturating_mul(s[1]) <= ENTRIES;
    let few = |w: &Window| w.size.max(w.stride) <= WINDOW;
    2 * samples >= LENGTH && small(inner) && small(size) && windows.iter().all(few)
}

/// What all samples cost, in multiplications of vectors.
pub(crate) fn cost(
    direction: Direction,
    windows: [Window; 2],
    channels: Channels,
    samples: usize,
    inner: [usize; 2],
    size: [usize; 2],
) -> usize {
    let along = |axis: usize| -> usize {
        let sweeps = direction.sweeps(windows[axis]);
        let spans = sweeps.iter().flat_map(|s| spans(s, inner[axis], size[axis]));
        spans.map(|s| s.taps.len() * s.outputs.len()).sum()
    };
    let products = along(0) * along(1) * channels.inputs_of_group() * channels.outputs;
    let [cells, area] = [inner, size].map(|s| s[0] * s[1]);
    // With one vector at a time, sums have to wait for each other.
    let each = products * 5 / 4 + ENTER * cells * channels.inputs + LEAVE * area * channels.outputs;
    samples.div_ceil(LENGTH) * each
}

/// Outputs of a sweep that have the same taps within the input.
struct Span {
    taps: Vec<usize>,
    outputs: Vec<usize>,
}

fn spans(sweep: &Sweep, inputs: usize, outputs: usize) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for output in 0..sweep.count(outputs) {
        let start = (output * sweep.stride) as isize;
        let within = |t: &usize| {
            usize::try_from(start + sweep.taps[*t].offset).is_ok_and(|input| input < inputs)
        };
        let taps: Vec<usize> = (0..sweep.taps.len()).filter(within).collect();
        match spans.iter_mut().find(|s| s.taps == taps) {
            Some(span) => span.outputs.push(output),
            None => spans.push(Span { taps, outputs: vec![output] }),
        }
    }
    spans
}

/// Entries of the output with the same taps.
struct Plan<'a> {
    pass: &'a Pass,
    taps: Taps,
    /// Where vectors are read.
    sources: Vec<usize>,
    /// The first sample of each, and the entry of a channel.
    targets: Vec<(usize, usize)>,
}

impl<'a> Plan<'a> {
    /// For the rows and the columns of spans along each sweep.
    fn new(
        pass: &'a Pass,
        [y, x]: [&Sweep; 2],
        [rows, columns]: [&Span; 2],
        part: &Part<'_>,
        lanes: usize,
    ) -> Self {
        let [height, width] = part.inner;
        let image = part.inputs * height * width;
        let offset = |r: usize, c: usize| y.taps[r].offset * width as isize + x.taps[c].offset;
        let pairs = || rows.taps.iter().flat_map(|&r| columns.taps.iter().map(move |&c| (r, c)));
        // Without a tap nothing is read.
        let lowest = pairs().map(|(r, c)| offset(r, c)).min();
        let taps = pairs().map(|(r, c)| {
            (r * x.taps.len() + c, offset(r, c).abs_diff(lowest.unwrap_or(0)) * lanes)
        });
        let taps = Taps::some(taps.collect(), y.taps.len() * x.taps.len());
        let (mut sources, mut targets) = (Vec::new(), Vec::new());
        for &row in &rows.outputs {
            for &column in &columns.outputs {
                let start = (row * y.stride * width + column * x.stride) as isize;
                let place = lowest.and_then(|l| usize::try_from(start + l).ok()).unwrap_or(0);
                let entry = (y.first + row * y.step) * part.size[1] + x.first + column * x.step;
                for first in (0..part.samples).step_by(lanes) {
                    sources.push(first * image + place * lanes);
                    targets.push((first, entry));
                }
            }
        }
        Self { pass, taps, sources, targets }
    }
}

#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
pub(crate) fn run<I: Isa>(direct: &Direct, isa: I, part: &mut Part<'_>, work: &mut Work) {
    let lanes = isa.f32().len();
    let spans = [0, 1].map(|axis| -> Vec<Vec<Span>> {
        let sweeps = direct.sweeps[axis].iter();
        sweeps.map(|s| spans(s, part.inner[axis], part.size[axis])).collect()
    });
    let mut plans = Vec::new();
    for pass in &direct.passes {
        let sweeps = [0, 1].map(|axis| &direct.sweeps[axis][pass.sweeps[axis]]);
        for rows in &spans[0][pass.sweeps[0]] {
            for columns in &spans[1][pass.sweeps[1]] {
                plans.push(Plan::new(pass, sweeps, [rows, columns], part, lanes));
            }
        }
    }
    let cells = part.inner[0] * part.inner[1];
    let length = part.samples.next_multiple_of(lanes) * part.inputs * cells;
    let entered = room(&mut work.entered, length);
    for group in direct.groups(part.channels) {
        enter(part, group.number, lanes, entered);
        for plan in &plans {
            let product = Product {
                weights: &plan.pass.weights[group.number],
                images: entered,
                plane: cells * lanes,
                taps: &plan.taps,
                sources: &plan.sources,
                outputs: group.outputs,
            };
            let mut into = Output {
                targets: &plan.targets,
                group: group.first,
                first: part.channels.0,
                channels: part.channels.1 - part.channels.0,
                area: part.size[0] * part.size[1],
                samples: part.samples,
                finish: &mut part.finish,
            };
            product.run(isa, &mut work.partial, &mut into);
        }
    }
}

/// Writes entries of samples side by side: for every vector of samples, inputs × entries.
fn enter(part: &Part<'_>, group: usize, lanes: usize, entered: &mut [f32]) {
    for (sample, inputs) in part.inputs(group).enumerate() {
        let start = sample / lanes * lanes * inputs.len() + sample % lanes;
        for (value, place) in inputs.iter().zip(entered[start..].iter_mut().step_by(lanes)) {
            *place = *value;
        }
    }
}

/// The output that sums are written to.
struct Output<'a, 'b> {
    finish: &'a mut Finish<'b>,
    targets: &'a [(usize, usize)],
    /// The first channel of the group, the first of the part, and how many that has.
    group: usize,
    first: usize,
    channels: usize,
    /// Entries of a channel.
    area: usize,
    samples: usize,
}

impl<I: Isa> Sink<I> for Output<'_, '_> {
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
        let (lanes, step) = (isa.f32().len(), self.channels * self.area);
        for (o, sums) in sums.iter().enumerate() {
            let channel = self.group + output + o;
            for (&(sample, entry), &sum) in self.targets[vector..vector + count].iter().zip(sums) {
                let mut values = [0.0; LANES];
                isa.f32().store(sum, &mut values);
                let at = (sample * self.channels + channel - self.first) * self.area + entry;
                let values = &values[..lanes.min(self.samples - sample)];
                self.finish.scalars(channel, at, step, values);
            }
        }
    }
}
