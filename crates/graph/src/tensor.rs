//! Values of the reference interpreter and of constants.

use std::hash::{DefaultHasher, Hash, Hasher};

use ndarray::{ArcArray, ArrayD, IxDyn};

use crate::{Concrete, DType, OpError};

/// An n-dimensional array with shared storage.
pub type Array<T> = ArcArray<T, IxDyn>;

/// A value. Every float type of a file becomes `f64` and every integer type `i64`; the precision of
/// a computation is the backend's choice.
#[derive(Clone, Debug, PartialEq)]
pub enum Tensor {
    /// Real numbers.
    Float(Array<f64>),
    /// Integers.
    Int(Array<i64>),
    /// Truth values.
    Bool(Array<bool>),
}

/// An array whose elements are a function of their indices: faster than by way of the array library, which makes a list for every
/// element.
///
/// # Panics
/// If the shape has more elements than there are addresses.
pub fn grid<T>(shape: &[usize], mut value: impl FnMut(&[usize]) -> T) -> ArrayD<T> {
    let mut at = vec![0; shape.len()];
    let mut next = || {
        let element = value(&at);
        for (index, &size) in at.iter_mut().zip(shape).rev() {
            *index += 1;
            if *index < size {
                break;
            }
            *index = 0;
        }
        element
    };
    let elements = (0..shape.iter().product()).map(|_| next()).collect();
    ArrayD::from_shape_vec(IxDyn(shape), elements).expect("as many elements as the shape has")
}

impl Tensor {
    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        match self {
            Self::Float(_) => DType::Float,
            Self::Int(_) => DType::Int,
            Self::Bool(_) => DType::Bool,
        }
    }

    /// The size of every axis.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::Float(a) => a.shape(),
            Self::Int(a) => a.shape(),
            Self::Bool(a) => a.shape(),
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element type and shape together.
    pub fn concrete(&self) -> Concrete {
        Concrete { dtype: self.dtype(), shape: self.shape().to_vec() }
    }

    /// A hash of type, shape and elements, bit by bit. Those that are equal are compared, so it has to be fast rather than good.
    pub(crate) fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.dtype(), self.shape()).hash(&mut hasher);
        let mix =
            |hash: u64, bits: u64| (hash.rotate_left(5) ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let start = hasher.finish();
        match self {
            Self::Float(a) => a.iter().fold(start, |h, v| mix(h, v.to_bits())),
            Self::Int(a) => a.iter().fold(start, |h, v| mix(h, v.cast_unsigned())),
            Self::Bool(a) => a.iter().fold(start, |h, v| mix(h, u64::from(*v))),
        }
    }

    /// Whether type, shape and elements are the same, bit by bit.
    pub fn is_identical(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Float(a), Self::Float(b)) => {
                let bits = |(x, y): (&f64, &f64)| x.to_bits() == y.to_bits();
                a.shape() == b.shape()
                    && match (a.as_slice(), b.as_slice()) {
                        (Some(a), Some(b)) => a.iter().zip(b).all(bits),
                        _ => a.iter().zip(b).all(bits),
                    }
            }
            _ => self == other,
        }
    }

    /// A float of rank 0.
    pub fn scalar(value: f64) -> Self {
        Self::Float(ArrayD::from_elem(IxDyn(&[]), value).into())
    }

    /// Floats in row-major order.
    pub fn floats(shape: &[usize], values: Vec<f64>) -> Result<Self, OpError> {
        ArrayD::from_shape_vec(IxDyn(shape), values)
            .map(|a| Self::Float(a.into()))
            .map_err(|e| OpError::invalid(format!("values of shape {shape:?}: {e}")))
    }

    /// A vector of integers.
    pub fn ints(values: &[i64]) -> Self {
        Self::Int(ndarray::arr1(values).into_dyn().into())
    }

    /// The floats, or an error that names the type found.
    pub fn as_float(&self) -> Result<&Array<f64>, OpError> {
        match self {
            Self::Float(a) => Ok(a),
            other => Err(OpError::DType { want: DType::Float, got: other.dtype() }),
        }
    }

    /// The integers, or an error that names the type found.
    pub fn as_int(&self) -> Result<&Array<i64>, OpError> {
        match self {
            Self::Int(a) => Ok(a),
            other => Err(OpError::DType { want: DType::Int, got: other.dtype() }),
        }
    }

    /// The truth values, or an error that names the type found.
    pub fn as_bool(&self) -> Result<&Array<bool>, OpError> {
        match self {
            Self::Bool(a) => Ok(a),
            other => Err(OpError::DType { want: DType::Bool, got: other.dtype() }),
        }
    }

    /// The float, if there is exactly one.
    pub fn as_scalar(&self) -> Option<f64> {
        match self {
            Self::Float(a) if a.len() == 1 => a.first().copied(),
            _ => None,
        }
    }
}

impl From<ArrayD<f64>> for Tensor {
    fn from(a: ArrayD<f64>) -> Self {
        Self::Float(a.into())
    }
}

impl From<ArrayD<i64>> for Tensor {
    fn from(a: ArrayD<i64>) -> Self {
        Self::Int(a.into())
    }
}

impl From<ArrayD<bool>> for Tensor {
    fn from(a: ArrayD<bool>) -> Self {
        Self::Bool(a.into())
    }
}

/// Applies an expression to the array inside a [`Tensor`], whatever its element type, and wraps the
/// resulting owned array again.
#[macro_export]
macro_rules! map_array {
    ($tensor:expr, $a:ident => $body:expr) => {
        match $tensor {
            $crate::Tensor::Float($a) => $crate::Tensor::from($body),
            $crate::Tensor::Int($a) => $crate::Tensor::from($body),
            $crate::Tensor::Bool($a) => $crate::Tensor::from($body),
        }
    };
}
