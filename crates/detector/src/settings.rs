use serde::{Deserialize, Serialize};
use taste_engine::Answer;
use taste_stats::conformal::Rule;

use crate::Goal;

/// The choices that every method has in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The false-positive rate: the share of samples like the calibration set that may be flagged.
    pub alpha: f64,
    /// What samples are flagged for.
    pub goal: Goal,
    /// How the threshold follows from the calibration scores.
    #[serde(with = "written")]
    pub rule: Rule,
    /// Whether the detector computes maps; by default it does for samples with few entries.
    pub map: Option<bool>,
    /// How many samples are held out at most.
    pub held_out: usize,
    /// Of these, the share that methods learn the spread of their values from; the rest calibrates the score.
    pub tails: f64,
    /// Whether training rows may stay in the file.
    pub may_keep_rows: bool,
    /// The input that samples go to; by default the first that holds floats.
    pub input: Option<String>,
    /// The output that the method looks at; by default that which looks most like an answer.
    pub output: Option<String>,
    /// What the output holds; by default what its operators and its values tell.
    #[serde(with = "named")]
    pub task: Option<Answer>,
    /// The tensor that methods on features look at; by default the input of the last linear layer.
    pub features: Option<String>,
    /// The seed of every draw.
    pub seed: u64,
    /// How much memory intermediate values may take, in bytes.
    pub memory: usize,
    /// How many samples go through the engine at once; by default as many as memory allows.
    pub batch: Option<usize>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            alpha: 0.05,
            goal: Goal::Harm,
            rule: Rule::Conformal,
            map: None,
            held_out: 10_000,
            tails: 1.0 / 3.0,
            may_keep_rows: true,
            input: None,
            output: None,
            task: None,
            features: None,
            seed: 0,
            memory: 1 << 30,
            batch: None,
        }
    }
}

/// Answers by their names.
mod named {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
    use taste_engine::Answer;

    #[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
    pub(super) fn serialize<S: Serializer>(task: &Option<Answer>, s: S) -> Result<S::Ok, S::Error> {
        task.map(Answer::name).serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Answer>, D::Error> {
        let Some(name) = Option::<String>::deserialize(d)? else { return Ok(None) };
        Answer::named(&name).map(Some).ok_or_else(|| D::Error::custom(format!("no task {name:?}")))
    }
}

/// Things that are read as they are written.
mod written {
    use std::{fmt::Display, str::FromStr};

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<T: Display, S: Serializer>(value: &T, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(value)
    }

    pub(super) fn deserialize<'de, T, D>(d: D) -> Result<T, D::Error>
    where
        T: FromStr<Err = String>,
        D: Deserializer<'de>,
    {
        String::deserialize(d)?.parse().map_err(D::Error::custom)
    }
}
