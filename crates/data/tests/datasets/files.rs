//! Files for tests.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use flate2::{Compression, Crc, write::DeflateEncoder, write::GzEncoder};
use ndarray::{ArrayD, Axis, concatenate};
use taste_data::{Dataset, Options, Samples};
use tempfile::TempDir;

/// A folder that is gone after the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, and folders above it where needed.
    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }
}

/// All of a data set.
#[derive(Debug, PartialEq)]
pub(crate) struct All {
    pub(crate) values: ArrayD<f32>,
    pub(crate) labels: Option<Vec<i64>>,
    pub(crate) kept: Vec<Vec<String>>,
}

/// Reads all, by chunks of 3, and checks what every data set has to keep.
pub(crate) fn all(set: &Dataset) -> Result<All, String> {
    let mut parts = Vec::new();
    let mut labels: Option<Vec<i64>> = None;
    let mut kept: Vec<Vec<String>> = Vec::new();
    let mut next = 0;
    for chunk in set.chunks(3).map_err(|e| e.to_string())? {
        let chunk = chunk.map_err(|e| e.to_string())?;
        assert!(!chunk.is_empty() && chunk.len() <= 3);
        assert_eq!(chunk.index, (next..next + chunk.len()).collect::<Vec<_>>());
        assert_eq!(&chunk.values.shape()[1..], set.sample_shape());
        assert_eq!(chunk.values.shape()[0], chunk.len());
        next += chunk.len();
        if let Some(found) = chunk.labels {
            assert_eq!(found.len(), chunk.index.len());
            labels.get_or_insert_default().extend(found);
        }
        kept.resize(chunk.kept.len(), Vec::new());
        kept.iter_mut().zip(chunk.kept).for_each(|(all, texts)| all.extend(texts));
        parts.push(chunk.values);
    }
    assert_eq!(set.count(), Some(next), "after a whole pass the count is known");
    let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
    let values = concatenate(Axis(0), &views).map_err(|e| e.to_string())?;
    Ok(All { values, labels, kept })
}

pub(crate) fn read(path: &Path, options: &Options) -> Result<All, String> {
    let set = Dataset::open(path, options).map_err(|e| e.to_string())?;
    all(&set)
}

/// The error of a file, which must be one line that starts with the path of the file or folder.
pub(crate) fn refused(path: &Path, options: &Options) -> String {
    let sentence = read(path, options).expect_err("refused");
    let shown = path.display().to_string();
    assert!(sentence.starts_with(&shown) && !sentence.contains('\n'), "{sentence}");
    sentence[shown.len()..].to_owned()
}

/// Whether two numbers are the same to the last bit.
pub(crate) fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

pub(crate) fn shaped(shape: &[usize]) -> Options {
    Options { sample_shape: Some(shape.to_vec()), ..Options::default() }
}

/// With labels.
pub(crate) fn labelled() -> Options {
    Options { labels: true, ..Options::default() }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A file as `numpy.save` lays it out.
pub(crate) fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut text =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}").into_bytes();
    text.resize((10 + text.len() + 1).next_multiple_of(64) - 11, b' ');
    text.push(b'\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
    bytes.extend(text);
    bytes.extend(data);
    bytes
}

pub(crate) fn npy_f32(shape: &str, values: &[f32]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    npy("<f4", shape, &data)
}

/// A zip archive, its members deflated or stored.
pub(crate) fn zip(members: &[(&str, Vec<u8>)], deflated: bool) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let mut crc = Crc::new();
        crc.update(bytes);
        let stored = if deflated {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        } else {
            bytes.clone()
        };
        let size = |n: usize| u32::try_from(n).unwrap().to_le_bytes();
        let mut common = vec![20, 0, 0, 0, if deflated { 8 } else { 0 }, 0, 0, 0, 0x21, 0];
        common.extend(crc.sum().to_le_bytes());
        common.extend(size(stored.len()));
        common.extend(size(bytes.len()));
        common.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        common.extend([0, 0]);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(size(archive.len()));
        directory.extend(name.as_bytes());
        archive.extend(b"PK\x03\x04");
        archive.extend(&common);
        archive.extend(name.as_bytes());
        archive.extend(stored);
    }
    let (start, length) = (archive.len(), directory.len());
    archive.extend(directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    let count = u16::try_from(members.len()).unwrap().to_le_bytes();
    archive.extend([count, count].concat());
    archive.extend(u32::try_from(length).unwrap().to_le_bytes());
    archive.extend(u32::try_from(start).unwrap().to_le_bytes());
    archive.extend([0, 0]);
    archive
}

/// An IDX file.
pub(crate) fn idx(kind: u8, shape: &[u32], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, kind, u8::try_from(shape.len()).unwrap()];
    bytes.extend(shape.iter().flat_map(|d| d.to_be_bytes()));
    bytes.extend(data);
    bytes
}
