//! Adjoints of convolutions with a stride of two: their four passes are written together, as each has every other output alone.
//!
//! Written one after the other, a pass could not write vectors: its outputs lie two apart. So the sums of all four are kept, and
//! two vectors of neighbours are made of one of each pass.

use rten_simd::{Isa, ops::BitOps};

use crate::{
    axis::{Direction, Window},
    batch::{LANES, Part},
    image::Layout,
    pairs::by_turns,
    passes::Passes,
    product::{Product, Sink, Taps, VECTORS},
    spaced,
    strips::{Strip, strips},
    work::{Work, room},
};

/// Whether it applies; it costs what sums straight from the copy cost.
pub(crate) fn suits(direction: Direction, windows: [Window; 2]) -> bool {
    direction == Direction::Transposed && windows.iter().all(|w| w.stride == 2)
}

#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
pub(crate) fn run<I: Isa>(passes: &Passes, isa: I, part: &mut Part<'_>, work: &mut Work) {
    let lanes = isa.f32().len();
    // A vector of each pass makes two strips.
    let strips = strips(part, lanes, 2);
    let layout = Layout::new(part.inner, part.size, &passes.sweeps);
    let (image, width) = (part.inputs * layout.plane, layout.row());
    let place = |s: &Strip| s.sample * image + s.row / 2 * width + s.column / 2;
    let sources: Vec<usize> = strips.iter().step_by(2).map(place).collect();
    let taps: Vec<Taps> = passes.each.iter().map(|p| layout.taps(passes.of(p))).collect();
    let row = (sources.len() + VECTORS) * lanes;
    let size = passes.outputs * row + LANES;
    let summed = room(&mut work.summed, taps.len() * size);
    for group in passes.groups(part.channels) {
        let images = work.images.copy(&layout, part, group.number);
        let (first, end) = group.outputs;
        let each = passes.each.iter().zip(&taps).zip(summed.chunks_exact_mut(size));
        for ((pass, taps), into) in each {
            let product = Product {
                weights: &pass.weights[group.number],
                images,
                plane: layout.plane,
                taps,
                sources: &sources,
                outputs: group.outputs,
            };
            product.run(isa, &mut work.partial, &mut Sums { into, row, first });
        }
        for output in first..end {
            let mut channel = part.channel(group.first + output - part.channels.0);
            for (i, pair) in strips.chunks_exact(2).enumerate() {
                let at = (output - first) * row + i * lanes;
                let [a, b, c, d] = spaced::load(isa, summed, at, size);
                channel.write(isa, pair, [by_turns(isa, [a, b]), by_turns(isa, [c, d])]);
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

impl<I: Isa> Sink<I> for Sums<'_> {
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
