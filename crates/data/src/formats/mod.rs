//! The formats, one file each.

mod array;
mod cifar;
mod csv;
pub(crate) mod folder;
mod idx;
mod images;
mod npy;
mod npz;
mod parquet;

use std::path::{Path, PathBuf};

use crate::{Error, Options, npy::MAGIC, origin::Origin, source::Source};

/// A file that is to be opened.
pub(crate) struct Found {
    origin: Origin,
    /// Its first bytes, decompressed.
    opening: Vec<u8>,
    /// The member of an archive that is asked for.
    member: Option<String>,
}

/// A format: how to recognise it by content, or else by name, and how to open it.
struct Format {
    name: &'static str,
    starts: fn(&[u8]) -> bool,
    endings: &'static [&'static str],
    open: Open,
}

type Open = fn(&Found, &Options) -> Result<Box<dyn Source>, Error>;

const FORMATS: &[Format] = &[
    Format { name: "npy", starts: |b| b.starts_with(MAGIC), endings: &[".npy"], open: npy::open },
    Format { name: "npz", starts: |b| b.starts_with(b"PK"), endings: &[".npz"], open: npz::open },
    Format {
        name: "Parquet",
        starts: |b| b.starts_with(b"PAR1"),
        endings: &[".parquet", ".pq"],
        open: parquet::open,
    },
    Format {
        name: "PNG or JPEG",
        starts: images::starts,
        endings: &[".png", ".jpg", ".jpeg"],
        open: images::open,
    },
    Format { name: "CIFAR's .bin", starts: |_| false, endings: &[".bin"], open: cifar::open },
    Format { name: "IDX", starts: idx::starts, endings: &["-ubyte", ".idx"], open: idx::open },
    Format {
        name: "CSV",
        starts: |_| false,
        endings: &[".csv", ".tsv", ".tab", ".txt"],
        open: csv::open,
    },
];

/// Opens a file by what it holds.
pub(crate) fn open_file(path: &Path, options: &Options) -> Result<Box<dyn Source>, Error> {
    let (path, member) = split_member(path);
    let origin = Origin::of(&path)?;
    let opening = origin.opening(64)?;
    if opening.is_empty() {
        return Err(origin.error("it is empty"));
    }
    let name = origin.file_name();
    let named = |f: &&Format| f.endings.iter().any(|ending| name.ends_with(ending));
    let by_name = FORMATS.iter().find(named);
    // The bytes of CIFAR and of text have no mark, and may start like anything.
    let unmarked =
        by_name.filter(|f| !(f.starts)(&opening) && [".bin", ".csv"].contains(&f.endings[0]));
    let by_content = || FORMATS.iter().find(|f| (f.starts)(&opening));
    let as_text = || FORMATS.last().filter(|_| is_text(&opening));
    let Some(format) = unmarked.or_else(by_content).or(by_name).or_else(as_text) else {
        let names: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
        return Err(origin.error(format!("its format is not known; {} are", names.join(", "))));
    };
    (format.open)(&Found { origin, opening, member }, options)
}

/// Splits `x.npz:member`, unless there is a file of that very name.
fn split_member(path: &Path) -> (PathBuf, Option<String>) {
    let text = path.to_string_lossy();
    match text.rfind(".npz:") {
        Some(at) if !path.exists() => {
            (PathBuf::from(&text[..at + 4]), Some(text[at + 5..].to_owned()))
        }
        _ => (path.to_owned(), None),
    }
}

fn is_text(opening: &[u8]) -> bool {
    opening.iter().all(|&b| b >= 0x20 || matches!(b, b'\t' | b'\n' | b'\r'))
}
