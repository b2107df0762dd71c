//! The elements of a tensor in JSON: flat, or as arrays within each other, read without a tree in between.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};

/// What a tensor holds, in the order of its rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Contents {
    Numbers(Vec<f32>),
    Texts(Vec<Vec<u8>>),
}

/// The member `data` of a tensor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Data {
    pub(crate) numbers: Vec<f32>,
    pub(crate) texts: Vec<String>,
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut data = Self::default();
        Into(&mut data).deserialize(deserializer)?;
        Ok(data)
    }
}

/// Reads one element, or an array of them, to the end of what is there.
struct Into<'a>(&'a mut Data);

impl<'de> DeserializeSeed<'de> for Into<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Into<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("numbers, strings, or arrays of them")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        while sequence.next_element_seed(Into(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.0.numbers.push(f32::from(u8::from(value)));
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.0.numbers.push(value as f32);
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.0.numbers.push(value as f32);
        Ok(())
    }

    #[expect(clippy::cast_possible_truncation, reason = "rounding to single precision")]
    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.0.numbers.push(value as f32);
        Ok(())
    }

    /// What is missing.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.numbers.push(f32::NAN);
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.0.texts.push(value.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_read_in_the_order_of_rows() {
        let data: Data = serde_json::from_str("[[1, 2.5], [-3, null], [true, 1e300]]").expect("ok");
        assert_eq!(data.numbers[..3], [1.0, 2.5, -3.0]);
        assert!(data.numbers[3].is_nan() && data.numbers[5].is_infinite());
        let data: Data = serde_json::from_str(r#"["a", ["b"]]"#).expect("ok");
        assert_eq!(data.texts, ["a", "b"]);
        let data: Data = serde_json::from_str(r#"["a", 1]"#).expect("ok");
        assert_eq!((data.texts.len(), data.numbers.len()), (1, 1));
        for wrong in [r#"[{"a": 1}]"#, r#"{"a": 1}"#] {
            assert!(serde_json::from_str::<Data>(wrong).is_err(), "{wrong}");
        }
    }
}
