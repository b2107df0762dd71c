//! Types of elements, all of which become single precision.

use half::{bf16, f16};

/// How a number is kept in a file, little end first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    F64,
    F32,
    F16,
    Bf16,
    /// Integers and truth values of so many bytes, which are no weights.
    Other(usize),
}

impl Element {
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::Other(bytes) => bytes,
        }
    }

    /// The numbers in bytes; what is left over at the end is dropped.
    pub(super) fn floats(self, bytes: &[u8]) -> Result<Vec<f32>, String> {
        Ok(match self {
            #[expect(clippy::cast_possible_truncation, reason = "weights are single precision")]
            Self::F64 => numbers(bytes, |b| f64::from_le_bytes(b) as f32),
            Self::F32 => numbers(bytes, f32::from_le_bytes),
            Self::F16 => numbers(bytes, |b| f16::from_le_bytes(b).to_f32()),
            Self::Bf16 => numbers(bytes, |b| bf16::from_le_bytes(b).to_f32()),
            Self::Other(_) => return Err("it holds no floating-point numbers".to_owned()),
        })
    }
}

fn numbers<const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    bytes.as_chunks::<N>().0.iter().map(|b| read(*b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_float_becomes_single_precision() {
        let read = |element: Element, bytes: &[u8]| element.floats(bytes).expect("floats");
        assert_eq!(read(Element::F64, &(-1.5f64).to_le_bytes()), [-1.5]);
        assert_eq!(read(Element::F32, &0.25f32.to_le_bytes()), [0.25]);
        assert_eq!(read(Element::F16, &[0x00, 0x3c, 0x00, 0xc0]), [1.0, -2.0]);
        assert_eq!(read(Element::Bf16, &[0x80, 0x3f, 0x20, 0xc1]), [1.0, -10.0]);
        assert!(Element::Other(8).floats(&[0; 8]).is_err());
    }
}
