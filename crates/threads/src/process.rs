use std::{
    fmt, mem, process,
    sync::{
        Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

/// How often a lock is tried that a thread of the parent may have held at the fork: then it is never free.
const ATTEMPTS: usize = 100;

/// A value that belongs to one process. A child of `fork` starts with the default of its own, and leaves that of its
/// parent as it is: even to drop a thread pool, one waits for its threads.
#[derive(Default)]
pub struct PerProcess<T> {
    /// The process that the value belongs to; 0 for none yet.
    owner: AtomicU32,
    value: Mutex<T>,
}

impl<T> PerProcess<T> {
    /// A value for the first process that uses it; like the default.
    pub const fn new(value: T) -> Self {
        Self { owner: AtomicU32::new(0), value: Mutex::new(value) }
    }
}

impl<T: Default> PerProcess<T> {
    /// Uses the value of this process; other threads wait.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        self.with_of(process::id(), work)
    }

    fn with_of<R>(&self, process: u32, work: impl FnOnce(&mut T) -> R) -> R {
        let Some(mut value) = self.lock(process) else { return work(&mut T::default()) };
        if self.owner.swap(process, SeqCst) != process {
            mem::forget(mem::take(&mut *value));
        }
        work(&mut value)
    }

    /// Nothing if the lock will never be free.
    fn lock(&self, process: u32) -> Option<MutexGuard<'_, T>> {
        for _ in 0..ATTEMPTS {
            if self.owner.load(SeqCst) == process {
                return Some(self.value.lock().unwrap_or_else(PoisonError::into_inner));
            }
            match self.value.try_lock() {
                Ok(value) => return Some(value),
                Err(TryLockError::Poisoned(e)) => return Some(e.into_inner()),
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
            }
        }
        None
    }
}

impl<T> fmt::Debug for PerProcess<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerProcess").field("owner", &self.owner).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Must not be dropped in another process.
    #[derive(Default)]
    struct Threads(Vec<u32>);

    impl Drop for Threads {
        fn drop(&mut self) {
            assert!(self.0.is_empty(), "dropped with {:?}", self.0);
        }
    }

    #[test]
    fn another_process_has_a_value_of_its_own() {
        let value = PerProcess::<Threads>::default();
        value.with_of(1, |t| t.0.push(10));
        assert_eq!(value.with_of(1, |t| t.0.clone()), [10]);
        assert!(value.with_of(2, |t| t.0.is_empty()));
    }

    #[test]
    fn a_lock_that_was_held_at_the_fork_is_passed_by() {
        let value = PerProcess::<Vec<u32>>::default();
        value.with_of(1, |v| {
            v.push(10);
            // As in a child: the thread that holds the lock goes on elsewhere.
            let in_child = thread::scope(|s| s.spawn(|| value.with_of(2, |v| v.clone())).join());
            assert!(in_child.expect("no panic").is_empty());
        });
        assert_eq!(value.with_of(1, |v| v.clone()), [10]);
    }
}
