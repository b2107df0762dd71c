use std::io::{self, Seek, SeekFrom, Write};

use taste_files::AtomicFile;

use super::{Output, Rows, Value};
use crate::npy::{DType, Header};

/// A matrix whose number of rows is filled in at the end.
struct Matrix {
    file: AtomicFile,
    columns: usize,
    rows: usize,
    /// Room for the header with any number of rows.
    room: usize,
}

pub(super) fn start(mut file: AtomicFile, columns: usize) -> io::Result<Box<dyn Rows>> {
    let header = Header::write(DType::F32, &[usize::MAX, columns]);
    file.write_all(&header)?;
    Ok(Box::new(Matrix { file, columns, rows: 0, room: header.len() }))
}

impl Rows for Matrix {
    #[expect(clippy::cast_possible_truncation, reason = "the array is in single precision")]
    fn row(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        self.rows += 1;
        for value in row {
            let number = match *value {
                Value::Int(v) => v as f32,
                Value::Single(v) => v,
                Value::Double(v) => v as f32,
                Value::Bool(v) => f32::from(v),
                Value::Text(_) | Value::Missing => f32::NAN,
            };
            self.file.write_all(&number.to_le_bytes())?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<Output> {
        let header = Header::write_padded(DType::F32, &[self.rows, self.columns], self.room);
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header)?;
        Ok(Output::File(self.file))
    }
}
