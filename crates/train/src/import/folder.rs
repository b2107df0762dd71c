//! Folders as diffusers writes them and hubs serve them.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::{
    schedule::{self, Schedule},
    unet::Config,
    weights::{fail, small_file},
};
use crate::Error;

/// No configuration is larger.
const MOST_JSON: u64 = 1 << 20;
/// Where weights are looked for, in this order.
const WEIGHTS: [&str; 4] = [
    "diffusion_pytorch_model.safetensors",
    "diffusion_pytorch_model.safetensors.index.json",
    "diffusion_pytorch_model.bin",
    "diffusion_pytorch_model.fp16.safetensors",
];
const SCHEDULES: [&str; 2] = ["scheduler/scheduler_config.json", "scheduler_config.json"];

/// A model, alone or as a part of a pipeline.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Where the configuration of the network is.
    network: PathBuf,
}

impl Folder {
    pub(super) fn find(path: &Path) -> Result<Self, Error> {
        let places = [path.to_owned(), path.join("unet")];
        let network = places.into_iter().find(|place| place.join("config.json").is_file());
        let network = network.ok_or_else(|| {
            fail(path, "it has no config.json, nor has a folder unet in it: diffusers writes one")
        })?;
        Ok(Self { path: path.to_owned(), network })
    }

    pub(super) fn config(&self) -> Result<Config, Error> {
        let path = self.network.join("config.json");
        let config: Config = json(&path)?;
        config.check_class().map_err(|message| fail(&path, message))?;
        Ok(config)
    }

    pub(super) fn weights(&self) -> Result<PathBuf, Error> {
        let mut places = WEIGHTS.iter().map(|name| self.network.join(name));
        places.find(|place| place.is_file()).ok_or_else(|| {
            fail(&self.network, format!("it holds no weights: none of {}", WEIGHTS.join(", ")))
        })
    }

    /// How noise grows, if the folder says so.
    pub(super) fn schedule(&self) -> Result<Option<Schedule>, Error> {
        let mut places = SCHEDULES.iter().map(|name| self.path.join(name));
        let Some(path) = places.find(|place| place.is_file()) else { return Ok(None) };
        let config: schedule::Config = json(&path)?;
        config.schedule().map(Some).map_err(|message| fail(&path, message))
    }
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    serde_json::from_slice(&small_file(path, MOST_JSON)?)
        .map_err(|e| fail(path, format!("it can't be understood: {e}")))
}
