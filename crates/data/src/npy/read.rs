use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use half::f16;
use ndarray::{ArrayD, IxDyn};

use super::{
    ByColumns, DType, Error, Problem,
    header::{Header, MAGIC},
};

/// Elements of a file in the nearest type that holds them all.
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// float16 and float32.
    F32(ArrayD<f32>),
    /// float64.
    F64(ArrayD<f64>),
    /// uint8, which often is an image.
    U8(ArrayD<u8>),
    /// The other integers, and booleans as 0 and 1.
    I64(ArrayD<i64>),
}

impl Elements {
    /// The size of every axis.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::F32(a) => a.shape(),
            Self::F64(a) => a.shape(),
            Self::U8(a) => a.shape(),
            Self::I64(a) => a.shape(),
        }
    }

    /// The elements rounded to single precision.
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
    pub fn into_f32(self) -> ArrayD<f32> {
        match self {
            Self::F32(a) => a,
            Self::F64(a) => a.mapv(|v| v as f32),
            Self::U8(a) => a.mapv(f32::from),
            Self::I64(a) => a.mapv(|v| v as f32),
        }
    }
}

/// An array in a file, of which parts are read.
#[derive(Debug)]
pub struct Reader {
    file: File,
    path: PathBuf,
    dtype: DType,
    big_endian: bool,
    shape: Vec<usize>,
    /// Where the elements start.
    start: u64,
    /// Where they lie, if they are stored column by column.
    columns: Option<ByColumns>,
}

/// What a file tells before its elements.
#[derive(Debug)]
pub(crate) struct Preamble {
    pub(crate) dtype: DType,
    pub(crate) big_endian: bool,
    pub(crate) shape: Vec<usize>,
    /// Whether elements are stored column by column.
    pub(crate) by_columns: bool,
    /// Where the elements start.
    pub(crate) start: u64,
    /// How many bytes they take.
    pub(crate) bytes: u64,
}

impl Preamble {
    /// Reads all that comes before the elements; `length` is that of the file, if it is known.
    pub(crate) fn read(source: &mut dyn Read, length: Option<u64>) -> Result<Self, Problem> {
        let mut opening = Vec::with_capacity(12);
        source.take(12).read_to_end(&mut opening)?;
        let (header_length, start) = match opening[..] {
            [] => return Err(Problem::NotNpy(": it is empty")),
            [b'P', b'K', 3, 4, ..] => {
                return Err(Problem::NotNpy(" but an npz archive: save one array of it"));
            }
            _ if !opening.starts_with(MAGIC) => return Err(Problem::NotNpy("")),
            [_, _, _, _, _, _, 1, 0, a, b, ..] => (u64::from(u16::from_le_bytes([a, b])), 10),
            [_, _, _, _, _, _, 2 | 3, 0, a, b, c, d] => {
                (u64::from(u32::from_le_bytes([a, b, c, d])), 12)
            }
            [_, _, _, _, _, _, 1..=3, 0, ..] | [_, _, _, _, _, _] | [_, _, _, _, _, _, _] => {
                return Err(Problem::Header("the file ends before it".to_owned()));
            }
            [_, _, _, _, _, _, major, minor, ..] => return Err(Problem::Version(major, minor)),
            _ => return Err(Problem::NotNpy("")),
        };
        let there = length.map(|length| length.saturating_sub(start));
        if let Some(there) = there.filter(|&there| header_length > there) {
            let message =
                format!("it declares {header_length} bytes, and the file has {there} more");
            return Err(Problem::Header(message));
        }
        if header_length > MOST_HEADER {
            return Err(Problem::Header(format!("{header_length} bytes are too many")));
        }
        let mut text = Vec::new();
        let rest = opening.get(usize::try_from(start).unwrap_or(usize::MAX)..).unwrap_or_default();
        rest.chain(source).take(header_length).read_to_end(&mut text)?;
        if (text.len() as u64) < header_length {
            return Err(Problem::Header("the file ends within it".to_owned()));
        }
        let header = Header::parse(&text)?;
        let bytes = header.len()? * header.dtype.size() as u64;
        // With at most one axis longer than 1 both orders are the same.
        let by_columns =
            header.fortran_order && header.shape.iter().filter(|&&d| d != 1).count() > 1;
        let sizes = header.shape.iter().map(|&d| usize::try_from(d)).collect::<Result<_, _>>();
        let shape = sizes.map_err(|_| Problem::TooLarge(header.shape.clone()))?;
        let Header { dtype, big_endian, .. } = header;
        Ok(Self { dtype, big_endian, shape, by_columns, start: start + header_length, bytes })
    }
}

/// The longest header: `NumPy` itself refuses headers of more than 10 000 bytes.
const MOST_HEADER: u64 = 1 << 16;

impl Reader {
    /// Opens a file and checks that its length is what its header calls for.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_inner(path).map_err(|problem| Error::new(path, problem))
    }

    fn open_inner(path: &Path) -> Result<Self, Problem> {
        // Before opening: opening a pipe would block.
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() {
            let what = if metadata.is_dir() { "a folder" } else { "a pipe or a device" };
            return Err(Problem::NotAFile(what));
        }
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let Preamble { dtype, big_endian, shape, by_columns, start, bytes } =
            Preamble::read(&mut file, Some(length))?;
        let found = length - start;
        if bytes != found {
            let shape = shape.iter().map(|&d| d as u64).collect();
            return Err(Problem::WrongSize { shape, dtype, wanted: bytes, found });
        }
        let columns = by_columns.then(|| ByColumns::new(&shape, dtype.size(), start));
        Ok(Self { file, path: path.to_owned(), dtype, big_endian, shape, start, columns })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The type of the elements in the file.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The size of every axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Reads rows `start..end` along the first axis.
    pub fn rows(&mut self, start: usize, end: usize) -> Result<Elements, Error> {
        self.rows_inner(start, end).map_err(|problem| Error::new(&self.path, problem))
    }

    fn rows_inner(&mut self, start: usize, end: usize) -> Result<Elements, Problem> {
        let there = self.shape.split_first().filter(|(rows, _)| start <= end && end <= **rows);
        let Some((_, sample)) = there else {
            return Err(Problem::NoSuchRows { start, end, shape: self.shape.clone() });
        };
        let shape: Vec<usize> =
            std::iter::once(end - start).chain(sample.iter().copied()).collect();
        if let Some(columns) = &self.columns {
            let bytes = columns.read(&mut self.file, start..end)?;
            return Ok(decode(self.dtype, self.big_endian, &shape, bytes));
        }
        let size = self.dtype.size();
        // No product overflows: the whole array was counted and found in the file.
        let row_bytes = sample.iter().product::<usize>() * size;
        let offset = self.start + start as u64 * row_bytes as u64;
        let mut bytes = vec![0; (end - start) * row_bytes];
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read_exact(&mut bytes)?;
        Ok(decode(self.dtype, self.big_endian, &shape, bytes))
    }
}

/// Numbers from their bytes, of which there must be as many as the shape needs.
pub(crate) fn decode(dtype: DType, big_endian: bool, shape: &[usize], bytes: Vec<u8>) -> Elements {
    /// Numbers of one type, widened.
    macro_rules! numbers {
        ($type:ty, $variant:ident, $widen:expr) => {
            numbers!(
                $variant,
                bytes
                    .chunks_exact(size_of::<$type>())
                    .map(|chunk| {
                        let chunk = chunk.try_into().expect("chunks of this size");
                        $widen(if big_endian {
                            <$type>::from_be_bytes(chunk)
                        } else {
                            <$type>::from_le_bytes(chunk)
                        })
                    })
                    .collect()
            )
        };
        ($variant:ident, $values:expr) => {
            Elements::$variant(
                ArrayD::from_shape_vec(IxDyn(shape), $values)
                    .expect("as many bytes as the shape needs"),
            )
        };
    }
    match dtype {
        DType::Bool => numbers!(I64, bytes.iter().map(|&b| i64::from(b != 0)).collect()),
        DType::U8 => numbers!(U8, bytes),
        DType::I8 => numbers!(i8, I64, i64::from),
        DType::U16 => numbers!(u16, I64, i64::from),
        DType::I16 => numbers!(i16, I64, i64::from),
        DType::U32 => numbers!(u32, I64, i64::from),
        DType::I32 => numbers!(i32, I64, i64::from),
        DType::I64 => numbers!(i64, I64, i64::from),
        DType::F16 => numbers!(f16, F32, f16::to_f32),
        DType::F32 => numbers!(f32, F32, f32::from),
        DType::F64 => numbers!(f64, F64, f64::from),
    }
}
