use std::io::{self, BufWriter, Stdout, Write};

use taste_files::AtomicFile;

/// Where text goes.
#[derive(Debug)]
pub(super) enum Output {
    File(AtomicFile),
    Standard(BufWriter<Stdout>),
}

impl Output {
    pub(super) fn standard() -> Self {
        Self::Standard(BufWriter::new(io::stdout()))
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::File(file) => file.commit(),
            Self::Standard(mut output) => output.flush(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Standard(output) => output.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Standard(output) => output.flush(),
        }
    }
}
