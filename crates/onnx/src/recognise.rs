/// Opening bytes of what people pass by mistake, and what to call it.
const MAGICS: &[(&[u8], &str)] = &[
    (b"\x89PNG", "it is a PNG image"),
    (b"\xff\xd8\xff", "it is a JPEG image"),
    (b"\x93NUMPY", "it is a numpy array (npy)"),
    (b"PK\x03\x04", "it is a zip archive (such as npz, or a PyTorch checkpoint)"),
    (b"\x1f\x8b", "it is gzip-compressed"),
    (b"\x89HDF", "it is an HDF5 file"),
    (b"PAR1", "it is a Parquet file"),
    (b"%PDF", "it is a PDF document"),
    (b"\x7fELF", "it is a program"),
    (b"\x80\x02", "it is a Python pickle"),
    (b"\x80\x04", "it is a Python pickle"),
    (
        b"version https://git-lfs",
        "it is a Git LFS pointer; fetch the file itself with `git lfs pull`",
    ),
];

/// How much of a file is looked at to tell text from binary.
const TEXT_SAMPLE: usize = 1024;

/// What bytes that failed to be a model are instead, if that can be told.
pub(crate) fn what_it_is(bytes: &[u8]) -> Option<&'static str> {
    if bytes.is_empty() {
        return Some("it is empty");
    }
    let known = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic));
    known.map(|(_, name)| *name).or_else(|| is_text(bytes).then_some("it is a text file"))
}

fn is_text(bytes: &[u8]) -> bool {
    let sample = bytes.get(..TEXT_SAMPLE).unwrap_or(bytes);
    let text = match str::from_utf8(sample) {
        Ok(text) => text,
        // The cut may have split a character.
        Err(e) if e.error_len().is_none() => {
            sample.get(..e.valid_up_to()).and_then(|s| str::from_utf8(s).ok()).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.is_empty() && text.chars().all(|c| !c.is_control() || c.is_ascii_whitespace())
}
