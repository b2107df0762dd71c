//! A session that was made before a fork runs in the child, and so does one that is made there.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
    time::{Duration, Instant},
};

use ndarray::{Array2, ArrayD};
use taste_engine::{Backend, Value};
use taste_graph::{Build, Dim, Fact, Graph, Id};
use taste_stats::{linear, permutation::two_sample};

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

fn numbers(rows: usize, columns: usize, mut seed: u64) -> Array2<f64> {
    Array2::from_shape_simple_fn((rows, columns), || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    })
}

/// tanh(x·w) for a constant w.
fn network() -> (Graph, Vec<(String, Id)>) {
    let mut graph = Graph::new();
    let x = graph.input("x", Fact::float(vec![Dim::BATCH, Dim::from(16)]));
    let mut b = Build::new(&mut graph);
    let w = b.graph_mut().constant(numbers(16, 16, 1).into_dyn().into());
    let product = taste_ops::functions::matmul(&mut b, x, w).expect("a product");
    let y = taste_ops::functions::tanh(&mut b, product).expect("a tanh");
    (graph, vec![("y".to_owned(), y)])
}

#[expect(clippy::cast_possible_truncation, reason = "single precision")]
#[test]
fn sessions_and_statistics_run_in_a_child() {
    let x: ArrayD<f32> = numbers(64, 16, 2).mapv(|v| v as f32).into_dyn();
    let (graph, outputs) = network();
    let compile = || Backend::RTEN.compile(&graph, &outputs, 2).expect("a session");
    let session = compile();
    let run = || session.run(&[("x", &x)]).expect("runs");
    let (reference, batch) = (numbers(200, 3, 3), numbers(90, 3, 4));
    let test = || two_sample(&reference.view(), &batch.view(), 199, 0).expect("a test");
    let large = numbers(300, 200, 5);
    let product = || linear::gram(&large);
    let wanted = (run(), test(), product());
    assert_eq!(in_child(|| run() == wanted.0), "is done", "a session");
    assert_eq!(in_child(|| test() == wanted.1), "is done", "permutations");
    assert_eq!(in_child(|| product() == wanted.2), "is done", "a product");
    let anew = || {
        let near = |a: &Value, b: &Value| {
            (a.to_f64() - b.to_f64()).iter().all(|difference| difference.abs() < 1e-6)
        };
        compile().run(&[("x", &x)]).is_ok_and(|found| near(&found[0], &wanted.0[0]))
    };
    assert_eq!(in_child(anew), "is done", "a session that the child makes");
    assert_eq!(run(), wanted.0, "in the parent, as ever");
}
