use std::io::{self, Read};

use half::{bf16, f16};

use crate::elem::ElemType;
use crate::proto::TensorProto;

/// A decoded tensor, elements in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorData {
    /// Shape; empty for a scalar.
    pub dims: Vec<usize>,
    /// Elements, as many as the product of `dims`.
    pub values: Values,
}

/// The elements of a tensor.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// `float32`.
    F32(Vec<f32>),
    /// `float64`.
    F64(Vec<f64>),
    /// `float16`.
    F16(Vec<f16>),
    /// `bfloat16`.
    Bf16(Vec<bf16>),
    /// `int8`.
    I8(Vec<i8>),
    /// `uint8`.
    U8(Vec<u8>),
    /// `int16`.
    I16(Vec<i16>),
    /// `uint16`.
    U16(Vec<u16>),
    /// `int32`.
    I32(Vec<i32>),
    /// `uint32`.
    U32(Vec<u32>),
    /// `int64`.
    I64(Vec<i64>),
    /// `uint64`.
    U64(Vec<u64>),
    /// `bool`.
    Bool(Vec<bool>),
    /// `string`, not always UTF-8.
    String(Vec<Vec<u8>>),
}

/// Runs the same expression on the vector of every variant but `String`, which has its own.
macro_rules! each_variant {
    ($values:expr, $vec:ident => $numeric:expr, $strings:ident => $string:expr) => {
        match $values {
            Values::F32($vec) => $numeric,
            Values::F64($vec) => $numeric,
            Values::F16($vec) => $numeric,
            Values::Bf16($vec) => $numeric,
            Values::I8($vec) => $numeric,
            Values::U8($vec) => $numeric,
            Values::I16($vec) => $numeric,
            Values::U16($vec) => $numeric,
            Values::I32($vec) => $numeric,
            Values::U32($vec) => $numeric,
            Values::I64($vec) => $numeric,
            Values::U64($vec) => $numeric,
            Values::Bool($vec) => $numeric,
            Values::String($strings) => $string,
        }
    };
}

impl TensorData {
    /// The tensor as a message, its elements in `raw_data` (strings in `string_data`).
    #[must_use]
    pub fn to_proto(&self, name: &str) -> TensorProto {
        let mut tensor = TensorProto {
            name: name.to_owned(),
            dims: self.dims.iter().map(|&dim| i64::try_from(dim).unwrap_or(i64::MAX)).collect(),
            data_type: self.values.elem_type().code(),
            ..Default::default()
        };
        each_variant!(&self.values,
            numbers => tensor.raw_data = Some(to_le_bytes(numbers).into()),
            strings => tensor.string_data.clone_from(strings));
        tensor
    }
}

impl Values {
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        each_variant!(self, numbers => numbers.len(), strings => strings.len())
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element type; its `name()` is what to show a user.
    #[must_use]
    pub fn elem_type(&self) -> ElemType {
        match self {
            Self::F32(_) => ElemType::F32,
            Self::F64(_) => ElemType::F64,
            Self::F16(_) => ElemType::F16,
            Self::Bf16(_) => ElemType::Bf16,
            Self::I8(_) => ElemType::I8,
            Self::U8(_) => ElemType::U8,
            Self::I16(_) => ElemType::I16,
            Self::U16(_) => ElemType::U16,
            Self::I32(_) => ElemType::I32,
            Self::U32(_) => ElemType::U32,
            Self::I64(_) => ElemType::I64,
            Self::U64(_) => ElemType::U64,
            Self::Bool(_) => ElemType::Bool,
            Self::String(_) => ElemType::String,
        }
    }
}

/// An element of fixed size, little endian in a file.
pub(crate) trait Scalar: Copy {
    fn append_from_le(bytes: &[u8], out: &mut Vec<Self>);
    fn append_to_le(self, out: &mut Vec<u8>);
}

macro_rules! scalar {
    ($($number:ty),*) => {$(
        impl Scalar for $number {
            fn append_from_le(bytes: &[u8], out: &mut Vec<Self>) {
                let (chunks, _) = bytes.as_chunks::<{ size_of::<$number>() }>();
                out.extend(chunks.iter().map(|chunk| <$number>::from_le_bytes(*chunk)));
            }

            fn append_to_le(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

scalar!(f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64);

impl Scalar for bool {
    fn append_from_le(bytes: &[u8], out: &mut Vec<Self>) {
        out.extend(bytes.iter().map(|&byte| byte != 0));
    }

    fn append_to_le(self, out: &mut Vec<u8>) {
        out.push(u8::from(self));
    }
}

pub(crate) fn to_le_bytes<T: Scalar>(numbers: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_val(numbers));
    for number in numbers {
        number.append_to_le(&mut bytes);
    }
    bytes
}

/// Reads `count` numbers block by block, so that the raw bytes never need a second buffer of that size.
pub(crate) fn from_le_bytes<T: Scalar>(source: &mut dyn Read, count: usize) -> io::Result<Vec<T>> {
    const BLOCK: usize = 1 << 16; // a multiple of every element size
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(count).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut block = vec![0; BLOCK.min(count.saturating_mul(size_of::<T>()))];
    while numbers.len() < count {
        let missing = (count - numbers.len()).saturating_mul(size_of::<T>());
        let part = match block.get_mut(..missing) {
            Some(part) => part,
            None => &mut block,
        };
        source.read_exact(part)?;
        T::append_from_le(part, &mut numbers);
    }
    Ok(numbers)
}
