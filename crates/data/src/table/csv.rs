use std::io;

use super::{Column, Output, Rows, Value};

struct Csv(csv::Writer<Output>);

pub(super) fn start(output: Output, columns: &[Column]) -> io::Result<Box<dyn Rows>> {
    let mut writer = csv::Writer::from_writer(output);
    writer.write_record(columns.iter().map(|c| &c.name)).map_err(cause)?;
    Ok(Box::new(Csv(writer)))
}

impl Rows for Csv {
    fn row(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        for value in row {
            let written = match value {
                Value::Int(v) => self.0.write_field(v.to_string()),
                Value::Bool(v) => self.0.write_field(v.to_string()),
                Value::Text(text) => self.0.write_field(text),
                number => self.0.write_field(number.digits().unwrap_or_default()),
            };
            written.map_err(cause)?;
        }
        self.0.write_record(None::<&[u8]>).map_err(cause)
    }

    fn finish(self: Box<Self>) -> io::Result<Output> {
        self.0.into_inner().map_err(|e| io::Error::new(e.error().kind(), e.error().to_string()))
    }
}

/// What the system said, whose kind a conversion would lose.
fn cause(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(e) => e,
        other => io::Error::other(format!("{other:?}")),
    }
}
