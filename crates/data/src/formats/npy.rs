//! `X.npy`, compressed or not, with labels in `X-labels.npy`.

use std::path::PathBuf;

use taste_choice::Choice;

use super::{
    Format, Found,
    array::{Array, ArraySource},
    ends, folder,
};
use crate::{
    Error, Options,
    npy::{MAGIC, Preamble, Problem},
    origin::Origin,
    source::Source,
};

pub(super) const FORMAT: Format = Format {
    choice: Choice {
        name: "npy",
        usage: "x.npy, or a folder of them",
        about: "an array of NumPy, samples along its first axis; labels in x-labels.npy beside it",
    },
    endings: &[".npy"],
    files: ["NumPy file", "NumPy files"],
    starts: Some(|bytes| bytes.starts_with(MAGIC)),
    is_text: false,
    in_folder: |name| ends(name, &[".npy"]) && !ends(name, &["-labels.npy"]),
    together: Some(folder::by_number),
    open,
};

fn open(found: &Found, options: &Options) -> Result<Box<dyn Source>, Error> {
    let labels = labels_beside(found).filter(|_| options.labels);
    let labels = labels.map(|path| array(&Origin::of(&path)?)).transpose()?;
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
    let Preamble { dtype, big_endian, shape, by_columns, start, .. } =
        inner().map_err(|p| match p {
            Problem::Io(e) => origin.error(e),
            other => origin.error(crate::Problem::Npy(other)),
        })?;
    Ok(Array { origin: origin.clone(), dtype, big_endian, shape, by_columns, start })
}

/// `X-labels.npy` or `X-labels.npy.gz` for `X.npy`.
fn labels_beside(found: &Found) -> Option<PathBuf> {
    let path = found.origin.path();
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".npy.gz").or_else(|| name.strip_suffix(".npy"))?;
    let beside = |ending: &str| path.with_file_name(format!("{stem}-labels{ending}"));
    [".npy", ".npy.gz"].into_iter().map(beside).find(|p| p.is_file())
}
