//! Diffusion models from a folder of diffusers.

use std::{path::Path, sync::Arc};

use taste_choice::{Arguments, Choice};
use taste_detector::Error;
use taste_stein::fields::{DDPM, DDPM_KEYS, FieldFamily, FieldSpec, diffusion};

use crate::import::{self, Options, Schedule};

pub(super) const FAMILY: FieldFamily = FieldFamily {
    choice: Choice {
        name: DDPM.choice.name,
        usage: "ddpm:FILE|FOLDER,t=50[,schedule=linear|scaled-linear|cosine][,conversion=s1|s2:M|s3]\
                [,steps=1000][,beta-start=1e-4][,beta-end=0.02]",
        about: "a diffusion model's noise predictor ε(y, t) at one noise level: a file, or a folder of diffusers with \
                the schedule in it",
    },
    read,
};

fn read(arguments: Arguments<'_>) -> Result<Arc<dyn FieldSpec>, Error> {
    let mut options = arguments.clone();
    let path = options.file(&DDPM_KEYS)?;
    if !Path::new(&path).is_dir() {
        return (DDPM.read)(arguments);
    }
    let imported = import::open(path.as_ref(), &Options::default())?;
    let left_open = imported.schedule.map_or_else(Vec::new, |schedule| missing(schedule, &options));
    let options = [vec![options.rest()], left_open].concat().join(",");
    diffusion(imported.model, &options)
}

/// What a schedule says of keys that are not given.
fn missing(schedule: Schedule, given: &Arguments<'_>) -> Vec<String> {
    let Schedule { name, steps, beta_start, beta_end } = schedule;
    let known = [
        ("schedule", name.to_owned()),
        ("steps", steps.to_string()),
        ("beta-start", beta_start.to_string()),
        ("beta-end", beta_end.to_string()),
    ];
    let is_open = |key: &str| given.clone().text(key).is_none();
    known.iter().filter(|(key, _)| is_open(key)).map(|(key, v)| format!("{key}={v}")).collect()
}
