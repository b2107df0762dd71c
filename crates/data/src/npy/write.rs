use std::{io::Write, marker::PhantomData, path::Path};

use ndarray::ArrayViewD;
use taste_files::AtomicFile;

use super::{DType, Error, Problem, header::Header};

/// A number that can be written.
pub trait Element: Copy {
    /// Its type in the file.
    const DTYPE: DType;

    /// Appends its bytes, the lowest first.
    fn put(self, bytes: &mut Vec<u8>);
}

macro_rules! elements {
    ($($type:ty => $dtype:ident),*) => {
        $(impl Element for $type {
            const DTYPE: DType = DType::$dtype;

            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
        })*
    };
}

elements!(f32 => F32, f64 => F64, i64 => I64, u8 => U8);

/// An array that is written part by part. Its file appears under its name when it is finished, whole, and not
/// at all if it is dropped before.
#[derive(Debug)]
pub struct Writer<T> {
    file: AtomicFile,
    shape: Vec<usize>,
    rows: usize,
    elements: PhantomData<T>,
}

/// Bytes gathered before they are written.
const BUFFER: usize = 1 << 18;

impl<T: Element> Writer<T> {
    /// Starts an array of this shape, rows along the first axis.
    pub fn create(path: &Path, shape: &[usize]) -> Result<Self, Error> {
        let inner = || -> Result<Self, Problem> {
            let mut file = AtomicFile::create(path)?;
            file.write_all(&Header::write(T::DTYPE, shape))?;
            Ok(Self { file, shape: shape.to_vec(), rows: 0, elements: PhantomData })
        };
        inner().map_err(|problem| unwritable(path, problem))
    }

    /// Adds rows.
    pub fn append(&mut self, rows: &ArrayViewD<'_, T>) -> Result<(), Error> {
        self.append_inner(rows).map_err(|problem| unwritable(self.file.path(), problem))
    }

    fn append_inner(&mut self, rows: &ArrayViewD<'_, T>) -> Result<(), Problem> {
        let fits = match (rows.shape(), &self.shape[..]) {
            ([more, sample @ ..], [all, whole @ ..]) => {
                sample == whole && self.rows.checked_add(*more).is_some_and(|n| n <= *all)
            }
            _ => false,
        };
        if !fits {
            let (got, shape, done) = (rows.shape().to_vec(), self.shape.clone(), self.rows);
            return Err(Problem::Misfit { got, shape, done });
        }
        let mut bytes = Vec::with_capacity(BUFFER.min(rows.len() * T::DTYPE.size()));
        for value in rows {
            value.put(&mut bytes);
            if bytes.len() >= BUFFER {
                self.file.write_all(&bytes)?;
                bytes.clear();
            }
        }
        self.file.write_all(&bytes)?;
        self.rows += rows.shape()[0];
        Ok(())
    }

    /// Gives the file its name; every row must be there.
    pub fn finish(self) -> Result<(), Error> {
        let target = self.file.path().to_owned();
        let inner = || -> Result<(), Problem> {
            if self.shape.first() != Some(&self.rows) {
                return Err(Problem::Unfinished { done: self.rows, shape: self.shape });
            }
            Ok(self.file.commit()?)
        };
        inner().map_err(|problem| unwritable(&target, problem))
    }
}

/// What the system refused while a file was written.
fn unwritable(path: &Path, problem: Problem) -> Error {
    let problem = match problem {
        Problem::Io(e) => Problem::NotWritable(format!("it can't be written: {e}")),
        other => other,
    };
    Error::new(path, problem)
}
