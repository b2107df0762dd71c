//! Open a model, derive it, compile the derivative, run it.
//!
//! ```no_run
//! use taste_engine::{Backend, Model, Request, Value, Wants};
//!
//! let model = Model::open("classifier.onnx".as_ref())?;
//! let wants = Wants { gradient: true, laplacian: true, ..Wants::default() };
//! let derived = model.derive(&Request { wants, ..Request::default() })?;
//! let mut compiled = derived.compile(&Backend::RTEN, 2)?;
//! let x = Value::from(ndarray::ArrayD::<f32>::zeros(vec![8, 3, 32, 32]));
//! let results = compiled.run(&[(derived.wrt(), &x)], 0)?;
//! println!("{:?} by {}", results.laplacian, derived.method());
//! # Ok::<(), taste_engine::Error>(())
//! ```

mod backend;
mod derive;
mod draft;
mod error;
mod graft;
mod inspect;
mod memory;
mod method;
mod model;
mod run;
mod session;
mod target;
mod value;
mod view;

pub use backend::{BACKENDS, Backend, Engine};
pub use derive::Wants;
pub use draft::{Draft, Parts};
pub use error::{Error, Given};
pub use graft::{Further, Graft};
pub use inspect::{Analysis, Applicability, Class, Operator, Overview, Port, operators};
pub use memory::keep_freed_memory;
pub use method::Method;
pub use model::{Batch, Derived, InputInfo, Model, Request};
pub use run::{Compiled, Outputs};
pub use session::Session;
pub use target::Target;
pub use value::Value;
pub use view::View;
