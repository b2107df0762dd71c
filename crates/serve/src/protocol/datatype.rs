//! Types of the elements of tensors.

use half::{bf16, f16};

/// The type of the elements of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Datatype {
    Bool,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Int8,
    Int16,
    Int32,
    Int64,
    Fp16,
    Bf16,
    Fp32,
    Fp64,
    /// Strings of bytes of any length: words, or pictures as files.
    Bytes,
}

impl Datatype {
    const ALL: [Self; 14] = [
        Self::Bool,
        Self::Uint8,
        Self::Uint16,
        Self::Uint32,
        Self::Uint64,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Fp16,
        Self::Bf16,
        Self::Fp32,
        Self::Fp64,
        Self::Bytes,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bool => "BOOL",
            Self::Uint8 => "UINT8",
            Self::Uint16 => "UINT16",
            Self::Uint32 => "UINT32",
            Self::Uint64 => "UINT64",
            Self::Int8 => "INT8",
            Self::Int16 => "INT16",
            Self::Int32 => "INT32",
            Self::Int64 => "INT64",
            Self::Fp16 => "FP16",
            Self::Bf16 => "BF16",
            Self::Fp32 => "FP32",
            Self::Fp64 => "FP64",
            Self::Bytes => "BYTES",
        }
    }

    pub(crate) fn named(name: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|datatype| datatype.name() == name);
        found.ok_or_else(|| format!("no datatype {name:?}; there are {}", names()))
    }

    /// Bytes of an element, unless they differ.
    pub(crate) fn size(self) -> Option<usize> {
        Some(match self {
            Self::Bool | Self::Uint8 | Self::Int8 => 1,
            Self::Uint16 | Self::Int16 | Self::Fp16 | Self::Bf16 => 2,
            Self::Uint32 | Self::Int32 | Self::Fp32 => 4,
            Self::Uint64 | Self::Int64 | Self::Fp64 => 8,
            Self::Bytes => return None,
        })
    }

    /// Numbers of little-endian bytes, rounded to single precision. The length must be a multiple of the size.
    #[expect(clippy::cast_possible_truncation, reason = "rounding to single precision")]
    pub(crate) fn numbers(self, bytes: &[u8]) -> Vec<f32> {
        match self {
            Self::Bool => bytes.iter().map(|&b| f32::from(u8::from(b != 0))).collect(),
            Self::Uint8 => bytes.iter().map(|&b| f32::from(b)).collect(),
            Self::Int8 => bytes.iter().map(|&b| f32::from(b.cast_signed())).collect(),
            Self::Uint16 => each(bytes, |b| f32::from(u16::from_le_bytes(b))),
            Self::Int16 => each(bytes, |b| f32::from(i16::from_le_bytes(b))),
            Self::Fp16 => each(bytes, |b| f16::from_le_bytes(b).to_f32()),
            Self::Bf16 => each(bytes, |b| bf16::from_le_bytes(b).to_f32()),
            Self::Uint32 => each(bytes, |b| u32::from_le_bytes(b) as f32),
            Self::Int32 => each(bytes, |b| i32::from_le_bytes(b) as f32),
            Self::Fp32 => each(bytes, f32::from_le_bytes),
            Self::Uint64 => each(bytes, |b| u64::from_le_bytes(b) as f32),
            Self::Int64 => each(bytes, |b| i64::from_le_bytes(b) as f32),
            Self::Fp64 => each(bytes, |b| f64::from_le_bytes(b) as f32),
            Self::Bytes => Vec::new(),
        }
    }

    /// Whether a number in JSON can be of this type.
    pub(crate) fn admits(self, value: f32) -> bool {
        let whole = |low: f32, high: f32| value.fract() == 0.0 && low <= value && value <= high;
        match self {
            Self::Bool => whole(0.0, 1.0),
            Self::Uint8 => whole(0.0, 255.0),
            Self::Int8 => whole(-128.0, 127.0),
            Self::Uint16 => whole(0.0, 65535.0),
            Self::Int16 => whole(-32768.0, 32767.0),
            Self::Uint32 => whole(0.0, u32::MAX as f32),
            Self::Uint64 => whole(0.0, u64::MAX as f32),
            Self::Int32 => whole(i32::MIN as f32, i32::MAX as f32),
            Self::Int64 => whole(i64::MIN as f32, i64::MAX as f32),
            Self::Fp16 | Self::Bf16 | Self::Fp32 | Self::Fp64 => true,
            Self::Bytes => false,
        }
    }
}

fn each<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    bytes.as_chunks::<N>().0.iter().map(|chunk| number(*chunk)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_reads_its_own_bytes() {
        let cases: [(Datatype, Vec<u8>, f32); 13] = [
            (Datatype::Bool, vec![2], 1.0),
            (Datatype::Uint8, vec![200], 200.0),
            (Datatype::Int8, vec![200], -56.0),
            (Datatype::Uint16, 60_000u16.to_le_bytes().into(), 60_000.0),
            (Datatype::Int16, (-3i16).to_le_bytes().into(), -3.0),
            (Datatype::Uint32, 70_000u32.to_le_bytes().into(), 70_000.0),
            (Datatype::Int32, (-70_000i32).to_le_bytes().into(), -70_000.0),
            (Datatype::Uint64, 5u64.to_le_bytes().into(), 5.0),
            (Datatype::Int64, (-5i64).to_le_bytes().into(), -5.0),
            (Datatype::Fp16, f16::from_f32(0.5).to_le_bytes().into(), 0.5),
            (Datatype::Bf16, bf16::from_f32(-2.0).to_le_bytes().into(), -2.0),
            (Datatype::Fp32, 0.1f32.to_le_bytes().into(), 0.1),
            (Datatype::Fp64, 0.1f64.to_le_bytes().into(), 0.1),
        ];
        for (datatype, bytes, wanted) in cases {
            assert_eq!(Some(bytes.len()), datatype.size(), "{datatype:?}");
            let twice = [bytes.clone(), bytes].concat();
            assert_eq!(datatype.numbers(&twice), [wanted; 2], "{datatype:?}");
            assert_eq!(Datatype::named(datatype.name()), Ok(datatype));
            assert!(datatype.admits(1.0) && datatype.admits(datatype.numbers(&twice)[0]));
        }
        assert!(!Datatype::Uint8.admits(256.0) && !Datatype::Int32.admits(0.5));
        assert!(Datatype::named("FLOAT").is_err_and(|e| e.contains("FP32")));
    }
}
