//! Speed of the shapes that small networks are made of, in Gflop/s on one thread: `cargo run --release -p taste-conv --example speed`.

use std::{hint::black_box, time::Instant};

use taste_conv::{Direction, Filter, Window};

#[expect(clippy::print_stdout, reason = "its only result")]
fn main() {
    let same =
        |stride| Window { size: 3, stride, dilation: 1, before: 1, after: 1, extra: stride - 1 };
    for (direction, stride, inputs, outputs, side) in [
        (Direction::Forward, 1, 3, 16, 32),
        (Direction::Forward, 1, 16, 16, 32),
        (Direction::Forward, 1, 32, 32, 16),
        (Direction::Forward, 1, 64, 64, 8),
        (Direction::Forward, 2, 16, 32, 32),
        (Direction::Transposed, 2, 32, 16, 16),
        (Direction::Transposed, 1, 16, 3, 32),
        (Direction::Transposed, 1, 64, 1, 28),
        (Direction::Forward, 1, 64, 192, 32),
        (Direction::Forward, 1, 192, 384, 16),
        (Direction::Forward, 1, 384, 256, 16),
        (Direction::Forward, 1, 256, 256, 7),
        (Direction::Forward, 1, 64, 64, 56),
        (Direction::Forward, 1, 512, 512, 4),
    ] {
        let weights: Vec<f32> = (0..inputs * outputs * 9).map(|i| ((i * 31) % 11) as f32).collect();
        let filter = Filter::new(direction, [same(stride); 2], [inputs, outputs], &weights)
            .expect("a filter");
        let samples = 16;
        let result = filter.output_size([side; 2]).expect("a size");
        let input = vec![1.0; samples * inputs * side * side];
        let mut output = vec![0.0; samples * outputs * result[0] * result[1]];
        let windows =
            if direction == Direction::Forward { result[0] * result[1] } else { side * side };
        let work = 2 * samples * inputs * outputs * 9 * windows;
        let mut best = f64::MAX;
        for _ in 0..(3_000_000_000 / work).max(3) {
            let start = Instant::now();
            filter.run(samples, [side; 2], black_box(&input), &[], &mut output, 1);
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!(
            "{direction:?} stride {stride}, {inputs} to {outputs} channels, {side}²: {:.1} Gflop/s",
            work as f64 / best / 1e9
        );
    }
}
