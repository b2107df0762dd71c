//! A fit on data that are cut into parts, with a worker for each.

use std::ops::Range;

use ndarray::{Axis, Slice};
use taste_data::{Chunk, InMemory, Samples};
use taste_detector::{
    Described, Detector, Engine, Error, Fit, Next,
    passes::{Plan, State, Worker},
};
use taste_stats::random::Random;

/// What a worker makes of some rows, on its way as bytes.
pub(crate) fn state(plan: &Plan, data: &InMemory, rows: Range<usize>, engine: &Engine) -> State {
    let plan = Plan::from_bytes(&plan.to_bytes().expect("bytes")).expect("a plan");
    let mut worker = Worker::new(&plan, engine, rows.start as u64).expect("a worker");
    // Some rows at a time, whatever the plan's own chunks are.
    for start in rows.clone().step_by(13) {
        let index: Vec<usize> = (start..rows.end.min(start + 13)).collect();
        let span = Slice::from(start..start + index.len());
        let values = data.values().slice_axis(Axis(0), span).to_owned();
        worker.update(&Chunk { index, values, labels: None, kept: Vec::new() }).expect("rows");
    }
    let bytes = worker.finish(rows.end as u64).expect("a state").to_bytes().expect("bytes");
    State::from_bytes(&bytes).expect("a state")
}

/// Merges states pair by pair, in random order.
pub(crate) fn merged(mut states: Vec<State>, random: &mut Random) -> Result<State, Error> {
    while states.len() > 1 {
        let one = states.swap_remove(random.below(states.len()));
        let at = random.below(states.len());
        states[at].merge(one)?;
    }
    Ok(states.swap_remove(0))
}

/// Fits with the data of every pass cut at `borders`, which may lie anywhere and come twice.
pub(crate) fn fit_in_parts(
    fit: &Fit<'_>,
    data: &InMemory,
    engine: &Engine,
    random: &mut Random,
    borders: impl Fn(&Plan, &mut Random) -> Vec<usize>,
) -> Result<Detector, Error> {
    let described = Described::of(data);
    let rows = data.count().unwrap_or(0);
    let mut fitting = fit.start(&described, None)?;
    loop {
        match fitting.next()? {
            Next::Pass(plan) => {
                let mut cuts = borders(&plan, random);
                cuts.extend([0, rows]);
                cuts.sort_unstable();
                let states =
                    cuts.windows(2).map(|w| state(&plan, data, w[0]..w[1], engine)).collect();
                fitting.take(&plan, merged(states, random)?)?;
            }
            Next::Samples { from, to } => panic!("samples from {from} to {to} in one place"),
            Next::Done(detector) => return Ok(*detector),
        }
    }
}

/// Cuts into so many parts, at the borders of blocks. Some parts may be empty.
pub(crate) fn at_blocks(plan: &Plan, random: &mut Random, rows: usize, parts: usize) -> Vec<usize> {
    let block = usize::try_from(plan.block()).expect("a small block");
    (1..parts).map(|_| (random.below(rows.div_ceil(block) + 1) * block).min(rows)).collect()
}
