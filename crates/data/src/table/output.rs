use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use taste_files::AtomicFile;

/// Where text goes.
#[derive(Debug)]
pub(super) enum Output {
    File(AtomicFile),
    Standard(BufWriter<Stdout>),
    /// With the last byte that was written.
    Terminal(BufWriter<Stdout>, u8),
}

impl Output {
    pub(super) fn standard() -> Self {
        let output = BufWriter::new(io::stdout());
        if io::stdout().is_terminal() { Self::Terminal(output, 0) } else { Self::Standard(output) }
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::File(file) => file.commit(),
            Self::Standard(mut output) | Self::Terminal(mut output, _) => output.flush(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Standard(output) => output.write(bytes),
            Self::Terminal(output, last) => {
                output.write_all(&tame(bytes, last)).map(|()| bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Standard(output) | Self::Terminal(output, _) => output.flush(),
        }
    }
}

/// UTF-8 without control characters but those of lines: names of files may hold some. `last` is the byte before.
fn tame(bytes: &[u8], last: &mut u8) -> Vec<u8> {
    let tamed = |&byte: &u8| {
        let is_second = std::mem::replace(last, byte) == 0xc2;
        match byte {
            b'\n' | b'\r' | b'\t' => byte,
            ..0x20 | 0x7f => b'?',
            // The second byte of U+0080 to U+009F: a middle dot in its place.
            0x80..=0x9f if is_second => 0xb7,
            _ => byte,
        }
    };
    bytes.iter().map(tamed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_commands() {
        let mut last = 0;
        let text = "é,\u{1b}[31mred\u{9b}2J,\u{7f}\r\n".as_bytes();
        // Wherever the text is cut.
        for cut in 0..text.len() {
            let mut tamed = tame(&text[..cut], &mut last);
            tamed.extend(tame(&text[cut..], &mut last));
            assert_eq!(String::from_utf8(tamed).expect("UTF-8"), "é,?[31mred·2J,?\r\n");
        }
    }
}
