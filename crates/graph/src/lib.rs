//! Typed graphs of tensor operators, and derivatives as graph-to-graph transforms.
//!
//! An operator declares its structure once ([`Calculus`]); `jvp`, `vjp` and the forward Laplacian in
//! [`diff`] follow from that and never name an operator.

mod absorb;
pub mod algebra;
mod build;
pub mod diff;
mod dim;
mod emit;
mod fact;
mod formula;
mod graph;
mod op;
mod run;
mod tensor;

pub use absorb::Instead;
pub use build::Build;
pub use dim::Dim;
pub use emit::{Emitter, OPSET};
pub use fact::{Concrete, DType, Fact};
pub use formula::Term;
pub use graph::{Graph, Id, Node, downcast, infer};
pub use op::{Bilinear, Calculus, Composite, Lift, Linear, Op, OpError, Pointwise, Side, take};
pub use tensor::{Array, Tensor, grid};
