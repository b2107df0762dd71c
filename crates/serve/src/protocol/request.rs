//! Requests: JSON, or JSON with the bytes of tensors behind it.

use std::fmt;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

use super::{Contents, Data, Datatype, check_depth};

/// A request to score samples.
#[derive(Clone, Debug)]
pub(crate) struct InferRequest {
    /// What the client calls it.
    pub(crate) id: String,
    pub(crate) parameters: Parameters,
    pub(crate) inputs: Vec<Tensor>,
    /// The outputs that are asked for; all if there are none.
    pub(crate) outputs: Vec<Asked>,
}

/// A tensor that came with a request.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) datatype: Datatype,
    pub(crate) shape: Vec<usize>,
    pub(crate) contents: Contents,
}

/// An output that is asked for.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Asked {
    pub(crate) name: String,
    #[serde(default)]
    parameters: Parameters,
}

impl Asked {
    /// Whether it is to be binary, if it says so.
    pub(crate) fn binary(&self) -> Option<bool> {
        self.parameters.binary_data
    }
}

/// Parameters of requests, inputs and outputs that mean something here. All others are passed over.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Parameters {
    #[serde(deserialize_with = "lenient")]
    pub(crate) binary_data_output: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    binary_data: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    binary_data_size: Option<u64>,
    /// How long the request may take, in microseconds.
    #[serde(deserialize_with = "lenient")]
    pub(crate) timeout: Option<u64>,
    /// Whether its samples count for the monitor.
    #[serde(deserialize_with = "lenient")]
    pub(crate) monitor: Option<bool>,
    /// Whether floats are prepared as those of files are, instead of being what the model takes.
    #[serde(deserialize_with = "lenient")]
    pub(crate) prepare: Option<bool>,
}

/// A value, or none where it is of another type: what other servers take is no error here.
fn lenient<'de, T: DeserializeOwned, D: Deserializer<'de>>(d: D) -> Result<Option<T>, D::Error> {
    Ok(d.deserialize_any(Scalar)?.and_then(|value| T::deserialize(value).ok()))
}

/// Reads a number or a bool; anything else is passed over without a copy of it.
struct Scalar;

impl<'de> Visitor<'de> for Scalar {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }
}

/// The JSON of a request.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    parameters: Option<Parameters>,
    inputs: Vec<Input>,
    #[serde(default)]
    outputs: Option<Vec<Asked>>,
}

/// The JSON of a tensor.
#[derive(Deserialize)]
struct Input {
    name: String,
    datatype: String,
    shape: Vec<usize>,
    #[serde(default)]
    parameters: Option<Parameters>,
    #[serde(default)]
    data: Option<Data>,
}

impl InferRequest {
    /// Reads a body whose first `head` bytes are JSON; all of it if the client does not say.
    pub(crate) fn read(body: &[u8], head: Option<usize>, depth: usize) -> Result<Self, String> {
        let head = head.unwrap_or(body.len());
        let Some((json, mut rest)) = body.split_at_checked(head) else {
            return Err(format!(
                "Inference-Header-Content-Length is {head}, and the body has {} bytes",
                body.len()
            ));
        };
        check_depth(json, depth)?;
        let head: Head = serde_json::from_slice(json)
            .map_err(|e| format!("the body is no request of the protocol: {e}"))?;
        let mut inputs = Vec::with_capacity(head.inputs.len());
        for input in head.inputs {
            inputs.push(input.read(&mut rest)?);
        }
        if !rest.is_empty() {
            return Err(format!("{} bytes of the body belong to no input", rest.len()));
        }
        let (id, parameters) = (head.id.unwrap_or_default(), head.parameters.unwrap_or_default());
        Ok(Self { id, parameters, inputs, outputs: head.outputs.unwrap_or_default() })
    }
}

impl Input {
    /// Takes its bytes from the rest of the body, if it is binary.
    fn read(self, rest: &mut &[u8]) -> Result<Tensor, String> {
        let Self { name, datatype, shape, parameters, data } = self;
        let named = |e: String| format!("input {name:?}: {e}");
        let datatype = Datatype::named(&datatype).map_err(named)?;
        let count = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        let count = count.ok_or_else(|| named("its shape has too many elements".to_owned()))?;
        let size = parameters.and_then(|p| p.binary_data_size);
        let contents = match (size, data) {
            (None, Some(data)) => from_json(datatype, data).map_err(named)?,
            (Some(size), None) => {
                let size = usize::try_from(size).unwrap_or(usize::MAX);
                let (bytes, later) = rest.split_at_checked(size).ok_or_else(|| {
                    let left = rest.len();
                    named(format!("binary_data_size is {size}, and {left} bytes are left"))
                })?;
                *rest = later;
                from_binary(datatype, bytes, count).map_err(named)?
            }
            (Some(_), Some(_)) => return Err(named("it has data and binary data".to_owned())),
            (None, None) => return Err(named("it has no data".to_owned())),
        };
        let found = match &contents {
            Contents::Numbers(numbers) => numbers.len(),
            Contents::Texts(texts) => texts.len(),
        };
        if found != count {
            return Err(named(format!(
                "its shape {shape:?} has {count} elements, and its data {found}"
            )));
        }
        Ok(Tensor { name, datatype, shape, contents })
    }
}

fn from_json(datatype: Datatype, data: Data) -> Result<Contents, String> {
    if datatype == Datatype::Bytes {
        if !data.numbers.is_empty() {
            return Err("BYTES in JSON are strings".to_owned());
        }
        let texts = data.texts.into_iter().map(|text| unpacked(text.into_bytes()));
        return Ok(Contents::Texts(texts.collect()));
    }
    if let Some(text) = data.texts.first() {
        let text: String = text.chars().take(40).collect();
        return Err(format!("{text:?} is no {}", datatype.name()));
    }
    match data.numbers.iter().find(|v| !datatype.admits(**v)) {
        Some(bad) => Err(format!("{bad} is no {}", datatype.name())),
        None => Ok(Contents::Numbers(data.numbers)),
    }
}

/// JSON holds no bytes: a picture in it is written in base 64. What does not begin as pictures do in that is text.
fn unpacked(text: Vec<u8>) -> Vec<u8> {
    const STARTS: [&[u8]; 5] = [b"iVBORw0KGgo", b"/9j/", b"UklGR", b"SUkqA", b"TU0AK"];
    if STARTS.iter().any(|start| text.starts_with(start)) {
        return BASE64_STANDARD.decode(&text).unwrap_or(text);
    }
    text
}

/// Elements of a tensor that is binary.
fn from_binary(datatype: Datatype, bytes: &[u8], count: usize) -> Result<Contents, String> {
    let Some(size) = datatype.size() else { return Ok(Contents::Texts(strings(bytes)?)) };
    if count.checked_mul(size) != Some(bytes.len()) {
        return Err(format!(
            "{count} elements of {} are {} bytes, and there are {}",
            datatype.name(),
            count.saturating_mul(size),
            bytes.len()
        ));
    }
    Ok(Contents::Numbers(datatype.numbers(bytes)))
}

/// Strings of bytes, each behind its length.
fn strings(mut bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let cut = || "the bytes end within a string".to_owned();
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (text, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        found.push(text.to_vec());
        bytes = rest;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str, binary: &[u8]) -> Result<InferRequest, String> {
        let body = [json.as_bytes(), binary].concat();
        InferRequest::read(&body, (!binary.is_empty()).then_some(json.len()), 16)
    }

    #[test]
    fn tensors_come_in_json_or_behind_it() {
        let json = r#"{"id": "7", "model_name": "x", "parameters": {"timeout": 5, "odd": {"a": [1]}},
            "inputs": [
              {"name": "a", "shape": [2, 2], "datatype": "FP32", "parameters": {"binary_data_size": 16}},
              {"name": "b", "shape": [2], "datatype": "INT64", "data": [1, 2]},
              {"name": "c", "shape": [1], "datatype": "BYTES", "parameters": {"binary_data_size": 7}}],
            "outputs": [{"name": "score", "parameters": {"binary_data": true}}]}"#;
        let numbers = [1f32, 2.0, 3.0, 4.0].map(f32::to_le_bytes).concat();
        let request = read(json, &[&numbers[..], &[3, 0, 0, 0], b"cat"].concat()).expect("ok");
        assert_eq!((request.id.as_str(), request.parameters.timeout), ("7", Some(5)));
        assert_eq!(request.inputs[0].contents, Contents::Numbers(vec![1.0, 2.0, 3.0, 4.0]));
        assert_eq!(request.inputs[1].contents, Contents::Numbers(vec![1.0, 2.0]));
        assert_eq!(request.inputs[2].contents, Contents::Texts(vec![b"cat".to_vec()]));
        assert_eq!(request.outputs[0].binary(), Some(true));
    }

    #[test]
    fn parameters_of_other_types_are_passed_over() {
        for odd in [r#""5 s""#, "[1, [2]]", r#"{"a": {}}"#, "null", "-3", "2.5", "true"] {
            let json = format!(
                r#"{{"parameters": {{"timeout": {odd}, "monitor": false}}, "inputs": []}}"#
            );
            let request = read(&json, &[]).expect("ok");
            assert_eq!(request.parameters.timeout, None, "{odd}");
            assert_eq!(request.parameters.monitor, Some(false));
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_a_sentence() {
        let input = |rest: &str| format!(r#"{{"inputs": [{{"name": "x", {rest}}}]}}"#);
        let huge = "18446744073709551615";
        for (json, binary, wanted) in [
            ("{", &b""[..], "no request"),
            (r#"{"inputs": 3}"#, b"", "no request"),
            (&input(r#""shape": [2], "datatype": "FP32", "data": [1]"#), b"", "has 2 elements"),
            (&input(r#""shape": [-1], "datatype": "FP32", "data": [1]"#), b"", "no request"),
            (&input(r#""shape": [1], "datatype": "FP33", "data": [1]"#), b"", "no datatype"),
            (&input(r#""shape": [1], "datatype": "UINT8", "data": [300]"#), b"", "300 is no UINT8"),
            (&input(r#""shape": [1], "datatype": "FP32", "data": ["a"]"#), b"", "is no FP32"),
            (&input(r#""shape": [1], "datatype": "FP32""#), b"", "no data"),
            (
                &input(&format!(r#""shape": [{huge}, 3], "datatype": "FP32", "data": []"#)),
                b"",
                "too many elements",
            ),
            (
                &input(&format!(
                    r#""shape": [1], "datatype": "FP32", "parameters": {{"binary_data_size": {huge}}}"#
                )),
                b"1234",
                "4 bytes are left",
            ),
            (
                &input(
                    r#""shape": [1], "datatype": "BYTES", "parameters": {"binary_data_size": 5}"#,
                ),
                &[255, 255, 255, 255, 1],
                "end within a string",
            ),
            (
                &input(
                    r#""shape": [1], "datatype": "FP32", "parameters": {"binary_data_size": 4}"#,
                ),
                b"12345678",
                "belong to no input",
            ),
        ] {
            let message = read(json, binary).expect_err(json);
            assert!(message.contains(wanted), "{message}");
        }
        assert!(InferRequest::read(b"{}", Some(3), 16).is_err());
    }
}
