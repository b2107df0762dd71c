//! Arrays at the boundary of the engine.

use ndarray::{ArrayD, ArrayViewD, Axis, CowArray, IxDyn, Slice};

use crate::{Error, error::request};

/// An array in the precision it comes in.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Single precision.
    F32(ArrayD<f32>),
    /// Double precision.
    F64(ArrayD<f64>),
    /// Integers.
    I64(ArrayD<i64>),
}

/// Applies an expression to the array inside a [`Value`] and wraps the result again.
macro_rules! map_value {
    ($value:expr, $a:ident => $body:expr) => {
        match $value {
            $crate::Value::F32($a) => $crate::Value::F32($body),
            $crate::Value::F64($a) => $crate::Value::F64($body),
            $crate::Value::I64($a) => $crate::Value::I64($body),
        }
    };
}

impl Value {
    /// The size of every axis.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::F32(a) => a.shape(),
            Self::F64(a) => a.shape(),
            Self::I64(a) => a.shape(),
        }
    }

    /// The elements in single precision.
    #[expect(clippy::cast_possible_truncation, reason = "the caller asks for single precision")]
    pub fn to_f32(&self) -> ArrayD<f32> {
        match self {
            Self::F32(a) => a.clone(),
            Self::F64(a) => a.mapv(|v| v as f32),
            Self::I64(a) => a.mapv(|v| v as f32),
        }
    }

    /// The elements in double precision.
    pub fn to_f64(&self) -> ArrayD<f64> {
        match self {
            Self::F32(a) => a.mapv(f64::from),
            Self::F64(a) => a.clone(),
            Self::I64(a) => a.mapv(|v| v as f64),
        }
    }

    /// The elements as integers.
    #[expect(clippy::cast_possible_truncation, reason = "the caller asks for integers")]
    fn to_i64(&self) -> ArrayD<i64> {
        match self {
            Self::F32(a) => a.mapv(|v| v as i64),
            Self::F64(a) => a.mapv(|v| v as i64),
            Self::I64(a) => a.clone(),
        }
    }

    /// Rows `start..end` along the first axis.
    #[must_use]
    pub fn rows(&self, start: usize, end: usize) -> Self {
        map_value!(self, a => a.slice_axis(Axis(0), Slice::from(start..end)).to_owned())
    }

    /// Values one after the other along the first axis; all have the precision of the first.
    pub fn join(parts: &[&Self]) -> Result<Self, Error> {
        Self::join_along(0, parts)
    }

    /// Values one after the other along an axis; all have the precision of the first.
    pub(crate) fn join_along(axis: usize, parts: &[&Self]) -> Result<Self, Error> {
        macro_rules! joined {
            ($variant:ident, $convert:expr) => {{
                let arrays: Vec<CowArray<'_, _, IxDyn>> = parts
                    .iter()
                    .map(|part| match part {
                        Self::$variant(a) => CowArray::from(a),
                        other => CowArray::from($convert(other)),
                    })
                    .collect();
                let views: Vec<_> = arrays.iter().map(|a| a.view()).collect();
                let joined = ndarray::concatenate(Axis(axis), &views);
                let joined = joined.map_err(|e| request(e.to_string()))?;
                // Along another axis than the first, other layouts come out.
                Ok(Self::$variant(if joined.is_standard_layout() {
                    joined
                } else {
                    joined.as_standard_layout().into_owned()
                }))
            }};
        }
        match parts.first() {
            None => Err(request("there is nothing to join")),
            Some(Self::F32(_)) => joined!(F32, Self::to_f32),
            Some(Self::F64(_)) => joined!(F64, Self::to_f64),
            Some(Self::I64(_)) => joined!(I64, Self::to_i64),
        }
    }

    /// The sum of values of one shape, in the precision of the first; sums of integers are floats.
    pub(crate) fn sum(parts: Vec<Self>) -> Result<Self, Error> {
        let mut parts = parts.into_iter();
        let first = parts.next().ok_or_else(|| request("there is nothing to add"))?;
        if let Some(other) = parts.as_slice().iter().find(|p| p.shape() != first.shape()) {
            let (a, b) = (first.shape(), other.shape());
            return Err(request(format!("a sum of arrays of shape {a:?} and {b:?}")));
        }
        Ok(match first {
            Self::F32(first) => Self::F32(parts.fold(first, |sum, part| match part {
                Self::F32(part) => sum + &part,
                other => sum + &other.to_f32(),
            })),
            first => Self::F64(parts.fold(first.to_f64(), |sum, part| sum + &part.to_f64())),
        })
    }

    /// Whether every element is a finite number.
    pub fn is_finite(&self) -> bool {
        match self {
            Self::F32(a) => a.iter().all(|v| v.is_finite()),
            Self::F64(a) => a.iter().all(|v| v.is_finite()),
            Self::I64(_) => true,
        }
    }

    /// The same elements, one row after the other in memory.
    #[must_use]
    pub(crate) fn standard(self) -> Self {
        map_value!(self, a => if a.is_standard_layout() { a } else { a.as_standard_layout().into_owned() })
    }

    /// The same elements under another shape.
    ///
    /// # Panics
    /// If the shape has another number of elements.
    #[must_use]
    pub fn reshaped(self, shape: &[usize]) -> Self {
        map_value!(self, a => {
            a.into_shape_with_order(IxDyn(shape)).expect("as many elements")
        })
    }
}

impl From<ArrayD<f32>> for Value {
    fn from(a: ArrayD<f32>) -> Self {
        Self::F32(a)
    }
}

impl From<ArrayD<f64>> for Value {
    fn from(a: ArrayD<f64>) -> Self {
        Self::F64(a)
    }
}

impl From<ArrayD<i64>> for Value {
    fn from(a: ArrayD<i64>) -> Self {
        Self::I64(a)
    }
}

impl From<ArrayViewD<'_, f32>> for Value {
    fn from(a: ArrayViewD<'_, f32>) -> Self {
        Self::F32(a.to_owned())
    }
}
