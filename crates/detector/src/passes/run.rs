//! A pass on this machine.

use taste_data::Samples;

use super::{Plan, State, Worker};
use crate::{
    Engine, Error, Progress, Stage,
    progress::report,
};

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
    let mut worker = Worker::new(plan, engine)?;
    let entries = parts.sample_shape.iter().product::<usize>().max(1);
    for chunk in data.chunks((READ / entries).clamp(16, 4096))? {
        worker.update(&chunk?)?;
        tell(worker.taken())?;
    }
    worker.finish()
}
