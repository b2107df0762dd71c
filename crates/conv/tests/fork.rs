//! A child of a process that has used its threads has none of them, and must not wait for them.
#![cfg(unix)]

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
    time::{Duration, Instant},
};

use rayon::prelude::*;
use taste_conv::{Direction, Filter, Window};

/// A child that takes longer is taken to hang.
const LONGEST: Duration = Duration::from_mins(1);

/// Runs work in a child of this process, which has one thread and the memory of all.
#[expect(unsafe_code, reason = "there is no safe fork")]
fn in_child(work: impl FnOnce() -> bool) -> &'static str {
    // SAFETY: the child runs nothing but `work` and ends without coming back: no destructor of its parent's runs in it.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no child");
    if child == 0 {
        let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or(false);
        // SAFETY: ends the process.
        unsafe { libc::_exit(i32::from(!done)) }
    }
    let start = Instant::now();
    let mut status = 0;
    // SAFETY: waits for the child that was made above, and writes to one integer.
    while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
        if start.elapsed() > LONGEST {
            // SAFETY: the child was not waited for yet, so its number is its own.
            unsafe { libc::kill(child, libc::SIGKILL) };
            // SAFETY: as above.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            return "hangs";
        }
        thread::sleep(Duration::from_millis(5));
    }
    if status == 0 { "is done" } else { "fails" }
}

/// A convolution on three threads.
fn convolved() -> Vec<f32> {
    let window = Window { size: 3, stride: 1, dilation: 1, before: 1, after: 1, extra: 0 };
    let weights: Vec<f32> = (0..4 * 8 * 9).map(|i| ((i * 31) % 11) as f32).collect();
    let filter = Filter::new(Direction::Forward, [window; 2], [4, 8], &weights).expect("a filter");
    let input: Vec<f32> = (0..6 * 4 * 100).map(|i| ((i * 17) % 13) as f32).collect();
    let mut output = vec![0.0; 6 * 8 * 100];
    filter.run(6, [10, 10], &input, &[], &mut output, 3);
    output
}

fn summed() -> u64 {
    taste_threads::within(|| (0..100_000u64).into_par_iter().map(|i| i * i % 7).sum())
}

#[test]
fn a_child_has_threads_of_its_own() {
    taste_threads::set(3);
    let (wanted, sum) = (convolved(), summed());
    for _ in 0..3 {
        assert_eq!(in_child(|| convolved() == wanted && summed() == sum), "is done");
        // A child of a child.
        let nested = || summed() == sum && in_child(|| convolved() == wanted) == "is done";
        assert_eq!(in_child(nested), "is done");
    }
    assert_eq!((convolved(), summed()), (wanted, sum), "in the parent, as ever");
}
