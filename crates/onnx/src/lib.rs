//! ONNX files as plain structs, and back.
//!
//! [`Model::open`] reads a file into [`proto::ModelProto`]; [`Model::tensor`] decodes a tensor wherever
//! its data is kept (inline or in an external file) and [`Model::save`] writes a model as a whole or not
//! at all. No meaning is attached to operators. Input is not trusted: whatever a file declares is checked
//! against [`Limits`] and against the bytes that are there before memory is set aside for it.
//!
//! ```
//! use taste_onnx::{DimSpec, ElemType, Model, builders, proto};
//!
//! let dims = [DimSpec::Symbol("batch".into()), DimSpec::Fixed(2)];
//! let graph = proto::GraphProto {
//!     name: "doubled".into(),
//!     node: vec![builders::node("Mul", &["x", "two"], &["y"], "mul")],
//!     initializer: vec![builders::tensor_f32("two", &[], &[2.0])],
//!     input: vec![builders::value_info("x", ElemType::F32, &dims)],
//!     output: vec![builders::value_info("y", ElemType::F32, &dims)],
//!     ..Default::default()
//! };
//! let model = Model::new(builders::model(graph, 17));
//! let again = Model::from_bytes(&model.to_bytes()?, None)?;
//! assert_eq!(again.proto, model.proto);
//! # Ok::<(), taste_onnx::Error>(())
//! ```

pub mod builders;
mod decode;
mod elem;
mod error;
mod external;
mod limits;
mod metadata;
mod model;
pub mod proto;
mod prune;
mod recognise;
mod save;
mod tensor;
mod walk;

pub use builders::DimSpec;
pub use elem::ElemType;
pub use error::{Error, TensorProblem};
pub use limits::Limits;
pub use model::{Model, sha256};
pub use tensor::{TensorData, Values};
