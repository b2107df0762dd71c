//! What is known of a value before it is computed.

use std::fmt;

use crate::{Dim, OpError};

/// No tensor has more elements, at the batch sizes that shapes are inferred for and with lanes.
const MOST_ELEMENTS: usize = 1 << 52;
/// No tensor has more axes.
const MOST_AXES: usize = 64;

/// The type of a value's elements. Precision is left to the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// Real numbers: the values that derivatives flow through.
    Float,
    /// Indices and shape arithmetic.
    Int,
    /// Masks.
    Bool,
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Float => "float",
            Self::Int => "int",
            Self::Bool => "bool",
        })
    }
}

/// Element type and shape, with sizes that may depend on the batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fact {
    /// The element type.
    pub dtype: DType,
    /// The size of every axis.
    pub shape: Vec<Dim>,
}

impl Fact {
    /// A float of this shape.
    pub fn float(shape: Vec<Dim>) -> Self {
        Self { dtype: DType::Float, shape }
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Whether some size depends on the batch.
    pub fn depends_on_batch(&self) -> bool {
        self.shape.iter().any(|d| d.depends_on_batch())
    }

    /// The sizes for one batch size.
    pub fn at(&self, batch: usize) -> Concrete {
        Concrete { dtype: self.dtype, shape: self.shape.iter().map(|d| d.at(batch)).collect() }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.shape.iter().map(Dim::to_string).collect();
        write!(f, "{}[{}]", self.dtype, dims.join("×"))
    }
}

/// A [`Fact`] at one batch size.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Concrete {
    /// The element type.
    pub dtype: DType,
    /// The size of every axis.
    pub shape: Vec<usize>,
}

impl Concrete {
    /// A float of this shape.
    pub fn float(shape: Vec<usize>) -> Self {
        Self { dtype: DType::Float, shape }
    }

    /// The same element type with another shape.
    #[must_use]
    pub fn with_shape(&self, shape: Vec<usize>) -> Self {
        Self { dtype: self.dtype, shape }
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements; at the end of the range if it can't be counted.
    pub fn len(&self) -> usize {
        self.shape.iter().fold(1, |n, &d| n.saturating_mul(d))
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Fails if the sizes are absurd, so that products of them are safe to take. Axes of size 0 do not
    /// excuse the others: strides are products of those.
    pub(crate) fn check(&self) -> Result<(), OpError> {
        let count = self.shape.iter().filter(|d| **d > 0).fold(1usize, |n, &d| n.saturating_mul(d));
        if count > MOST_ELEMENTS || self.rank() > MOST_AXES {
            let axes: Vec<String> = self.shape.iter().take(8).map(usize::to_string).collect();
            let rest = if self.rank() > 8 { "×…" } else { "" };
            return Err(OpError::invalid(format!(
                "a tensor of {}{rest} is absurd",
                axes.join("×")
            )));
        }
        Ok(())
    }
}
