//! A small change of every pixel that the classifier is most misled by: one step of the fast gradient sign method
//! (Goodfellow, Shlens and Szegedy 2015).

use anyhow::{Context, Result};
use ndarray::{ArrayD, Zip};
use taste_detector::Engine;
use taste_engine::{Model, Request, Target, Value, Wants};

use super::canvas::single;

/// How far each pixel is moved: a third of its usual noise.
const STEP: f64 = 0.05;

/// Moves each pixel a little, to where the likeliest class leads the second by less.
pub(super) fn step(model: &Model, images: &ArrayD<f32>) -> Result<ArrayD<f32>> {
    let wants = Wants { gradient: true, ..Wants::default() };
    let request = Request { target: Some(Target::margin()), wants, ..Request::default() };
    let derived = model.derive(&request)?;
    let engine = Engine::default();
    let compiled = derived.compile(&engine.backend, engine.threads)?;
    let feed = Value::from(images.clone());
    let gradient = compiled.run(&[(derived.wrt(), &feed)], 0)?.gradient;
    let gradient = gradient.context("the margin has no gradient")?.to_f32();
    let mut moved = images.clone();
    Zip::from(&mut moved).and(&gradient).for_each(|pixel, &slope| {
        if slope != 0.0 {
            *pixel -= single(STEP) * slope.signum();
        }
    });
    Ok(moved)
}
