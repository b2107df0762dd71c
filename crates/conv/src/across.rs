//! Few entries of many samples: a vector has the same entry of several samples.
//!
//! Where images have a handful of entries, a vector of neighbours would be mostly empty, and most weights of a window lie beyond the
//! image. Here every entry of the output has sums over those weights alone that lie within.

use rten_simd::{Isa, ops::BitOps};

use crate::{
    Channels,
    axis::{Direction, Sweep, Window},
    batch::{LENGTH, Part},
    passes::{Pass, Passes},
    plan::{Plan, Run, Target},
    product::Taps,
    work::{Work, room},
};

/// The most entries of an image, and the largest window and stride.
const ENTRIES: usize = 64;
const WINDOW: usize = 16;

/// What is spent on a vector of an entry of an input and of an output beside products, in multiplications of vectors; measured.
const ENTER: usize = 24;
const LEAVE: usize = 64;

/// Whether samples are enough, and images small enough.
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

/// What entries do that have the rows and columns of spans along each sweep.
fn plan<'a>(
    pass: &'a Pass,
    [y, x]: [&Sweep; 2],
    [rows, columns]: [&Span; 2],
    part: &Part<'_>,
    lanes: usize,
) -> Plan<'a> {
    let ([height, width], channels) = (part.inner, part.channels.1 - part.channels.0);
    let (image, per_sample) =
        (part.inputs * height * width, channels * part.size[0] * part.size[1]);
    let offset = |r: usize, c: usize| y.taps[r].offset * width as isize + x.taps[c].offset;
    let pairs = || rows.taps.iter().flat_map(|&r| columns.taps.iter().map(move |&c| (r, c)));
    // Without a tap nothing is read.
    let lowest = pairs().map(|(r, c)| offset(r, c)).min();
    let taps = pairs()
        .map(|(r, c)| (r * x.taps.len() + c, offset(r, c).abs_diff(lowest.unwrap_or(0)) * lanes));
    let taps = Taps::some(taps.collect(), y.taps.len() * x.taps.len());
    let (mut sources, mut targets, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    for &row in &rows.outputs {
        for &column in &columns.outputs {
            let start = (row * y.stride * width + column * x.stride) as isize;
            let place = lowest.and_then(|l| usize::try_from(start + l).ok()).unwrap_or(0);
            let entry = (y.first + row * y.step) * part.size[1] + x.first + column * x.step;
            for first in (0..part.samples).step_by(lanes) {
                sources.push(first * image + place * lanes);
                targets.push(Target::Runs(runs.len(), runs.len() + 1));
                let length = lanes.min(part.samples - first);
                runs.push(Run { lane: 0, length, at: first * per_sample + entry });
            }
        }
    }
    Plan { pass, taps, sources, targets, runs, step: per_sample }
}

#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
pub(crate) fn run<I: Isa>(passes: &Passes, isa: I, part: &mut Part<'_>, work: &mut Work) {
    let lanes = isa.f32().len();
    let spans = [0, 1].map(|axis| -> Vec<Vec<Span>> {
        let sweeps = passes.sweeps[axis].iter();
        sweeps.map(|s| spans(s, part.inner[axis], part.size[axis])).collect()
    });
    let mut plans = Vec::new();
    for pass in &passes.each {
        for rows in &spans[0][pass.sweeps[0]] {
            for columns in &spans[1][pass.sweeps[1]] {
                plans.push(plan(pass, passes.of(pass), [rows, columns], part, lanes));
            }
        }
    }
    let plane = part.inner[0] * part.inner[1] * lanes;
    let vectors = part.samples.div_ceil(lanes);
    let entered = room(&mut work.entered, vectors * part.inputs * plane);
    for group in passes.groups(part.channels) {
        enter(part, group.number, lanes, entered);
        for plan in &plans {
            plan.run(isa, group, (&*entered, plane), part, &mut work.partial);
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
