//! The table of score models.

use std::sync::Arc;

use taste_choice::{Arguments, Choice, Entry, pick};

use super::{FAMILIES, FieldSpec};
use crate::Error;

/// What the entries of the table are called in messages.
pub const KIND: &str = "score model";

/// A family of score models.
#[derive(Clone, Copy, Debug)]
pub struct FieldFamily {
    /// What a user reads of it.
    pub choice: Choice,
    /// Reads its arguments.
    pub read: fn(Arguments<'_>) -> Result<Arc<dyn FieldSpec>, Error>,
}

impl Entry for FieldFamily {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

/// Families of several crates. A later one takes the place of an earlier one of the same name.
#[derive(Clone, Debug)]
pub struct Families(Vec<FieldFamily>);

impl Default for Families {
    fn default() -> Self {
        Self(FAMILIES.to_vec())
    }
}

impl Families {
    /// With families of another crate.
    #[must_use]
    pub fn with(mut self, more: &[FieldFamily]) -> Self {
        for family in more {
            match self.0.iter_mut().find(|f| f.choice.name == family.choice.name) {
                Some(place) => *place = *family,
                None => self.0.push(*family),
            }
        }
        self
    }

    /// The table.
    pub fn table(&self) -> &[FieldFamily] {
        &self.0
    }

    /// Reads a score model as the user writes it.
    pub fn parse(&self, text: &str) -> Result<Arc<dyn FieldSpec>, Error> {
        let (family, arguments) = pick(KIND, &self.0, text)?;
        (family.read)(arguments)
    }
}

/// Reads a score model of this crate.
pub fn parse(text: &str) -> Result<Arc<dyn FieldSpec>, Error> {
    Families::default().parse(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_written_is_read() {
        for (text, learns) in [
            ("standard-normal", false),
            ("gaussian", true),
            ("gaussian:diagonal", true),
            ("gaussian:shrinkage=0.1", true),
            ("gmm", true),
            ("gmm:8", true),
            ("gmm:3,diagonal", true),
            ("gmm:3,noise=0.1", true),
            ("gmm,noise=0.1", true),
            ("gaussian,noise=0.05", true),
            ("gmm,diagonal", true),
            ("gaussian:noise=0.05", true),
            ("kde:noise=0", true),
            ("gmm:diagonal", true),
            ("kde", true),
            ("kde:0.3", true),
            ("onnx:score, of mine.onnx", false),
            ("log-density:flow.onnx", false),
            ("ddpm:unet.onnx,t=50", false),
            ("ddpm:a,b.onnx,t=50,schedule=cosine,conversion=s2:8,steps=500", false),
            ("ddpm:c.onnx,t=1,schedule=scaled-linear,beta-start=0.00085,beta-end=0.012", false),
        ] {
            let specification = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(specification.learns(), learns, "{text}");
        }
    }

    #[test]
    fn what_can_not_be_read_is_one_sentence_that_says_what_can() {
        for (text, parts) in [
            ("gauss", &["no score model \"gauss\"", "gmm[:K]", "ddpm:FILE"][..]),
            ("", &["no score model", "kde[:H]"]),
            ("standard-normal:2", &["\"2\" means nothing here"]),
            ("gaussian:full", &["\"full\"", "gaussian[:diagonal"]),
            ("gaussian:shrinkage=2", &["shrinkage wants a number from 0 to 1", "\"2\""]),
            ("gaussian:diagonal,shrinkage=0.1", &["shrinkage", "full covariance"]),
            ("gmm:0", &["K wants a whole number from 1 to", "\"0\""]),
            ("gmm:many", &["\"many\""]),
            ("gmm:1000", &["K wants"]),
            ("kde:-1", &["H wants a positive number"]),
            ("gmm:noise=-1", &["noise wants a deviation of 0 or more"]),
            ("kde:nan", &["H wants a positive number"]),
            ("onnx", &["a file is missing", "onnx:FILE"]),
            ("log-density:", &["a file is missing"]),
            ("ddpm:t=5", &["a file is missing"]),
            ("ddpm:u.onnx", &["t is missing", "t=50"]),
            ("ddpm:u.onnx,t=1000", &["t wants", "999"]),
            ("ddpm:u.onnx,t=5,schedule=sigmoid", &["\"sigmoid\"", "scaled-linear"]),
            ("ddpm:u.onnx,t=5,conversion=s4", &["\"s4\"", "s2:M"]),
            ("ddpm:u.onnx,t=5,conversion=s2:0", &["s2:M", "\"0\""]),
            ("ddpm:u.onnx,t=5,beta-end=1.5", &["beta-end wants"]),
            ("ddpm:u.onnx,t=5,steps=0", &["steps wants"]),
        ] {
            let message = parse(text).expect_err(text).to_string();
            for part in parts {
                assert!(message.contains(part), "{text}: {part:?} is not in: {message}");
            }
            assert!(!message.contains('\n'), "several lines: {message}");
        }
    }
}
