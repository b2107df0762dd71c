use std::{io, sync::Arc};

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::{
    arrow::ArrowWriter, basic::Compression, errors::ParquetError,
    file::properties::WriterProperties,
};
use taste_files::AtomicFile;

use super::{Column, Kind, Output, Rows, Value};

/// Rows gathered before they are encoded.
const BATCH: usize = 8192;

struct Table {
    writer: ArrowWriter<AtomicFile>,
    schema: Arc<Schema>,
    cells: Vec<Cells>,
    rows: usize,
}

/// The cells of a column that are not encoded yet.
enum Cells {
    Int(Vec<Option<i64>>),
    Float(Vec<Option<f64>>),
    Bool(Vec<Option<bool>>),
    Text(Vec<Option<String>>),
}

impl Cells {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Int => Self::Int(Vec::new()),
            Kind::Float => Self::Float(Vec::new()),
            Kind::Bool => Self::Bool(Vec::new()),
            Kind::Text => Self::Text(Vec::new()),
        }
    }

    fn push(&mut self, value: Value<'_>) {
        match self {
            Self::Int(cells) => cells.push(match value {
                Value::Int(v) => Some(v),
                _ => None,
            }),
            Self::Float(cells) => cells.push(match value {
                Value::Single(v) => Some(f64::from(v)),
                Value::Double(v) => Some(v),
                _ => None,
            }),
            Self::Bool(cells) => cells.push(match value {
                Value::Bool(v) => Some(v),
                _ => None,
            }),
            Self::Text(cells) => cells.push(match value {
                Value::Text(text) => Some(text.to_owned()),
                _ => None,
            }),
        }
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Self::Int(cells) => Arc::new(Int64Array::from(std::mem::take(cells))),
            Self::Float(cells) => Arc::new(Float64Array::from(std::mem::take(cells))),
            Self::Bool(cells) => Arc::new(BooleanArray::from(std::mem::take(cells))),
            Self::Text(cells) => Arc::new(StringArray::from(std::mem::take(cells))),
        }
    }
}

pub(super) fn start(file: AtomicFile, columns: &[Column]) -> io::Result<Box<dyn Rows>> {
    let field = |column: &Column| {
        let kind = match column.kind {
            Kind::Int => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::Bool => DataType::Boolean,
            Kind::Text => DataType::Utf8,
        };
        Field::new(&column.name, kind, true)
    };
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let writer =
        ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties)).map_err(as_io)?;
    let cells = columns.iter().map(|c| Cells::new(c.kind)).collect();
    Ok(Box::new(Table { writer, schema, cells, rows: 0 }))
}

fn as_io(problem: ParquetError) -> io::Error {
    match problem {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(problem) => *problem,
            Err(other) => io::Error::other(other.to_string()),
        },
        other => io::Error::other(other.to_string()),
    }
}

impl Table {
    fn encode(&mut self) -> io::Result<()> {
        let columns = self.cells.iter_mut().map(Cells::take).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        self.rows = 0;
        self.writer.write(&batch.map_err(io::Error::other)?).map_err(as_io)
    }
}

impl Rows for Table {
    fn row(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        for (cells, value) in self.cells.iter_mut().zip(row) {
            cells.push(*value);
        }
        self.rows += 1;
        if self.rows == BATCH { self.encode() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> io::Result<Output> {
        if self.rows > 0 {
            self.encode()?;
        }
        self.writer.into_inner().map(Output::File).map_err(as_io)
    }
}
