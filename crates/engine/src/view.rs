//! Arrays that are lent to a session.

use std::ops::Range;

use ndarray::{Array, ArrayD, ArrayView, ArrayViewD, Axis, Dimension, Slice};

use crate::Value;

/// An array that is lent, in the precision it comes in.
#[derive(Clone, Debug)]
pub enum View<'a> {
    /// Single precision.
    F32(ArrayViewD<'a, f32>),
    /// Double precision.
    F64(ArrayViewD<'a, f64>),
    /// Integers.
    I64(ArrayViewD<'a, i64>),
}

/// Applies an expression to the array inside a [`View`] and wraps the result as `$into`.
macro_rules! map_view {
    ($view:expr, $into:ident, $a:ident => $body:expr) => {
        match $view {
            View::F32($a) => $into::F32($body),
            View::F64($a) => $into::F64($body),
            View::I64($a) => $into::I64($body),
        }
    };
}

impl View<'_> {
    /// The size of every axis.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::F32(a) => a.shape(),
            Self::F64(a) => a.shape(),
            Self::I64(a) => a.shape(),
        }
    }

    /// The same elements, lent on.
    pub fn view(&self) -> View<'_> {
        map_view!(self, View, a => a.view())
    }

    /// The elements in single precision.
    #[expect(clippy::cast_possible_truncation, reason = "the caller asks for single precision")]
    pub fn to_f32(&self) -> ArrayD<f32> {
        match self {
            Self::F32(a) => a.to_owned(),
            Self::F64(a) => a.mapv(|v| v as f32),
            Self::I64(a) => a.mapv(|v| v as f32),
        }
    }

    /// The elements in double precision.
    pub fn to_f64(&self) -> ArrayD<f64> {
        match self {
            Self::F32(a) => a.mapv(f64::from),
            Self::F64(a) => a.to_owned(),
            Self::I64(a) => a.mapv(|v| v as f64),
        }
    }

    /// What lies within a range along an axis.
    pub(crate) fn part(&self, axis: usize, range: Range<usize>) -> View<'_> {
        map_view!(self, View, a => a.slice_axis(Axis(axis), Slice::from(range)))
    }

    /// The rows of a range, and copies of the last of them up to `count`.
    pub(crate) fn filled(&self, range: Range<usize>, count: usize) -> Value {
        let last = range.end.saturating_sub(1);
        let rows: Vec<usize> = (range.start..range.start + count).map(|i| i.min(last)).collect();
        map_view!(self, Value, a => a.select(Axis(0), &rows))
    }

    /// The first row with an entry that is no finite number.
    pub(crate) fn first_not_finite(&self) -> Option<usize> {
        fn first<T>(a: &ArrayViewD<'_, T>, finite: impl Fn(&T) -> bool) -> Option<usize> {
            let all_finite = match a.as_slice() {
                Some(all) => all.iter().all(&finite),
                None => a.iter().all(&finite),
            };
            (!all_finite).then(|| {
                a.outer_iter().position(|row| !row.iter().all(&finite)).unwrap_or_default()
            })
        }
        match self {
            Self::F32(a) => first(a, |v| v.is_finite()),
            Self::F64(a) => first(a, |v| v.is_finite()),
            Self::I64(_) => None,
        }
    }
}

impl<'a> From<&'a Value> for View<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::F32(a) => Self::F32(a.view()),
            Value::F64(a) => Self::F64(a.view()),
            Value::I64(a) => Self::I64(a.view()),
        }
    }
}

macro_rules! from_arrays {
    ($($number:ty => $variant:ident),*) => {$(
        impl<'a, D: Dimension> From<ArrayView<'a, $number, D>> for View<'a> {
            fn from(a: ArrayView<'a, $number, D>) -> Self {
                Self::$variant(a.into_dyn())
            }
        }

        impl<'a, D: Dimension> From<&'a Array<$number, D>> for View<'a> {
            fn from(a: &'a Array<$number, D>) -> Self {
                Self::$variant(a.view().into_dyn())
            }
        }
    )*};
}

from_arrays!(f32 => F32, f64 => F64, i64 => I64);
