//! `X.npy`, compressed or not, with labels in `X-labels.npy`.

use std::path::PathBuf;

use super::{
    Found,
    array::{Array, ArraySource},
};
use crate::{
    Error, Options,
    npy::{self, Preamble, Problem},
    origin::Origin,
    source::Source,
};

pub(super) fn open(found: &Found, _options: &Options) -> Result<Box<dyn Source>, Error> {
    let labels = labels_beside(found).map(|path| array(&Origin::of(&path)?)).transpose()?;
    Ok(Box::new(ArraySource::new(array(&found.origin)?, labels)?))
}

/// The array in a file or a member of an archive.
pub(super) fn array(origin: &Origin) -> Result<Array, Error> {
    let mut source = origin.open()?;
    let mut inner = || -> Result<Preamble, Problem> {
        let length = origin.length();
        let preamble = Preamble::read(&mut source, length)?;
        match length.map(|length| length - preamble.start) {
            Some(found) if found != preamble.bytes => Err(Problem::WrongSize {
                shape: preamble.shape.iter().map(|&d| d as u64).collect(),
                dtype: preamble.dtype,
                wanted: preamble.bytes,
                found,
            }),
            _ => Ok(preamble),
        }
    };
    let Preamble { dtype, big_endian, shape, start, .. } = inner().map_err(|p| match p {
        Problem::Io(e) => origin.refused(&e),
        other if origin.length().is_some() => npy::Error::new(origin.path(), other).into(),
        other => origin.error(other),
    })?;
    Ok(Array { origin: origin.clone(), dtype, big_endian, shape, start })
}

/// `X-labels.npy` or `X-labels.npy.gz` for `X.npy`.
fn labels_beside(found: &Found) -> Option<PathBuf> {
    let path = found.origin.path();
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".npy.gz").or_else(|| name.strip_suffix(".npy"))?;
    let beside = |ending: &str| path.with_file_name(format!("{stem}-labels{ending}"));
    [".npy", ".npy.gz"].into_iter().map(beside).find(|p| p.is_file())
}
