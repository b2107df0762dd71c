//! Sums straight from the copy of the input: a vector has neighbouring outputs.

use rten_simd::{Isa, ops::BitOps};

use crate::{
    Channels,
    axis::{Direction, Window},
    batch::{LENGTH, Part},
    image::Layout,
    passes::{Pass, Passes},
    plan::{Plan, Run, Target},
    tiles::{self, Tiles},
    work::Work,
};

/// What is spent on a vector of outputs for every input and output beside products, in multiplications of vectors; measured.
const COPY: usize = 12;
const WRITE: usize = 20;

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

#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
pub(crate) fn run<I: Isa>(passes: &Passes, isa: I, part: &mut Part<'_>, work: &mut Work) {
    let layout = Layout::new(part.inner, part.size, &passes.sweeps);
    let plan = |pass| plan(passes, pass, &layout, part, isa.f32().len());
    let plans: Vec<Plan<'_>> = passes.each.iter().filter_map(plan).collect();
    for group in passes.groups(part.channels) {
        let images = match part.all_inputs() {
            // Where windows have one entry, no vector reaches beyond what it sums. An adjoint with a stride takes a pass for
            // each place within a step, and looks further.
            Some(inputs)
                if passes.each.len() == 1 && layout.is_plain() && part.inner == part.size =>
            {
                inputs
            }
            _ => work.images.copy(&layout, part, group.number),
        };
        let images = (images, layout.plane);
        for plan in &plans {
            plan.run(isa, group, images, part, &mut work.partial);
        }
    }
}

/// Nothing if the pass has no outputs.
fn plan<'a>(
    passes: &Passes,
    pass: &'a Pass,
    layout: &Layout,
    part: &Part<'_>,
    lanes: usize,
) -> Option<Plan<'a>> {
    let ([height, width], channels) = (part.size, part.channels.1 - part.channels.0);
    let [y, x] = passes.of(pass);
    let counts = [y.count(height), x.count(width)];
    if counts.contains(&0) {
        return None;
    }
    // Without a border between them, rows are one. A single column may be one of an adjoint with a stride, whose next column
    // would be the next but one.
    let tiles = if counts == part.size && layout.row() == width && x.step == 1 {
        Tiles::new([1, height * width], height * width, lanes)
    } else {
        Tiles::new(counts, layout.row(), lanes)
    };
    let vectors = part.samples * tiles.len();
    let (mut sources, mut targets) = (Vec::with_capacity(vectors), Vec::with_capacity(vectors));
    let mut runs = Vec::new();
    for sample in 0..part.samples {
        let start = sample * channels * height * width;
        sources.extend(tiles.sources().map(|t| sample * part.inputs * layout.plane + t));
        let place = |run: &tiles::Run| {
            let (row, column) = (y.first + run.row * y.step, x.first + run.column * x.step);
            start + row * width + column
        };
        for tile in 0..tiles.len() {
            targets.push(match tiles.runs(tile) {
                [run] if run.length == lanes && x.step == 1 => Target::Whole(place(run)),
                kept => {
                    let first = runs.len();
                    runs.extend(kept.iter().map(|run| Run {
                        lane: run.lane,
                        length: run.length,
                        at: place(run),
                    }));
                    Target::Runs(first, runs.len())
                }
            });
        }
    }
    Some(Plan { pass, taps: layout.taps([y, x]), sources, targets, runs, step: x.step })
}
