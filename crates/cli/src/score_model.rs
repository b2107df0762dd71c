//! Score models as the user writes them, those that are trained on the spot among them.

use anyhow::{Result, bail};
use taste_data::{Dataset, Options};
use taste_stein::score::{self, FAMILIES, InputMap, Specification, Through};
use taste_train::score::{TrainScore, USAGE};

use crate::{args::EngineArgs, import, training_bar::TrainingBar};

/// The score model, with the map from samples as they are read to its own input.
pub(crate) fn specification(
    text: &str,
    score_input: Option<&str>,
    (data, options): (&Dataset, &Options),
    engine: &EngineArgs,
) -> Result<Box<dyn Specification>> {
    let spec = parse(text, engine)?;
    let map = match score_input {
        Some("none") => None,
        Some(text) => Some(linear(text)?),
        None => told(&*spec, data, options)?.or(assumed(text, options)?),
    };
    Ok(match map.filter(|map| !map.is_identity()) {
        Some(map) => Box::new(Through { map, inner: spec }),
        None => spec,
    })
}

/// Reads a specification of any family.
fn parse(text: &str, engine: &EngineArgs) -> Result<Box<dyn Specification>> {
    let name = text.split([':', ',']).next().unwrap_or_default().trim();
    if name == "train" {
        let asked = TrainScore {
            backend: engine.backend()?,
            threads: engine.threads(),
            ..text.parse::<TrainScore>()?
        };
        let bar = TrainingBar::new("steps for the score model", engine.quiet);
        return Ok(Box::new(asked.watched(move |progress| bar.tell(progress))));
    }
    if let Some(spec) = import::score(text)? {
        return Ok(spec);
    }
    if !FAMILIES.iter().any(|family| family.name == name) {
        let known: Vec<&str> = FAMILIES.iter().map(|family| family.usage).chain([USAGE]).collect();
        bail!("no score model {name:?}; there are {}", known.join(", "));
    }
    Ok(score::parse(text)?)
}

/// The map that the file of the model tells.
fn told(spec: &dyn Specification, data: &Dataset, options: &Options) -> Result<Option<InputMap>> {
    let Some(card) = spec.card()? else { return Ok(None) };
    let Some(map) = card.input else { return Ok(None) };
    // Bytes that are scaled for one of the two alone.
    let scale = match (card.raw, options.raw) {
        (true, false) if data.holds_bytes() => 255.0,
        (false, true) if data.holds_bytes() => 1.0 / 255.0,
        _ => 1.0,
    };
    let map = map.of_normalised(&[], &[scale])?;
    Ok(Some(map.of_normalised(&wide(&options.mean), &wide(&options.std))?))
}

/// Diffusion models take pictures in [-1, 1], unless they say something else.
fn assumed(text: &str, options: &Options) -> Result<Option<InputMap>> {
    if !text.starts_with("ddpm:") || options.raw {
        return Ok(None);
    }
    let stretched = InputMap::new(vec![2.0], vec![-1.0])?;
    Ok(Some(stretched.of_normalised(&wide(&options.mean), &wide(&options.std))?))
}

pub(crate) fn wide(list: &[f32]) -> Vec<f64> {
    list.iter().map(|&v| f64::from(v)).collect()
}

/// `A,B`.
fn linear(text: &str) -> Result<InputMap> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|t| t.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[scale, shift]) if scale != 0.0 && scale.is_finite() && shift.is_finite() => {
            Ok(InputMap::new(vec![scale], vec![shift])?)
        }
        _ => bail!(
            "--score-input {text:?} is not a pair of numbers A,B for y = A*x + B, with A not 0"
        ),
    }
}
