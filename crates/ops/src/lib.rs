//! Operators. One file holds a family: what its operators compute, how they differentiate, how they
//! are read from ONNX and written back, and samples for the contract test.

mod activation;
mod arg;
mod arithmetic;
mod attention;
mod carry;
mod cast;
mod compare;
pub mod conv;
mod cumsum;
mod declare;
mod einsum;
pub mod functions;
mod gather;
mod generate;
mod import;
pub mod layers;
mod layout;
mod matmul;
mod ml;
mod norm;
mod pad;
mod pointwise;
mod pool;
mod quantized;
mod reader;
mod reduce;
mod resize;
mod sample;
mod scan;
mod scatter;
mod shape;
mod slice;
mod softmax;
mod table;
mod words;

pub use carry::carried;
pub use declare::{declared_shape, declares_floats, decode};
pub use import::{ImportError, Imported, Problem, import};
pub use reader::Reader;
pub use sample::{Argument, Sample};
pub use table::{Entry, find, operators};
pub use words::Words;

/// The programs in the documentation run as tests.
#[cfg(doctest)]
mod documentation {
    #[doc = include_str!("../../../docs/calculus.md")]
    struct Calculus;
    #[doc = include_str!("../../../docs/adding-an-operator.md")]
    struct AddingAnOperator;
}
