//! What stands behind the colon: words and `key=value` pairs, with commas between them.

use std::{fmt::Display, str::FromStr};

use crate::Error;

/// Arguments that are taken one by one; what is left over is an error.
#[derive(Clone, Debug)]
pub struct Arguments<'a> {
    kind: &'static str,
    usage: &'static str,
    /// As they were written, spaces included: a file's name may hold commas and spaces.
    left: Vec<&'a str>,
}

impl<'a> Arguments<'a> {
    /// Of a thing of some kind that is written so.
    pub fn new(kind: &'static str, usage: &'static str, text: Option<&'a str>) -> Self {
        let left = text.map_or_else(Vec::new, |t| t.split(',').collect());
        Self { kind, usage, left }
    }

    /// How the thing is written.
    pub fn usage(&self) -> &'static str {
        self.usage
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// The file in front of the pairs with these keys; its name may hold commas.
    pub fn file(&mut self, keys: &[&str]) -> Result<String, Error> {
        let is_pair =
            |part: &&str| part.split_once('=').is_some_and(|(key, _)| keys.contains(&key.trim()));
        let end = self.left.iter().position(is_pair).unwrap_or(self.left.len());
        let file = self.left.drain(..end).collect::<Vec<_>>().join(",").trim().to_owned();
        if file.is_empty() {
            return Err(self.missing("a file"));
        }
        Ok(file)
    }

    /// Whether a word is there.
    pub fn flag(&mut self, word: &str) -> bool {
        let place = self.left.iter().position(|p| p.trim() == word);
        place.map(|p| self.left.remove(p)).is_some()
    }

    /// The first word that is not a pair.
    pub fn word(&mut self) -> Option<&'a str> {
        let place = self.left.iter().position(|p| !p.contains('='))?;
        Some(self.left.remove(place).trim())
    }

    /// The first word that is not a pair, as something that `fits`; `what` is its name in the usage.
    pub fn word_as<T: FromStr + Display>(
        &mut self,
        what: &str,
        wanted: &str,
        fits: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, Error> {
        self.word().map(|text| self.as_number(what, text, wanted, fits)).transpose()
    }

    /// The value of a key as it stands.
    pub fn text(&mut self, key: &str) -> Option<&'a str> {
        let place = self
            .left
            .iter()
            .position(|p| p.split_once('=').is_some_and(|(k, _)| k.trim() == key))?;
        self.left.remove(place).split_once('=').map(|(_, value)| value.trim())
    }

    /// The value of a key as a number that `fits`.
    pub fn number<T: FromStr + Display>(
        &mut self,
        key: &str,
        wanted: &str,
        fits: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, Error> {
        self.text(key).map(|text| self.as_number(key, text, wanted, fits)).transpose()
    }

    /// Text as a number that `fits`.
    pub fn as_number<T: FromStr + Display>(
        &self,
        what: &str,
        text: &str,
        wanted: &str,
        fits: impl Fn(&T) -> bool,
    ) -> Result<T, Error> {
        text.parse().ok().filter(fits).ok_or_else(|| self.unfit(what, wanted, text))
    }

    /// All that is left, as it was written.
    pub fn rest(&mut self) -> String {
        self.left.drain(..).collect::<Vec<_>>().join(",")
    }

    /// The error for an argument that is not there.
    pub fn missing(&self, what: &str) -> Error {
        Error::Missing { kind: self.kind, usage: self.usage, argument: what.to_owned() }
    }

    /// The error for an argument of the wrong kind.
    pub fn unfit(&self, what: &str, wanted: &str, got: &str) -> Error {
        Error::Value {
            kind: self.kind,
            usage: self.usage,
            argument: what.to_owned(),
            wanted: wanted.to_owned(),
            got: got.to_owned(),
        }
    }

    /// Fails if something is left.
    pub fn finish(self) -> Result<(), Error> {
        match self.left.first() {
            None => Ok(()),
            Some(part) => Err(Error::Surplus {
                kind: self.kind,
                usage: self.usage,
                argument: part.trim().to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(text: &str) -> Arguments<'_> {
        Arguments::new("score model", "ddpm:FILE[,t=T]", Some(text))
    }

    #[test]
    fn the_name_of_a_file_may_hold_commas_and_spaces() {
        let mut found = arguments(" my, own.onnx , t = 5");
        assert_eq!(found.file(&["t"]).expect("a file"), "my, own.onnx");
        assert_eq!(found.text("t"), Some("5"));
        assert!(found.finish().is_ok());
    }

    #[test]
    fn spaces_around_an_argument_do_not_matter() {
        let mut found = arguments("diagonal , 8, noise = 0.1 ");
        assert!(found.flag("diagonal"));
        assert_eq!((found.word(), found.text("noise")), (Some("8"), Some("0.1")));
        let surplus = arguments(" best ").finish().expect_err("surplus").to_string();
        assert!(surplus.contains("\"best\" means nothing"), "{surplus}");
    }
}
