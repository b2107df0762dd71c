//! Samples drawn from what a network has learned: looking at them tells more than a loss.

use ndarray::{ArrayD, Axis, Slice};
use taste_engine::Backend;
use taste_stats::random::Random;

use crate::{
    Error, Fitted, Trained,
    levels::disturbed,
    noise::{Mix, Noise},
    predictor::Predictor,
};

/// Noise levels that Langevin dynamics goes down through, and steps at each.
const ANNEALED: (usize, usize) = (30, 10);
/// Steps at a single level.
const ALONE: usize = 100;
/// The size of a step, in variances of the noise (Song and Ermon 2019 use 0.2).
const STEP: f64 = 0.2;
/// Steps of a diffusion that are taken at most; others are passed over (Nichol and Dhariwal 2021).
const ANCESTRAL: usize = 200;

impl Fitted {
    /// Draws samples: by annealed Langevin dynamics from a range of noise, by ancestral sampling from a diffusion. A
    /// score of one noise level knows nothing far from the data, so its Langevin dynamics starts at held-out samples,
    /// of which there may be fewer than `count`.
    pub fn draw(
        &self,
        count: usize,
        seed: u64,
        backend: &Backend,
        threads: usize,
    ) -> Result<ArrayD<f32>, Error> {
        let trained = self.trained();
        let mut predictor = Predictor::start(trained, backend, threads)?;
        let mut random = Random::new(seed);
        let drawn = match predictor.noise {
            Noise::One(_) => alone(trained, count, &mut predictor, &mut random),
            Noise::Range(low, high) => {
                annealed(trained, count, (low, high), &mut predictor, &mut random)
            }
            Noise::Steps(_, steps) => ancestral(trained, count, steps, &mut predictor, &mut random),
        };
        Ok(self.standard().back(&drawn?))
    }
}

fn normal(trained: &Trained, count: usize, deviation: f64, random: &mut Random) -> ArrayD<f32> {
    let shape = [&[count], trained.network.sample_shape()].concat();
    #[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
    ArrayD::from_shape_simple_fn(shape, || (deviation * random.normal()) as f32)
}

/// x + h/2·s(x) + √h·ε, some times over, with h in variances of the noise.
#[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
fn langevin(
    x: &mut ArrayD<f32>,
    level: f64,
    steps: usize,
    predictor: &mut Predictor,
    random: &mut Random,
) -> Result<(), Error> {
    let size = STEP * predictor.noise.at(level).sigma().powi(2);
    for _ in 0..steps {
        let score = predictor.score(x, level)?;
        x.scaled_add(0.5 * size as f32, &score);
        let root = size.sqrt();
        x.mapv_inplace(|v| v + (root * random.normal()) as f32);
    }
    Ok(())
}

/// The mean of the samples that noise could have made these of (Tweedie).
#[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
fn denoise(x: &mut ArrayD<f32>, level: f64, predictor: &mut Predictor) -> Result<(), Error> {
    let score = predictor.score(x, level)?;
    x.scaled_add(predictor.noise.at(level).sigma().powi(2) as f32, &score);
    Ok(())
}

fn alone(
    trained: &Trained,
    count: usize,
    predictor: &mut Predictor,
    random: &mut Random,
) -> Result<ArrayD<f32>, Error> {
    let level = predictor.noise.lowest();
    let count = count.min(trained.kept.shape()[0]);
    let clean = trained.kept.slice_axis(Axis(0), Slice::from(..count)).to_owned();
    let (mut x, _) = disturbed(&clean, predictor.noise.at(level), random);
    langevin(&mut x, level, ALONE, predictor, random)?;
    denoise(&mut x, level, predictor)?;
    Ok(x)
}

fn annealed(
    trained: &Trained,
    count: usize,
    (low, high): (f64, f64),
    predictor: &mut Predictor,
    random: &mut Random,
) -> Result<ArrayD<f32>, Error> {
    let (levels, steps) = ANNEALED;
    let mut x = normal(trained, count, (1.0 + high * high).sqrt(), random);
    for i in 0..levels {
        let share = i as f64 / (levels - 1) as f64;
        let level = high.ln() + (low.ln() - high.ln()) * share;
        langevin(&mut x, level, steps, predictor, random)?;
    }
    denoise(&mut x, low.ln(), predictor)?;
    Ok(x)
}

fn ancestral(
    trained: &Trained,
    count: usize,
    steps: usize,
    predictor: &mut Predictor,
    random: &mut Random,
) -> Result<ArrayD<f32>, Error> {
    let taken = steps.min(ANCESTRAL);
    let level = |i: usize| ((i + 1) * steps / taken - 1) as f64;
    let left = |noise: Noise, i: usize| noise.at(level(i)).signal.powi(2);
    let bounds = trained
        .kept
        .iter()
        .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
    let mut x = normal(trained, count, 1.0, random);
    for i in (0..taken).rev() {
        let Mix { signal, spread } = predictor.noise.at(level(i));
        let before = if i > 0 { left(predictor.noise, i - 1) } else { 1.0 };
        let now = left(predictor.noise, i);
        let kept = now / before;
        let noise = predictor.noise_in(&x, level(i))?;
        let of_clean = before.sqrt() * (1.0 - kept) / (1.0 - now);
        let of_noisy = kept.sqrt() * (1.0 - before) / (1.0 - now);
        let deviation = ((1.0 - kept) * (1.0 - before) / (1.0 - now)).sqrt();
        ndarray::Zip::from(&mut x).and(&noise).for_each(|x, &noise| {
            let mut clean = (f64::from(*x) - spread * f64::from(noise)) / signal;
            if bounds.0 < bounds.1 {
                clean = clean.clamp(f64::from(bounds.0), f64::from(bounds.1));
            }
            let mean = of_clean * clean + of_noisy * f64::from(*x);
            #[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
            let next = (mean + deviation * random.normal()) as f32;
            *x = next;
        });
    }
    Ok(x)
}
