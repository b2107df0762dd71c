//! What stands behind the colon of a specification: words and `key=value` pairs, with commas between them.

use std::{fmt::Display, str::FromStr};

use crate::{Error, error::request};

/// Arguments that are taken one by one; what is left over is an error.
#[derive(Debug)]
pub(super) struct Arguments<'a> {
    usage: &'static str,
    left: Vec<&'a str>,
}

impl<'a> Arguments<'a> {
    pub(super) fn new(usage: &'static str, text: Option<&'a str>) -> Self {
        let left = text.map_or_else(Vec::new, |t| t.split(',').map(str::trim).collect());
        Self { usage, left }
    }

    /// The file in front of the pairs with these keys; its name may hold commas.
    pub(super) fn file(&mut self, keys: &[&str]) -> Result<String, Error> {
        let is_pair =
            |part: &&str| part.split_once('=').is_some_and(|(key, _)| keys.contains(&key.trim()));
        let end = self.left.iter().position(is_pair).unwrap_or(self.left.len());
        let file = self.left.drain(..end).collect::<Vec<_>>().join(",");
        if file.is_empty() {
            return Err(request(format!("a file is missing: write {}", self.usage)));
        }
        Ok(file)
    }

    /// Whether a word is there.
    pub(super) fn flag(&mut self, word: &str) -> bool {
        let place = self.left.iter().position(|p| *p == word);
        place.map(|p| self.left.remove(p)).is_some()
    }

    /// The first word that is not a pair.
    pub(super) fn word(&mut self) -> Option<&'a str> {
        let place = self.left.iter().position(|p| !p.contains('='))?;
        Some(self.left.remove(place))
    }

    /// The value of a key as it stands.
    pub(super) fn text(&mut self, key: &str) -> Option<&'a str> {
        let place = self
            .left
            .iter()
            .position(|p| p.split_once('=').is_some_and(|(k, _)| k.trim() == key))?;
        self.left.remove(place).split_once('=').map(|(_, value)| value.trim())
    }

    /// The value of a key as a number that `fits`.
    pub(super) fn number<T: FromStr + Display>(
        &mut self,
        key: &str,
        wanted: &str,
        fits: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, Error> {
        self.text(key).map(|text| self.as_number(key, text, wanted, fits)).transpose()
    }

    /// Text as a number that `fits`.
    pub(super) fn as_number<T: FromStr + Display>(
        &self,
        what: &str,
        text: &str,
        wanted: &str,
        fits: impl Fn(&T) -> bool,
    ) -> Result<T, Error> {
        text.parse().ok().filter(fits).ok_or_else(|| {
            request(format!(
                "{what} wants {wanted}, got {text:?}: the score model is written {}",
                self.usage
            ))
        })
    }

    /// Fails if something is left.
    pub(super) fn finish(self) -> Result<(), Error> {
        match self.left.first() {
            None => Ok(()),
            Some(part) => Err(request(format!(
                "{part:?} means nothing here: the score model is written {}",
                self.usage
            ))),
        }
    }
}
