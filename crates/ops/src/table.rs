//! The table of operators.

use taste_graph::{Id, OpError};

use crate::{Reader, Sample};

/// An ONNX operator.
pub struct Entry {
    /// The ONNX spelling.
    pub name: &'static str,
    /// The ONNX domain; empty for the standard operators.
    pub domain: &'static str,
    /// Builds the results of a node.
    pub read: fn(&mut Reader<'_, '_>) -> Result<Vec<Id>, OpError>,
    /// Nodes with arguments for the contract test.
    pub samples: fn() -> Vec<Sample>,
}

impl Entry {
    /// A standard operator.
    pub const fn new(
        name: &'static str,
        read: fn(&mut Reader<'_, '_>) -> Result<Vec<Id>, OpError>,
        samples: fn() -> Vec<Sample>,
    ) -> Self {
        Self { name, domain: "", read, samples }
    }
}

/// Every family.
const FAMILIES: &[&[Entry]] = &[
    crate::activation::ENTRIES,
    crate::arg::ENTRIES,
    crate::arithmetic::ENTRIES,
    crate::attention::ENTRIES,
    crate::cast::ENTRIES,
    crate::compare::ENTRIES,
    crate::conv::ENTRIES,
    crate::cumsum::ENTRIES,
    crate::einsum::ENTRIES,
    crate::gather::ENTRIES,
    crate::generate::ENTRIES,
    crate::layout::ENTRIES,
    crate::matmul::ENTRIES,
    crate::ml::columns::ENTRIES,
    crate::ml::encode::ENTRIES,
    crate::ml::linear::ENTRIES,
    crate::ml::svm::ENTRIES,
    crate::ml::trees::ENTRIES,
    crate::norm::ENTRIES,
    crate::pad::ENTRIES,
    crate::pointwise::ENTRIES,
    crate::pool::ENTRIES,
    crate::quantized::ENTRIES,
    crate::reduce::ENTRIES,
    crate::resize::ENTRIES,
    crate::scan::ENTRIES,
    crate::scatter::ENTRIES,
    crate::shape::ENTRIES,
    crate::slice::ENTRIES,
    crate::softmax::ENTRIES,
];

/// Every operator.
pub fn operators() -> impl Iterator<Item = &'static Entry> {
    FAMILIES.iter().copied().flatten()
}

/// The entry of an operator.
pub fn find(domain: &str, name: &str) -> Option<&'static Entry> {
    let domain = if domain == "ai.onnx" { "" } else { domain };
    operators().find(|e| e.name == name && e.domain == domain)
}
