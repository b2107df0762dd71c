//! Samples a second of training steps, beside `throughput.py` for `PyTorch`: `throughput [BACKEND] [SECONDS]`.

use std::{cell::RefCell, error::Error, time::Instant};

use ndarray::ArrayD;
use taste_data::InMemory;
use taste_engine::Backend;
use taste_stein::stats::random::Random;
use taste_train::{Network, Training, networks};

fn cases() -> Vec<(&'static str, Network, usize)> {
    let small = Network::new(&[1, 16, 16])
        .conv(16, 3)
        .relu()
        .average_pool(2)
        .flatten()
        .dense(64)
        .relu()
        .dense(10);
    vec![
        ("mlp 784-512-512-10", networks::mlp(784, &[512, 512], 10), 128),
        ("small convolutions", small, 128),
        ("paper digits", networks::paper_digits(), 32),
        ("resnet-20", networks::resnet20([3, 32, 32], 10), 64),
        ("paper score", networks::paper_score([1, 64, 64]), 32),
    ]
}

#[expect(clippy::print_stdout, reason = "a program for the terminal")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let backend: Backend = arguments.first().map_or(Ok(Backend::Rten), |b| b.parse())?;
    let wanted = arguments.get(1).map_or("", String::as_str);
    for (name, network, batch) in cases().into_iter().filter(|c| c.0.contains(wanted)) {
        let mut random = Random::new(1);
        let rows = 4 * batch;
        let shape = [&[rows], network.sample_shape()].concat();
        #[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
        let values = ArrayD::from_shape_simple_fn(shape, || random.uniform() as f32);
        let samples =
            InMemory::new(name, values).with_labels((0..rows as i64).map(|i| i % 10).collect());
        let times = RefCell::new(vec![Instant::now()]);
        let progress = |_: &_| times.borrow_mut().push(Instant::now());
        let training = match network.result_shape()?[..] {
            [_] => Training::classifier(&network),
            _ => Training::score(&network, 0.2),
        };
        let steps = if name.contains("paper") { 8 } else { 40 };
        training
            .steps(steps)
            .batch(batch)
            .rate(1e-4)
            .backend(backend.clone(), 2)
            .progress(&progress)
            .run(&samples)?;
        let mut spans: Vec<f64> =
            times.borrow().windows(2).map(|w| (w[1] - w[0]).as_secs_f64()).skip(1).collect();
        spans.sort_by(f64::total_cmp);
        let (best, median) = (spans[0], spans[spans.len() / 2]);
        println!("{name}, batch {batch}: {:.1} ms a step (best {:.1})", median * 1e3, best * 1e3);
    }
    Ok(())
}
