//! Speed of the shapes that small networks are made of, in Gflop/s on one thread: `cargo run --release -p taste-conv --example speed`;
//! with `avx2` behind it, by vectors of AVX2 where there are longer ones.

use std::{env, hint::black_box, time::Instant};

use taste_conv::{Channels, Direction, Filter, Window, without_avx512};

use Direction::{Forward, Transposed};

/// Direction, window, stride, channels that go in and come out, rows and columns.
const DENSE: [(Direction, usize, usize, usize, usize, usize); 19] = [
    (Forward, 3, 1, 3, 16, 32),
    (Forward, 3, 1, 16, 16, 32),
    (Forward, 3, 1, 32, 32, 16),
    (Forward, 3, 1, 64, 64, 8),
    (Forward, 3, 2, 16, 32, 32),
    (Transposed, 3, 2, 32, 16, 16),
    (Transposed, 3, 1, 16, 3, 32),
    (Transposed, 3, 1, 64, 1, 28),
    (Forward, 3, 1, 64, 192, 32),
    (Forward, 3, 1, 192, 384, 16),
    (Forward, 3, 1, 384, 256, 16),
    (Forward, 3, 1, 256, 256, 7),
    (Forward, 3, 1, 64, 64, 56),
    (Forward, 3, 1, 512, 512, 4),
    (Forward, 3, 2, 3, 32, 224),
    (Forward, 1, 1, 16, 96, 112),
    (Forward, 1, 1, 144, 24, 56),
    (Forward, 1, 1, 64, 384, 14),
    (Forward, 1, 1, 960, 320, 7),
];

/// Channels that each have a window of their own: window, stride, channels, rows and columns.
const APART: [(usize, usize, usize, usize); 15] = [
    (3, 1, 32, 112),
    (3, 2, 96, 112),
    (3, 1, 144, 56),
    (3, 2, 144, 56),
    (3, 1, 192, 28),
    (5, 1, 240, 28),
    (3, 2, 192, 28),
    (5, 2, 144, 56),
    (5, 2, 240, 28),
    (3, 1, 384, 14),
    (3, 2, 576, 14),
    (5, 1, 480, 14),
    (5, 2, 672, 14),
    (5, 1, 1152, 7),
    (3, 1, 960, 7),
];

#[expect(clippy::print_stdout, reason = "its only result")]
fn main() {
    if env::args().nth(1).as_deref() == Some("avx2") {
        without_avx512();
    }
    for (direction, size, stride, inputs, outputs, side) in DENSE {
        let speed = speed(direction, size, stride, [inputs, outputs].into(), side);
        println!(
            "{direction:?} {size}×{size} stride {stride}, {inputs} to {outputs} channels, {side}²: {speed:.1} Gflop/s"
        );
    }
    for (size, stride, channels, side) in APART {
        let each = Channels { inputs: channels, outputs: channels, groups: channels };
        let speed = speed(Forward, size, stride, each, side);
        println!(
            "{size}×{size} stride {stride}, {channels} channels apart, {side}²: {speed:.1} Gflop/s"
        );
    }
}

fn speed(direction: Direction, size: usize, stride: usize, channels: Channels, side: usize) -> f64 {
    let around = size / 2;
    let window =
        Window { size, stride, dilation: 1, before: around, after: around, extra: stride - 1 };
    let Channels { inputs, outputs, groups } = channels;
    let pairs = inputs * outputs / groups;
    let weights: Vec<f32> = (0..pairs * size * size).map(|i| ((i * 31) % 11) as f32).collect();
    let filter = Filter::new(direction, [window; 2], channels, &weights).expect("a filter");
    let samples = if side > 64 { 1 } else { 16 };
    let result = filter.output_size([side; 2]).expect("a size");
    let input = vec![1.0; samples * inputs * side * side];
    let mut output = vec![0.0; samples * outputs * result[0] * result[1]];
    let windows = if direction == Forward { result[0] * result[1] } else { side * side };
    let work = 2 * samples * pairs * size * size * windows;
    let mut best = f64::MAX;
    for _ in 0..(3_000_000_000 / work).clamp(3, 300) {
        let start = Instant::now();
        filter.run(samples, [side; 2], black_box(&input), &[], &mut output, 1);
        best = best.min(start.elapsed().as_secs_f64());
    }
    work as f64 / best / 1e9
}
