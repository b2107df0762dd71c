//! Tables of other packages, by way of Arrow's stream interface.

use std::{fs::File, io::BufWriter, path::PathBuf};

use arrow_array::{RecordBatchReader, ffi_stream::RecordBatchStreamReader};
use arrow_ipc::writer::FileWriter;
use arrow_pyarrow::PyArrowType;
use pyo3::{exceptions::PyOSError, prelude::*};

use crate::errors::data;

/// Writes a table that has `__arrow_c_stream__` to a new Arrow file and returns the number of its rows.
#[pyfunction]
pub(crate) fn write_table(
    py: Python<'_>,
    stream: PyArrowType<RecordBatchStreamReader>,
    path: PathBuf,
) -> PyResult<usize> {
    let reader = stream.0;
    py.detach(move || {
        let file = File::create(&path)
            .map_err(|e| PyOSError::new_err(format!("{}: {e}", path.display())))?;
        let refused = |e: arrow_schema::ArrowError| data(&format!("the table can't be read: {e}"));
        let schema = reader.schema();
        let mut writer = FileWriter::try_new(BufWriter::new(file), &schema).map_err(refused)?;
        let mut rows = 0;
        for batch in reader {
            let batch = batch.map_err(refused)?;
            rows += batch.num_rows();
            writer.write(&batch).map_err(refused)?;
        }
        writer.finish().map_err(refused)?;
        Ok(rows)
    })
}
