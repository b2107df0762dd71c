//! `taste train score`.

use anyhow::{Result, bail};
use taste_data::Samples;
use taste_engine::Model;
use taste_train::{Network, Training};

use crate::args::ScoreTrainingArgs;

use super::{
    outcome::Outcome,
    page,
    run::{Length, RATE, Run},
};

/// The deviation of the noise, unless something else is asked for.
const SIGMA: f64 = 0.2;
/// Noise beyond this drowns samples of deviation 1, or is none.
const SIGMAS: std::ops::RangeInclusive<f64> = 1e-4..=1000.0;

pub(super) fn run(args: &ScoreTrainingArgs) -> Result<()> {
    let learn = &args.learn;
    check_noise(args)?;
    let run = Run::new(learn, &[])?;
    let (data, _) = run.open(|shape| learn.reading.options(shape))?;
    let shape = data.sample_shape();
    let level = match (args.sigma_range, args.diffusion) {
        (Some(_), _) => Some(1.0),
        (None, Some(_)) => Some(1.0 / args.t_steps as f64),
        (None, None) => None,
    };
    let network = args.network.build(shape, level)?;
    let training = training(args, &network);
    let (steps, batch) = if shape.len() == 3 {
        (taste_train::fields::IMAGE_STEPS, taste_train::fields::IMAGE_BATCH)
    } else {
        (2000, 128)
    };
    let length = Length { steps, batch, rate: RATE };
    let fitted = run.train(training, length, 0.995, |t| t.run_standardized(&data))?;
    let levels = fitted.levels(&run.backend, run.threads)?;
    let sliced = fitted.trained().sliced(&run.backend, run.threads)?;
    let outcome = Outcome::of_score(&fitted, learn, levels, sliced);
    let page =
        learn.report.as_ref().map(|_| page::of_score(&fitted, &outcome, &run)).transpose()?;
    let mut onnx = fitted.model()?.onnx().clone();
    let options = learn.reading.options(None)?;
    let wide = |list: &[f32]| -> Vec<f64> { list.iter().map(|&v| f64::from(v)).collect() };
    if let Some(card) = fitted.card(options.raw, &wide(&options.mean), &wide(&options.std))? {
        card.put(&mut onnx)?;
    }
    run.finish(&data, &Model::from_onnx("the trained score", onnx), &outcome, page)
}

fn check_noise(args: &ScoreTrainingArgs) -> Result<()> {
    let fits = |flag: &str, sigma: f64| {
        if SIGMAS.contains(&sigma) {
            Ok(())
        } else {
            bail!(
                "{flag} {sigma}: the noise has a deviation of {} to {}, where samples have 1",
                SIGMAS.start(),
                SIGMAS.end()
            )
        }
    };
    args.sigma.map_or(Ok(()), |sigma| fits("--sigma", sigma))?;
    if let Some(range) = args.sigma_range {
        fits("--sigma-range", range.low)?;
        fits("--sigma-range", range.high)?;
    }
    Ok(())
}

fn training<'n>(args: &ScoreTrainingArgs, network: &'n Network) -> Training<'n> {
    match (args.sigma_range, args.diffusion) {
        (Some(range), _) => Training::score_range(network, range.low, range.high),
        (None, Some(diffusion)) => Training::diffusion(network, diffusion, args.t_steps),
        (None, None) => Training::score(network, args.sigma.unwrap_or(SIGMA)),
    }
}
