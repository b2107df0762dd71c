//! A pass on this machine.

use taste_data::Samples;

use super::{Gathered, Plan, PlanParts, Source, State, Watch, Worker};
use crate::{Engine, Error, Progress, Stage, divide::Share, progress::report};

/// Entries that are read at once.
const READ: usize = 1 << 20;

/// Goes through all data, once.
pub(crate) fn run(
    plan: &Plan,
    data: &dyn Samples,
    engine: &Engine,
    progress: &Progress<'_>,
) -> Result<State, Error> {
    let parts = plan.parts();
    let total = data.count().map(|n| parts.share.count(n));
    let tell = |done| report(progress, Stage { purpose: &parts.purpose, done, total });
    tell(0)?;
    let mut worker = Worker::new(plan, engine, 0)?;
    let entries = parts.sample_shape.iter().product::<usize>().max(1);
    let rows = (READ / entries).clamp(16, 4096);
    let chunks = match data.count() {
        Some(_) => data.chunks_where(rows, Box::new(|row| plan.holds(row as u64)))?,
        // Its rows are counted on the way.
        None => data.chunks(rows)?,
    };
    let mut end = 0;
    for chunk in chunks {
        let chunk = chunk?;
        end = chunk.index.last().map_or(end, |last| *last as u64 + 1);
        worker.update(&chunk)?;
        tell(worker.taken())?;
    }
    worker.finish(data.count().map_or(end, |count| count as u64))
}

/// Gathers something of samples as they are, all of them, on this machine.
pub fn gather_inputs(
    samples: &dyn Samples,
    watches: &[Watch],
    progress: &Progress<'_>,
) -> Result<Gathered, Error> {
    const CHUNK: usize = 1024;
    let gathers = watches.iter().map(|w| (w.name.clone(), None, w.gather)).collect();
    let plan = Plan::new(PlanParts {
        purpose: "samples".to_owned(),
        source: Source::Train,
        share: Share::ALL,
        // One block: nothing is cut here, and data may be a part of a set.
        block: u64::MAX,
        chunk: CHUNK,
        sample_shape: samples.sample_shape().to_vec(),
        may_miss: false,
        strict: true,
        gathers,
        network: None,
    });
    run(&plan, samples, &Engine::default(), progress)?.finish(&plan)
}
