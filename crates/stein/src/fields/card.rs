//! What the file of a score network says of itself: how its input relates to samples, which noise its density has.

use serde::{Deserialize, Serialize};
use taste_onnx::Model;

use super::InputMap;
use taste_detector::refused;

use crate::Error;

/// The entry of the file's metadata.
const KEY: &str = "taste.score";
/// No card is longer.
const MOST_BYTES: usize = 1 << 20;

/// Facts about a score network that lie in the metadata of its file, so that nobody has to remember them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Card {
    /// The network takes y = a⊙x + b of samples x as files hold them, before any normalisation for another model.
    pub input: Option<InputMap>,
    /// Whether bytes among these x go from 0 to 255, as files hold them, rather than from 0 to 1.
    pub raw: bool,
    /// The deviation of the noise that its density has beyond that of y: one number, or one for every entry.
    pub noise: Vec<f64>,
    /// The diffusion that the network predicts the noise of.
    pub diffusion: Option<Steps>,
}

/// The noise levels of a diffusion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps {
    /// `linear` or `cosine`.
    pub schedule: String,
    /// How many there are.
    pub steps: usize,
}

impl Card {
    /// The card of a file, if it has one.
    pub fn of(model: &Model) -> Result<Option<Self>, Error> {
        let Some(text) = model.metadata(KEY) else { return Ok(None) };
        if text.len() > MOST_BYTES {
            return Err(refused(format!("the file's metadata {KEY:?} are too long to be true")));
        }
        let card: Self = serde_json::from_str(text)
            .map_err(|e| refused(format!("the file's metadata {KEY:?} can't be read: {e}")))?;
        if let Some(bad) = card.noise.iter().find(|n| !n.is_finite() || **n < 0.0) {
            return Err(refused(format!("the file's metadata {KEY:?} tell a noise of {bad}")));
        }
        let input = card.input.map(InputMap::checked).transpose()?;
        Ok(Some(Self { input, ..card }))
    }

    /// Puts the card into a file, in place of any that is there.
    pub fn put(&self, model: &mut Model) -> Result<(), Error> {
        let value = serde_json::to_string(self).map_err(|e| refused(e.to_string()))?;
        model.set_metadata(KEY, value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use taste_onnx::{builders, proto::GraphProto};

    use super::*;

    #[test]
    fn a_card_comes_back_and_nonsense_is_refused() {
        let mut model = Model::new(builders::model(GraphProto::default(), 17));
        assert_eq!(Card::of(&model).expect("none"), None);
        let card = Card {
            input: Some(InputMap::new(vec![2.0], vec![-1.0]).expect("a map")),
            raw: true,
            noise: vec![0.1, 0.2],
            diffusion: Some(Steps { schedule: "cosine".to_owned(), steps: 500 }),
        };
        card.put(&mut model).expect("put");
        card.put(&mut model).expect("put again");
        assert_eq!(model.proto.metadata_props.len(), 1);
        assert_eq!(Card::of(&model).expect("read"), Some(card));
        for text in ["{", "{\"noise\":[-1]}", "{\"input\":{\"scale\":[0],\"shift\":[0]}}"] {
            model.proto.metadata_props[0].value = text.to_owned();
            assert!(Card::of(&model).is_err(), "{text}");
        }
    }
}
