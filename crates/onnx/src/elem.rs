use std::fmt;

/// The element types that tensors are decoded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElemType {
    /// 32-bit float.
    F32,
    /// 8-bit unsigned integer.
    U8,
    /// 8-bit signed integer.
    I8,
    /// 16-bit unsigned integer.
    U16,
    /// 16-bit signed integer.
    I16,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer.
    I64,
    /// Byte string.
    String,
    /// Boolean.
    Bool,
    /// IEEE half precision.
    F16,
    /// 64-bit float.
    F64,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit unsigned integer.
    U64,
    /// Brain float: the upper half of a 32-bit float.
    Bf16,
}

impl ElemType {
    /// Every element type, in the order of the ONNX codes.
    pub const ALL: [Self; 14] = [
        Self::F32,
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::String,
        Self::Bool,
        Self::F16,
        Self::F64,
        Self::U32,
        Self::U64,
        Self::Bf16,
    ];

    /// The code of `TensorProto.DataType`.
    #[must_use]
    pub const fn code(self) -> i32 {
        match self {
            Self::F32 => 1,
            Self::U8 => 2,
            Self::I8 => 3,
            Self::U16 => 4,
            Self::I16 => 5,
            Self::I32 => 6,
            Self::I64 => 7,
            Self::String => 8,
            Self::Bool => 9,
            Self::F16 => 10,
            Self::F64 => 11,
            Self::U32 => 12,
            Self::U64 => 13,
            Self::Bf16 => 16,
        }
    }

    /// The type of a `TensorProto.DataType` code; `None` if this crate does not decode it.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|elem_type| elem_type.code() == code)
    }

    /// The name that numpy users know, such as `float32`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "float32",
            Self::U8 => "uint8",
            Self::I8 => "int8",
            Self::U16 => "uint16",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::String => "string",
            Self::Bool => "bool",
            Self::F16 => "float16",
            Self::F64 => "float64",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
            Self::Bf16 => "bfloat16",
        }
    }

    /// Bytes per element in `raw_data` and in external files; `None` for strings.
    #[must_use]
    pub const fn size(self) -> Option<usize> {
        match self {
            Self::U8 | Self::I8 | Self::Bool => Some(1),
            Self::U16 | Self::I16 | Self::F16 | Self::Bf16 => Some(2),
            Self::F32 | Self::I32 | Self::U32 => Some(4),
            Self::F64 | Self::I64 | Self::U64 => Some(8),
            Self::String => None,
        }
    }
}

impl fmt::Display for ElemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name for a code that [`ElemType::from_code`] does not know.
pub(crate) fn foreign_name(code: i32) -> String {
    let name = match code {
        0 => "undefined",
        14 => "complex64",
        15 => "complex128",
        17 => "float8e4m3fn",
        18 => "float8e4m3fnuz",
        19 => "float8e5m2",
        20 => "float8e5m2fnuz",
        21 => "uint4",
        22 => "int4",
        23 => "float4e2m1",
        24 => "float8e8m0",
        25 => "uint2",
        26 => "int2",
        27 => "float6e2m3",
        28 => "float6e3m2",
        _ => return format!("number {code}"),
    };
    name.to_owned()
}
