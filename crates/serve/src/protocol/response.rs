//! Answers: JSON, or JSON with the bytes of tensors behind it.

use serde_json::{Map, Value, json};

/// The elements of a tensor that is sent.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    Floats(Vec<f32>),
    Bools(Vec<bool>),
}

/// A tensor that is sent.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Values,
    pub(crate) binary: bool,
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) model: &'a str,
    pub(crate) version: &'a str,
    pub(crate) id: &'a str,
    pub(crate) parameters: Map<String, Value>,
    pub(crate) outputs: Vec<Output>,
}

/// The bytes of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    pub(crate) body: Vec<u8>,
    /// How many of them are JSON, if tensors follow.
    pub(crate) head: Option<usize>,
}

impl Answer<'_> {
    pub(crate) fn encode(&self) -> Encoded {
        let outputs: Vec<Value> = self.outputs.iter().map(Output::head).collect();
        let mut head = json!({
            "model_name": self.model,
            "model_version": self.version,
            "outputs": outputs,
        });
        if !self.id.is_empty() {
            head["id"] = self.id.into();
        }
        if !self.parameters.is_empty() {
            head["parameters"] = Value::Object(self.parameters.clone());
        }
        let mut body = head.to_string().into_bytes();
        let binary = self.outputs.iter().any(|output| output.binary);
        let head = binary.then_some(body.len());
        for output in self.outputs.iter().filter(|output| output.binary) {
            output.values.append(&mut body);
        }
        Encoded { body, head }
    }
}

impl Output {
    fn head(&self) -> Value {
        let mut head = json!({
            "name": self.name,
            "datatype": self.values.datatype(),
            "shape": self.shape,
        });
        if self.binary {
            head["parameters"] = json!({ "binary_data_size": self.values.bytes() });
        } else {
            head["data"] = self.values.to_json();
        }
        head
    }
}

impl Values {
    fn datatype(&self) -> &'static str {
        match self {
            Self::Floats(_) => "FP32",
            Self::Bools(_) => "BOOL",
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Floats(values) => 4 * values.len(),
            Self::Bools(values) => values.len(),
        }
    }

    /// What JSON has no number for is null.
    fn to_json(&self) -> Value {
        match self {
            Self::Floats(values) => values.iter().copied().map(number).collect(),
            Self::Bools(values) => values.iter().copied().map(Value::Bool).collect(),
        }
    }

    fn append(&self, body: &mut Vec<u8>) {
        match self {
            Self::Floats(values) => body.extend(values.iter().flat_map(|v| v.to_le_bytes())),
            Self::Bools(values) => body.extend(values.iter().map(|v| u8::from(*v))),
        }
    }
}

/// A number as it is read: the shortest digits of single precision.
pub(crate) fn number(value: f32) -> Value {
    value
        .to_string()
        .parse()
        .ok()
        .and_then(serde_json::Number::from_f64)
        .map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_tensors_follow_the_json() {
        let output = |name: &str, values: Values, binary: bool| {
            let shape = vec![2];
            Output { name: name.to_owned(), shape, values, binary }
        };
        let answer = Answer {
            model: "m",
            version: "1",
            id: "7",
            parameters: Map::new(),
            outputs: vec![
                output("score", Values::Floats(vec![0.1, f32::NAN]), true),
                output("p_value", Values::Floats(vec![0.1, f32::NAN]), false),
                output("flag", Values::Bools(vec![true, false]), true),
            ],
        };
        let Encoded { body, head } = answer.encode();
        let (json, binary) = body.split_at(head.expect("binary"));
        let json: Value = serde_json::from_slice(json).expect("JSON");
        assert_eq!(json["outputs"][0]["parameters"]["binary_data_size"], 8);
        assert_eq!(json["outputs"][1]["data"], json!([0.1, null]));
        assert_eq!(json["id"], "7");
        assert_eq!(binary.len(), 10);
        assert_eq!(binary[8..], [1, 0]);
    }
}
