use serde::Serialize;
use taste_data::Samples;
use taste_detector::{Error, refused};

use crate::evaluation::Truth;

/// What something depends on, as a digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    /// Of things that are written as JSON.
    pub(super) fn of(facts: &impl Serialize) -> Result<Self, Error> {
        let text = serde_json::to_vec(facts).map_err(|e| refused(e.to_string()))?;
        Ok(Self(taste_onnx::sha256(&text)))
    }

    /// Of both.
    pub(super) fn with(&self, other: &Self) -> Self {
        Self(taste_onnx::sha256(format!("{} {}", self.0, other.0).as_bytes()))
    }

    /// As the name of a file.
    pub fn text(&self) -> &str {
        &self.0[..32]
    }
}

/// What samples are as the model sees them, with what is known of the right answers.
pub fn fingerprint(data: &dyn Samples, truth: Truth<'_>) -> Result<Key, Error> {
    const ROWS: usize = 512;
    let mut digest = Key::of(&data.sample_shape())?;
    let with_labels = matches!(truth, Truth::Own);
    for chunk in data.chunks(ROWS)? {
        let chunk = chunk?;
        let values = chunk.values.iter().flat_map(|v| v.to_le_bytes());
        let labels = chunk.labels.iter().flatten().filter(|_| with_labels);
        let labels = labels.flat_map(|label| label.to_le_bytes());
        let bytes: Vec<u8> = digest.0.bytes().chain(values).chain(labels).collect();
        digest = Key(taste_onnx::sha256(&bytes));
    }
    if let Truth::Given(labels) = truth {
        let bytes: Vec<u8> = labels.values().iter().flat_map(|v| v.to_le_bytes()).collect();
        digest = digest.with(&Key(taste_onnx::sha256(&bytes)));
    }
    Ok(digest)
}
