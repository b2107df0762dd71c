use std::io::{self, Write};

use super::{Column, Output, Rows, Value};

struct JsonLines {
    output: Output,
    names: Vec<String>,
}

pub(super) fn start(output: Output, columns: &[Column]) -> Box<dyn Rows> {
    let quoted = |c: &Column| serde_json::Value::from(c.name.as_str()).to_string();
    Box::new(JsonLines { output, names: columns.iter().map(quoted).collect() })
}

impl Rows for JsonLines {
    fn row(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        let mut line = String::from("{");
        for (name, value) in self.names.iter().zip(row) {
            if line.len() > 1 {
                line.push(',');
            }
            line.push_str(name);
            line.push(':');
            match value {
                Value::Int(v) => line.push_str(&v.to_string()),
                Value::Bool(v) => line.push_str(&v.to_string()),
                Value::Text(text) => line.push_str(&serde_json::Value::from(*text).to_string()),
                Value::Single(v) if !v.is_finite() => line.push_str("null"),
                Value::Double(v) if !v.is_finite() => line.push_str("null"),
                number => line.push_str(number.digits().as_deref().unwrap_or("null")),
            }
        }
        line.push_str("}\n");
        self.output.write_all(line.as_bytes())
    }

    fn finish(self: Box<Self>) -> io::Result<Output> {
        Ok(self.output)
    }
}
