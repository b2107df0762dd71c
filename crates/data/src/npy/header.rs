//! The header: a Python dictionary of three entries.

use std::fmt;

use taste_files::message::shortened;

use super::Problem;

/// Element types of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as NumPy names them")]
pub enum DType {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    I64,
    F16,
    F32,
    F64,
}

impl DType {
    /// Every type, with kind and size as they are written in a header.
    const ALL: [(Self, &'static str, &'static str); 11] = [
        (Self::Bool, "b1", "bool"),
        (Self::U8, "u1", "uint8"),
        (Self::I8, "i1", "int8"),
        (Self::U16, "u2", "uint16"),
        (Self::I16, "i2", "int16"),
        (Self::U32, "u4", "uint32"),
        (Self::I32, "i4", "int32"),
        (Self::I64, "i8", "int64"),
        (Self::F16, "f2", "float16"),
        (Self::F32, "f4", "float32"),
        (Self::F64, "f8", "float64"),
    ];

    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Self::Bool | Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// Whether elements are floating-point numbers.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(d, ..)| d == self).map_or("", |(.., name)| name);
        f.write_str(name)
    }
}

/// What a header tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) dtype: DType,
    pub(crate) big_endian: bool,
    pub(crate) fortran_order: bool,
    pub(crate) shape: Vec<u64>,
}

/// No array has this many axes.
const MOST_AXES: usize = 64;

impl Header {
    /// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`, the entries in any order.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, Problem> {
        let mut p = Parser { text, at: 0 };
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        p.expect(b'{')?;
        while !p.eat(b'}') {
            let key = p.string()?;
            p.expect(b':')?;
            let again = match key {
                "descr" => descr.replace(p.descr()?).is_some(),
                "fortran_order" => fortran_order.replace(p.boolean()?).is_some(),
                "shape" => shape.replace(p.shape()?).is_some(),
                other => return Err(broken(format!("unexpected entry {other:?}"))),
            };
            if again {
                return Err(broken(format!("{key:?} is there twice")));
            }
            if !p.eat(b',') {
                p.expect(b'}')?;
                break;
            }
        }
        p.space();
        if let Some(rest) = p.text.get(p.at) {
            return Err(broken(format!("{:?} after its end", char::from(*rest))));
        }
        let missing = |key: &str| broken(format!("no entry {key:?}"));
        let (dtype, big_endian) = descr.ok_or_else(|| missing("descr"))?;
        Ok(Self {
            dtype,
            big_endian,
            fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }

    /// How many elements there are, if that can be counted: zero sizes do not make others harmless.
    pub(crate) fn len(&self) -> Result<u64, Problem> {
        let size = self.dtype.size() as u64;
        let fits = self
            .shape
            .iter()
            .filter(|&&d| d != 0)
            .try_fold(size, |p, &d| p.checked_mul(d))
            .is_some_and(|bytes| isize::try_from(bytes).is_ok());
        if !fits {
            return Err(Problem::TooLarge(self.shape.clone()));
        }
        Ok(self.shape.iter().product())
    }

    /// Magic, version, length and dictionary, with data starting at a multiple of 64 bytes.
    pub(crate) fn write(dtype: DType, shape: &[usize]) -> Vec<u8> {
        Self::write_padded(dtype, shape, 0)
    }

    /// What [`write`](Self::write) gives, with at least `length` bytes in all, so that the shape can be filled in later.
    pub(crate) fn write_padded(dtype: DType, shape: &[usize], length: usize) -> Vec<u8> {
        let kind = DType::ALL.iter().find(|(d, ..)| *d == dtype).map_or("", |(_, kind, _)| kind);
        let order = if dtype.size() == 1 { '|' } else { '<' };
        let mut text = format!(
            "{{'descr': '{order}{kind}', 'fortran_order': False, 'shape': {}, }}",
            tuple(shape)
        );
        let fixed = MAGIC.len() + 4;
        let total = (fixed + text.len() + 1).max(length).next_multiple_of(64);
        text.extend(std::iter::repeat_n(' ', total - fixed - text.len() - 1));
        text.push('\n');
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        // At most 64 axes of at most 20 digits: far below 2¹⁶.
        bytes.extend(u16::try_from(text.len()).unwrap_or(u16::MAX).to_le_bytes());
        bytes.extend(text.into_bytes());
        bytes
    }
}

/// What every file starts with.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

fn tuple(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    match &sizes[..] {
        [one] => format!("({one},)"),
        _ => format!("({})", sizes.join(", ")),
    }
}

fn broken(message: impl Into<String>) -> Problem {
    Problem::Header(message.into())
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Parser<'a> {
    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn peek(&mut self) -> Option<u8> {
        self.space();
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8) -> Result<(), Problem> {
        if self.eat(byte) {
            return Ok(());
        }
        let wanted = char::from(byte);
        Err(match self.peek() {
            Some(found) => broken(format!("{:?} where {wanted:?} belongs", char::from(found))),
            None => broken(format!("ends where {wanted:?} belongs")),
        })
    }

    fn string(&mut self) -> Result<&'a str, Problem> {
        let Some(quote @ (b'\'' | b'"')) = self.peek() else {
            return Err(broken("no quoted name where one belongs"));
        };
        let rest = &self.text[self.at + 1..];
        let end = rest.iter().position(|&b| b == quote).ok_or_else(|| broken("an open quote"))?;
        self.at += end + 2;
        std::str::from_utf8(&rest[..end]).map_err(|_| broken("a name that is no text"))
    }

    fn word(&mut self) -> &'a [u8] {
        self.space();
        let rest = &self.text[self.at..];
        let end = rest.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn boolean(&mut self) -> Result<bool, Problem> {
        match self.word() {
            b"True" => Ok(true),
            b"False" => Ok(false),
            _ => Err(broken("fortran_order is neither True nor False")),
        }
    }

    fn shape(&mut self) -> Result<Vec<u64>, Problem> {
        let mut sizes = Vec::new();
        self.expect(b'(')?;
        while !self.eat(b')') {
            // Python 2 wrote long integers with a trailing L.
            let word = std::str::from_utf8(self.word()).unwrap_or_default();
            let size = word.strip_suffix('L').unwrap_or(word).parse();
            sizes.push(size.map_err(|_| broken("a size in its shape is not a number"))?);
            if sizes.len() > MOST_AXES {
                return Err(broken(format!("more than {MOST_AXES} axes")));
            }
            if !self.eat(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(sizes)
    }

    /// Type and byte order.
    fn descr(&mut self) -> Result<(DType, bool), Problem> {
        if self.peek() == Some(b'[') {
            return Err(Problem::Unsupported("record (a structured array)".to_owned()));
        }
        let descr = self.string()?;
        let unsupported = || {
            let shown = shortened(descr, 20);
            Problem::Unsupported(match descr.trim_start_matches(['<', '>', '|', '=']) {
                "O" => "object (pickled Python objects)".to_owned(),
                "c8" | "c16" => format!("complex ({shown})"),
                _ => format!("{shown:?}"),
            })
        };
        let mut chars = descr.chars();
        let (big_endian, kind) = match chars.next() {
            Some('<' | '|') => (false, chars.as_str()),
            Some('>') => (true, chars.as_str()),
            Some('=') => (cfg!(target_endian = "big"), chars.as_str()),
            _ => (false, descr),
        };
        let found = DType::ALL.iter().find(|(_, k, _)| *k == kind || (*k == "b1" && kind == "?"));
        found.map(|(dtype, ..)| (*dtype, big_endian)).ok_or_else(unsupported)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Header, String> {
        Header::parse(text.as_bytes()).map_err(|p| p.to_string())
    }

    #[test]
    fn the_spellings_of_numpy_are_read() {
        let plain =
            parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }      \n").unwrap();
        assert_eq!(plain.shape, [3, 4]);
        assert_eq!(
            (plain.dtype, plain.big_endian, plain.fortran_order),
            (DType::F32, false, false)
        );
        let other = parse("{\"shape\":(5L,),\"fortran_order\":True,\"descr\":\">i8\"}").unwrap();
        assert_eq!(other.shape, [5]);
        assert_eq!((other.dtype, other.big_endian, other.fortran_order), (DType::I64, true, true));
        assert_eq!(
            parse("{'descr': '|b1', 'fortran_order': False, 'shape': ()}").unwrap().shape,
            Vec::<u64>::new()
        );
        assert_eq!(
            parse("{'descr': '?', 'fortran_order': False, 'shape': ()}").unwrap().dtype,
            DType::Bool
        );
    }

    #[test]
    fn broken_headers_are_described() {
        let rest = ", 'fortran_order': False, 'shape': (1,)}";
        for (text, message) in [
            (String::new(), "ends where '{' belongs"),
            ("{".to_owned(), "no quoted name"),
            ("{'descr".to_owned(), "an open quote"),
            ("{'descr' '<f4'".to_owned(), "where ':' belongs"),
            ("{'descr': '<f4'".to_owned(), "ends where '}' belongs"),
            ("{'descr': '<f4'}".to_owned(), "no entry \"fortran_order\""),
            (format!("{{'descr': '<f4'{rest} x"), "'x' after its end"),
            (format!("{{'descr': '<f4', 'descr': '<f4'{rest}"), "\"descr\" is there twice"),
            (format!("{{'descr': '<f4', 'more': 1{rest}"), "unexpected entry \"more\""),
            (format!("{{'descr': '|O'{rest}"), "pickled Python objects"),
            (format!("{{'descr': '<c8'{rest}"), "complex"),
            (format!("{{'descr': '<U7'{rest}"), "\"<U7\""),
            (format!("{{'descr': '>'{rest}"), "\">\""),
            (format!("{{'descr': ''{rest}"), "\"\""),
            (format!("{{'descr': [('a', '<f4')]{rest}"), "structured"),
            (
                "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}".to_owned(),
                "neither True nor False",
            ),
            ("{'descr': '<f4', 'fortran_order': True, 'shape': (-1,)}".to_owned(), "not a number"),
            (
                "{'descr': '<f4', 'fortran_order': True, 'shape': (1 2)}".to_owned(),
                "'2' where ')' belongs",
            ),
            (
                "{'descr': '<f4', 'fortran_order': True, 'shape': (99999999999999999999,)}"
                    .to_owned(),
                "not a number",
            ),
            (
                format!(
                    "{{'descr': '<f4', 'fortran_order': True, 'shape': ({})}}",
                    "1,".repeat(65)
                ),
                "more than 64 axes",
            ),
        ] {
            let found = parse(&text).expect_err(&text);
            assert!(found.contains(message), "{text}: {found}");
        }
    }

    #[test]
    fn sizes_that_cannot_be_counted_are_refused() {
        for shape in
            ["(4294967296, 4294967296)", "(18446744073709551615,)", "(0, 4294967296, 4294967296)"]
        {
            let header =
                parse(&format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}"));
            assert!(matches!(header.unwrap().len(), Err(Problem::TooLarge(_))), "{shape}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for (dtype, kind, _) in DType::ALL {
            for shape in [&[][..], &[7], &[2, 3], &[10, 3, 224, 224]] {
                let bytes = Header::write(dtype, shape);
                assert_eq!(bytes.len() % 64, 0);
                let header = Header::parse(&bytes[10..]).unwrap();
                let sizes: Vec<u64> = shape.iter().map(|&d| d as u64).collect();
                assert_eq!((header.dtype, header.shape), (dtype, sizes), "{kind}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn no_header_panics(text in "[{}(),:'\" 0-9L<>|fTrueFalsdchpo_n]{0,120}") {
            let _ = Header::parse(text.as_bytes());
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = Header::parse(&bytes);
        }

        #[test]
        fn every_cut_and_change_of_a_header_is_read_or_refused(
            cut in 0usize..70, place in 0usize..70, byte in proptest::num::u8::ANY,
        ) {
            let mut text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }         \n".to_vec();
            text[place % 68] = byte;
            let _ = Header::parse(&text[..cut.min(text.len())]);
            let _ = Header::parse(&text).and_then(|h| h.len());
        }
    }
}
