//! A pass over the samples of a part: where vectors are read and where they are written.

use rten_simd::{Isa, ops::BitOps};

use crate::{
    batch::{LANES, Part},
    finish::Finish,
    passes::{Group, Pass},
    product::{Product, Sink, Taps},
};

/// Vectors of a pass that have the same taps.
pub(crate) struct Plan<'a> {
    pub(crate) pass: &'a Pass,
    pub(crate) taps: Taps,
    /// Where every vector is read in the first input.
    pub(crate) sources: Vec<usize>,
    /// Where it is written.
    pub(crate) targets: Vec<Target>,
    pub(crate) runs: Vec<Run>,
    /// From one entry of a run to the next, in the output.
    pub(crate) step: usize,
}

/// Where a vector goes in the output of a part, for its first channel.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// All of it, one entry after the other.
    Whole(usize),
    /// In runs: the first, and the one behind the last.
    Runs(usize, usize),
}

/// Neighbouring lanes of a vector, and where the first of them is written.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) lane: usize,
    pub(crate) length: usize,
    pub(crate) at: usize,
}

impl Plan<'_> {
    /// Sums and writes the outputs of a group, whose inputs are planes of `images`.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    pub(crate) fn run<I: Isa>(
        &self,
        isa: I,
        group: Group,
        (images, plane): (&[f32], usize),
        part: &mut Part<'_>,
        partial: &mut Vec<f32>,
    ) {
        let product = Product {
            weights: &self.pass.weights[group.number],
            images,
            plane,
            taps: &self.taps,
            sources: &self.sources,
            outputs: group.outputs,
        };
        let mut output = Output {
            plan: self,
            group: group.first,
            first: part.channels.0,
            area: part.size[0] * part.size[1],
            finish: &mut part.finish,
        };
        product.run(isa, partial, &mut output);
    }
}

/// The output that sums are written to.
struct Output<'a, 'b> {
    plan: &'a Plan<'a>,
    /// The first channel of the group, and the first of the part.
    group: usize,
    first: usize,
    /// Entries of a channel.
    area: usize,
    finish: &'a mut Finish<'b>,
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
        for (o, sums) in sums.iter().enumerate() {
            let channel = self.group + output + o;
            let base = (channel - self.first) * self.area;
            for (target, &sum) in self.plan.targets[vector..vector + count].iter().zip(sums) {
                match *target {
                    Target::Whole(at) => self.finish.vectors(isa, channel, base + at, 0, [sum]),
                    Target::Runs(first, end) => {
                        let mut values = [0.0; LANES];
                        isa.f32().store(sum, &mut values);
                        for run in &self.plan.runs[first..end] {
                            let values = &values[run.lane..run.lane + run.length];
                            self.finish.scalars(channel, base + run.at, self.plan.step, values);
                        }
                    }
                }
            }
        }
    }
}
