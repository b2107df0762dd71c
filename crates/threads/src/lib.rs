//! How many threads to use, and a pool of them that works after a fork.
//!
//! A child of `fork` has the memory of its parent and one of its threads. Whoever hands work to a pool that the parent
//! made waits for threads that are not there, and so hangs. Here everything that has threads belongs to a process, and
//! another process makes its own: [`within`] for work that rayon shares out, [`PerProcess`] for anything else.
//!
//! ```
//! use rayon::prelude::*;
//!
//! let sum: u64 = taste_threads::within(|| (0..1000u64).into_par_iter().sum());
//! assert_eq!(sum, 499_500);
//! ```

mod process;

pub use process::PerProcess;

use std::{
    env,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// What [`set`] was told; 0 before.
static SETTING: AtomicUsize = AtomicUsize::new(0);
static POOL: PerProcess<Option<Pool>> = PerProcess::new(None);

#[derive(Clone)]
struct Pool {
    threads: usize,
    pool: Arc<ThreadPool>,
}

/// How many threads to use: as many as are asked for, else what [`set`] was told, else `TASTE_THREADS`, else
/// `OMP_NUM_THREADS`, else as many as the machine has for this process. At least one.
pub fn count(asked: Option<usize>) -> usize {
    let machine = || thread::available_parallelism().map_or(1, usize::from);
    let set = Some(SETTING.load(Relaxed)).filter(|n| *n > 0);
    choose(asked.or(set), |name| env::var(name).ok(), machine)
}

/// Sets how many threads are used where nothing else is asked for; 0 takes the setting back.
pub fn set(threads: usize) {
    SETTING.store(threads, Relaxed);
}

fn choose(
    asked: Option<usize>,
    variable: impl Fn(&str) -> Option<String>,
    machine: impl FnOnce() -> usize,
) -> usize {
    // OpenMP has one number for every level of nesting, with commas between them.
    let number = |name| variable(name)?.split(',').next()?.trim().parse().ok().filter(|n| *n > 0);
    asked
        .or_else(|| number("TASTE_THREADS"))
        .or_else(|| number("OMP_NUM_THREADS"))
        .unwrap_or_else(machine)
        .max(1)
}

/// Runs work whose parallel iterators use the threads of this process, [`count`] of them; within a pool, those of that
/// pool.
pub fn within<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if rayon::current_thread_index().is_some() {
        return work();
    }
    match pool() {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// The pool of this process; nothing if the system gives no thread.
fn pool() -> Option<Arc<ThreadPool>> {
    let threads = count(None);
    POOL.with(|slot| {
        if slot.as_ref().is_none_or(|p| p.threads != threads) {
            let build = |n| ThreadPoolBuilder::new().num_threads(n).thread_name(name).build();
            let pool = build(threads).or_else(|_| build(1)).ok()?;
            *slot = Some(Pool { threads, pool: Arc::new(pool) });
        }
        slot.as_ref().map(|p| p.pool.clone())
    })
}

fn name(thread: usize) -> String {
    format!("taste-{thread}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_comes_first_then_variables_then_the_machine() {
        let with = |asked, taste: &str, omp: &str| {
            let variable = |name: &str| match name {
                "TASTE_THREADS" => Some(taste.to_owned()),
                "OMP_NUM_THREADS" => Some(omp.to_owned()),
                _ => None,
            };
            choose(asked, variable, || 8)
        };
        assert_eq!(with(Some(2), "3", "4"), 2);
        assert_eq!(with(Some(0), "3", "4"), 1);
        assert_eq!(with(None, " 3 ", "4"), 3);
        assert_eq!(with(None, "", "4,2"), 4);
        for wrong in ["", "0", "many", "-1"] {
            assert_eq!(with(None, wrong, wrong), 8, "{wrong:?}");
        }
    }

    #[test]
    fn work_runs_in_the_pool_and_a_setting_changes_it() {
        assert!(rayon::current_thread_index().is_none());
        for threads in [3, 1, 2] {
            set(threads);
            assert_eq!(within(rayon::current_num_threads), threads);
            // Within the pool, the work stays on its thread.
            let nested = within(|| (thread::current().id(), within(|| thread::current().id())));
            assert_eq!(nested.0, nested.1);
        }
        set(0);
    }
}
