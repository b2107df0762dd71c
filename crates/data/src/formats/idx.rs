//! IDX, the format of MNIST: a magic number with type and rank, sizes, elements, the highest byte first.

use std::path::PathBuf;

use taste_choice::Choice;
use taste_files::message;

use super::{
    Format, Found,
    array::{Array, ArraySource},
};
use crate::{Error, Options, Problem, npy::DType, origin::Origin, source::Source};

pub(super) const FORMAT: Format = Format {
    choice: Choice {
        name: "idx",
        usage: "train-images-idx3-ubyte, or a folder with it",
        about: "the format of MNIST; labels in train-labels-idx1-ubyte beside it",
    },
    endings: &["-ubyte", ".idx"],
    files: ["IDX file of images", "IDX files of images"],
    starts: Some(starts),
    is_text: false,
    in_folder: |name| name.ends_with("-ubyte") && name.contains("images"),
    together: Some(the_only_one),
    open,
};

/// Training and test data lie side by side: which is meant must be said.
fn the_only_one(files: Vec<PathBuf>) -> Result<Vec<PathBuf>, Problem> {
    if files.len() == 1 {
        return Ok(files);
    }
    let names: Vec<String> = files.iter().map(|p| p.display().to_string()).collect();
    Err(Problem::Format(format!("choose one of {}", names.join(", "))))
}

/// Whether bytes start as such a file does.
fn starts(opening: &[u8]) -> bool {
    matches!(opening, [0, 0, kind, rank, ..] if dtype(*kind).is_some() && (1..=8).contains(rank))
}

fn dtype(kind: u8) -> Option<DType> {
    Some(match kind {
        0x08 => DType::U8,
        0x09 => DType::I8,
        0x0b => DType::I16,
        0x0c => DType::I32,
        0x0d => DType::F32,
        0x0e => DType::F64,
        _ => return None,
    })
}

fn open(found: &Found, options: &Options) -> Result<Box<dyn Source>, Error> {
    let labels = labels_beside(found).filter(|_| options.labels);
    let labels = labels.map(|path| array(&Origin::of(&path)?)).transpose()?;
    Ok(Box::new(ArraySource::new(array(&found.origin)?, labels)?))
}

fn array(origin: &Origin) -> Result<Array, Error> {
    let opening = origin.opening(4 + 4 * 8)?;
    let (dtype, rank) = match opening[..] {
        [0, 0, kind, rank, ..] if starts(&opening) => (dtype(kind), usize::from(rank)),
        _ => (None, 0),
    };
    let Some(dtype) = dtype else {
        return Err(origin.error("not an IDX file: it starts with other bytes"));
    };
    let sizes = opening.get(4..4 + 4 * rank).ok_or_else(|| origin.error("the file is cut off"))?;
    let size = |b: &[u8]| b.iter().fold(0, |size, &byte| size << 8 | usize::from(byte));
    let shape: Vec<usize> = sizes.chunks_exact(4).map(size).collect();
    let start = 4 + 4 * rank as u64;
    let wanted = shape
        .iter()
        .try_fold(dtype.size() as u64, |p, &d| p.checked_mul(d as u64))
        .filter(|bytes| isize::try_from(*bytes).is_ok())
        .ok_or_else(|| {
            origin.error(format!("the shape {} can't be counted", message::shape(&shape)))
        })?;
    if let Some(there) = origin.length().map(|length| length.saturating_sub(start))
        && there != wanted
    {
        return Err(origin.error(format!(
            "the shape {} of {dtype} needs {wanted} bytes after the header, and there are {there}",
            message::shape(&shape)
        )));
    }
    Ok(Array { origin: origin.clone(), dtype, big_endian: true, shape, by_columns: false, start })
}

/// `train-labels-idx1-ubyte` for `train-images-idx3-ubyte`, either of them compressed or not.
fn labels_beside(found: &Found) -> Option<PathBuf> {
    let path = found.origin.path();
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".gz").unwrap_or(name);
    let other = stem.replace("images", "labels").replace("idx3", "idx1");
    let beside = |ending: &str| path.with_file_name(format!("{other}{ending}"));
    (other != stem).then(|| ["", ".gz"].into_iter().map(beside).find(|p| p.is_file()))?
}
