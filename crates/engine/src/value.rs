//! Arrays at the boundary of the engine.

use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn, Slice};

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

    /// Rows `start..end` along the first axis.
    #[must_use]
    pub fn rows(&self, start: usize, end: usize) -> Self {
        map_value!(self, a => a.slice_axis(Axis(0), Slice::from(start..end)).to_owned())
    }

    /// Values one after the other along the first axis; all have the precision of the first.
    pub fn join(parts: &[&Self]) -> Result<Self, crate::Error> {
        let fail = |e: ndarray::ShapeError| crate::Error::Request(e.to_string());
        macro_rules! joined {
            ($variant:ident, $convert:expr) => {{
                let arrays: Vec<_> = parts.iter().map(|p| $convert(p)).collect();
                let views: Vec<_> = arrays.iter().map(|a| a.view()).collect();
                ndarray::concatenate(Axis(0), &views).map(Self::$variant).map_err(fail)
            }};
        }
        match parts.first() {
            None => Err(crate::Error::Request("there is nothing to join".to_owned())),
            Some(Self::F32(_)) => joined!(F32, |p: &Self| p.to_f32()),
            Some(Self::F64(_) | Self::I64(_)) => joined!(F64, |p: &Self| p.to_f64()),
        }
    }

    /// Whether every element is a finite number.
    pub fn is_finite(&self) -> bool {
        match self {
            Self::F32(a) => a.iter().all(|v| v.is_finite()),
            Self::F64(a) => a.iter().all(|v| v.is_finite()),
            Self::I64(_) => true,
        }
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
