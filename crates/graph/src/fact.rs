//! What is known of a value before it is computed.

use std::fmt;

use crate::Dim;

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

    /// The sizes, if none depends on the batch.
    pub fn fixed_shape(&self) -> Option<Vec<usize>> {
        self.shape.iter().map(|d| d.as_fixed().and_then(|v| v.try_into().ok())).collect()
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
}
