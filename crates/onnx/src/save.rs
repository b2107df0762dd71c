use std::io::{self, Read};
use std::path::{Path, PathBuf};

use prost::Message;
use taste_files::AtomicFile;

use crate::decode::Declared;
use crate::error::Error;
use crate::external::{self, ExternalData};
use crate::model::Model;
use crate::proto::{DataLocation, ModelProto, StringStringEntryProto, TensorProto};
use crate::walk;

/// Tensors below this many bytes stay in the model file.
const SPILL_FROM: usize = 1024;
/// Tensors in a data file start at multiples of this, so that they can be mapped into memory.
const ALIGNMENT: u64 = 4096;
/// What a tensor's `raw_data` takes beside its bytes, at most.
const RAW_OVERHEAD: u64 = 16;
const STILL_TOO_LARGE: &str = " even with its large tensors beside it";

impl Model {
    /// The model as one protobuf message; tensors that refer to external data still do.
    ///
    /// # Errors
    /// If the model has no graph or is above [`Limits::max_message_bytes`](crate::Limits).
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        self.encode(&self.proto, "; save it to a file to keep its weights beside it")
    }

    /// The model as a message and the data of its large tensors, which it refers to as those of a file of a
    /// name. If all fits into one message, that is all there is: no data are left.
    ///
    /// # Errors
    /// As [`Model::save`], but for writing.
    pub fn to_message_and_data(&self, name: &str) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let mut proto = self.proto.clone();
        let mut data = Memory { label: &self.label, bytes: Vec::new() };
        if self.inlined_len(&mut proto)? <= self.limits.max_message_bytes {
            self.inline(&mut proto)?;
        } else {
            self.spill(&mut proto, name, &mut data)?;
        }
        Ok((self.encode(&proto, STILL_TOO_LARGE)?, data.bytes))
    }

    /// Writes the model to a file, which is replaced as a whole or left as it was.
    ///
    /// External data is taken into the file. If that makes it larger than
    /// [`Limits::max_message_bytes`](crate::Limits), tensors of 1 KiB and more go to `<path>.data`
    /// instead; the two files are then replaced one after the other, the data first.
    ///
    /// # Errors
    /// If the model has no graph, its external data cannot be read, a file cannot be written, or the
    /// part that must stay in the model file is still too large.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let mut proto = self.proto.clone();
        let data_file = if self.inlined_len(&mut proto)? <= self.limits.max_message_bytes {
            self.inline(&mut proto)?;
            None
        } else {
            let (data_path, name) = data_file_of(path)?;
            let mut data_file = Draft::create(&data_path)?;
            self.spill(&mut proto, &name, &mut data_file)?;
            Some(data_file)
        };
        let bytes = self.encode(&proto, STILL_TOO_LARGE)?;
        let mut model_file = Draft::create(path)?;
        model_file.append(&mut &*bytes)?;
        if let Some(data_file) = data_file {
            data_file.commit()?;
        }
        model_file.commit()
    }

    fn encode(&self, proto: &ModelProto, hint: &'static str) -> Result<Vec<u8>, Error> {
        let file = || self.label.clone();
        if proto.graph.is_none() {
            return Err(Error::NoGraph { file: file() });
        }
        let bytes = as_u64(proto.encoded_len());
        let limit = self.limits.max_message_bytes;
        if bytes > limit {
            return Err(Error::MessageTooLarge { file: file(), bytes, limit, hint });
        }
        Ok(proto.encode_to_vec())
    }

    /// What the message would take with all its data inside.
    fn inlined_len(&self, proto: &mut ModelProto) -> Result<u64, Error> {
        let mut total = as_u64(proto.encoded_len());
        walk::tensors_mut(proto, &mut |tensor| {
            if tensor.data_location() == DataLocation::External {
                let declared = self.declared(tensor)?;
                total =
                    total.saturating_add(declared.bytes.unwrap_or(0)).saturating_add(RAW_OVERHEAD);
            }
            Ok(())
        })?;
        Ok(total)
    }

    fn inline(&self, proto: &mut ModelProto) -> Result<(), Error> {
        walk::tensors_mut(proto, &mut |tensor| {
            if tensor.data_location() == DataLocation::External {
                let mut data = self.external(tensor)?;
                let mut bytes = Vec::new();
                data.reader
                    .read_to_end(&mut bytes)
                    .map_err(|e| self.problem(tensor, data.refused(&e)))?;
                tensor.raw_data = Some(bytes.into());
                tensor.external_data.clear();
                tensor.data_location = DataLocation::Default.into();
            }
            Ok(())
        })
    }

    /// Moves the data of large tensors elsewhere.
    fn spill(
        &self,
        proto: &mut ModelProto,
        location: &str,
        data: &mut dyn DataFile,
    ) -> Result<(), Error> {
        walk::tensors_mut(proto, &mut |tensor| {
            let is_external = tensor.data_location() == DataLocation::External;
            if !is_external && tensor.raw_data().len() < SPILL_FROM {
                return Ok(());
            }
            let padding = data.len().next_multiple_of(ALIGNMENT) - data.len();
            data.append(&mut io::repeat(0).take(padding))?;
            let offset = data.len();
            if is_external {
                data.append(&mut self.external(tensor)?.reader)?;
            } else {
                data.append(&mut tensor.raw_data())?;
            }
            let length = data.len() - offset;
            tensor.raw_data = None;
            tensor.data_location = DataLocation::External.into();
            let entries = [
                ("location", location.to_owned()),
                ("offset", offset.to_string()),
                ("length", length.to_string()),
            ];
            tensor.external_data = entries
                .into_iter()
                .map(|(key, value)| StringStringEntryProto { key: key.to_owned(), value })
                .collect();
            Ok(())
        })
    }

    fn declared(&self, tensor: &TensorProto) -> Result<Declared, Error> {
        Declared::of(tensor, self.limits.max_tensor_bytes).map_err(|e| self.problem(tensor, e))
    }

    fn external(&self, tensor: &TensorProto) -> Result<ExternalData, Error> {
        external::open(tensor, &self.declared(tensor)?, self.folder())
            .map_err(|e| self.problem(tensor, e))
    }
}

fn as_u64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

/// The data file of a model file, and its name as the model states it.
fn data_file_of(path: &Path) -> Result<(PathBuf, String), Error> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| {
        let reason = io::Error::new(io::ErrorKind::InvalidInput, "the name is not UTF-8");
        Error::Io { action: "write", path: path.to_owned(), source: reason }
    })?;
    let location = format!("{name}.data");
    Ok((path.with_file_name(&location), location))
}

/// Where data are kept that leave the message.
trait DataFile {
    fn len(&self) -> u64;
    fn append(&mut self, source: &mut dyn Read) -> Result<(), Error>;
}

/// Data that stay in memory.
struct Memory<'a> {
    /// The model that they belong to.
    label: &'a str,
    bytes: Vec<u8>,
}

impl DataFile for Memory<'_> {
    fn len(&self) -> u64 {
        as_u64(self.bytes.len())
    }

    fn append(&mut self, source: &mut dyn Read) -> Result<(), Error> {
        let failed = |source| Error::Io { action: "read", path: self.label.into(), source };
        source.read_to_end(&mut self.bytes).map(drop).map_err(failed)
    }
}

/// A file that appears when it is committed.
struct Draft {
    file: AtomicFile,
    written: u64,
}

impl Draft {
    fn create(target: &Path) -> Result<Self, Error> {
        let file = AtomicFile::create(target).map_err(|e| write_failed(target, e))?;
        Ok(Self { file, written: 0 })
    }

    fn commit(self) -> Result<(), Error> {
        let target = self.file.path().to_owned();
        self.file.commit().map_err(|e| write_failed(&target, e))
    }
}

impl DataFile for Draft {
    fn len(&self) -> u64 {
        self.written
    }

    fn append(&mut self, source: &mut dyn Read) -> Result<(), Error> {
        let copied = io::copy(source, &mut self.file);
        self.written += copied.map_err(|e| write_failed(self.file.path(), e))?;
        Ok(())
    }
}

fn write_failed(path: &Path, source: io::Error) -> Error {
    Error::Io { action: "write", path: path.to_owned(), source }
}
