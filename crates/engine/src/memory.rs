//! How much memory a graph needs.

use std::collections::HashMap;

use taste_graph::{Graph, Id};

/// Bytes of one element in the engines.
const ELEMENT: usize = 4;
/// More samples at once do not make a run faster.
const MOST: usize = 1024;
/// Nor do more bytes of values: each thread runs a few samples at a time, and engines take several times as much as values
/// do, for scratch and for what they free late.
const USEFUL: usize = 32 << 20;
/// As many samples as keep a few threads busy, whatever they take.
const BUSY: usize = 2;

/// Lets freed memory stay with the program, where the C library would hand it back: engines ask for the same large blocks run
/// after run, and fresh pages cost more than most operators. For programs to call once, first of all.
#[expect(unsafe_code, reason = "the C library has no other way to be told")]
pub fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt changes parameters of the allocator alone, and takes any numbers.
    unsafe {
        libc::mallopt(libc::M_MMAP_MAX, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        // What one thread frees, any other takes.
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// The most bytes that are live at once when a graph runs, values in order and freed after last use.
fn peak(graph: &Graph, ends: &[Id], batch: usize) -> usize {
    let order = graph.ancestors(ends, &[]);
    let bytes = |id: Id| -> usize {
        if graph.as_constant(id).is_some() {
            return 0;
        }
        let sizes = graph.fact(id).at(batch).shape;
        sizes.iter().fold(ELEMENT, |p, &d| p.saturating_mul(d))
    };
    let mut uses: HashMap<Id, usize> = HashMap::new();
    for arg in order.iter().flat_map(|&n| &graph.nodes()[n].args).chain(ends) {
        *uses.entry(*arg).or_default() += 1;
    }
    let (mut live, mut most) = (0usize, 0usize);
    for n in order {
        let node = &graph.nodes()[n];
        live = node.outs.iter().fold(live, |l, o| l.saturating_add(bytes(*o)));
        most = most.max(live);
        for arg in &node.args {
            if let Some(left) = uses.get_mut(arg) {
                *left -= 1;
                if *left == 0 {
                    live = live.saturating_sub(bytes(*arg));
                }
            }
        }
    }
    most
}

/// How many samples fit into `budget` bytes.
pub(crate) fn chunk(graph: &Graph, outputs: &[(String, Id)], budget: usize) -> usize {
    let ends: Vec<Id> = outputs.iter().map(|o| o.1).collect();
    let (one, two) = (peak(graph, &ends, 1), peak(graph, &ends, 2));
    let each = two.saturating_sub(one).max(1);
    let base = one.saturating_sub(each);
    (budget.saturating_sub(base) / each).clamp(1, MOST)
}

/// How many samples at once are worth their memory, within `budget` bytes.
pub(crate) fn useful(graph: &Graph, outputs: &[(String, Id)], budget: usize) -> usize {
    let most = chunk(graph, outputs, budget);
    most.min(chunk(graph, outputs, USEFUL.min(budget)).max(BUSY))
}

/// How many directions at once fit into `budget` bytes with a few samples.
pub(crate) fn lanes(graph: &Graph, f: Id, budget: usize) -> usize {
    const SAMPLES: usize = 8;
    (budget / lane(graph, f).saturating_mul(SAMPLES)).clamp(8, 4096)
}

/// The bytes that one direction takes with one sample.
pub(crate) fn lane(graph: &Graph, f: Id) -> usize {
    // Tangents are live beside squares and products of the same size.
    const COPIES: usize = 4;
    peak(graph, &[f], 1).saturating_mul(COPIES).max(1)
}
