//! How files become samples of a model.

use std::path::PathBuf;

use anyhow::Result;
use taste_data::{Options, Padding};
use taste_detector::{with_classes, with_inputs};
use taste_engine::Model;

use super::DataArgs;

impl DataArgs {
    /// As options for data of a model.
    pub(crate) fn for_model(&self, model: &Model, data: &[PathBuf]) -> Result<Options> {
        let padding = Padding { length: self.length, with: self.padding };
        let options = with_classes(self.options(model.sample_shape()?)?, model);
        Ok(with_inputs(options, model, data, padding)?)
    }
}
