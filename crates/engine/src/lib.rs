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
//! println!("{:?} by {}", results.laplacian, derived.laplacian_method());
//! # Ok::<(), taste_engine::Error>(())
//! ```

mod answer;
mod backend;
mod batch;
mod classes;
mod cuts;
mod derive;
mod draft;
mod error;
mod features;
mod front;
mod graft;
mod hints;
mod inspect;
mod laplacian;
mod memory;
mod metric;
mod model;
mod names;
mod quantities;
mod run;
mod session;
mod target;
mod value;
mod view;
mod whole;

pub use answer::{Answer, Glimpse, Reading, Scale};
pub use backend::{BACKENDS, Backend, Engine};
pub use classes::Classes;
pub use cuts::{LinearHead, Planes};
pub use derive::{How, LAPLACIAN_METHODS};
pub use draft::Draft;
pub use error::{Error, ErrorKind, Given};
pub use features::Feature;
pub use front::Part as InputPart;
pub use graft::{Further, Graft};
pub use inspect::{Analysis, Applicability, Class, Operator, Overview, Port, operators};
pub use laplacian::{Accuracy, LaplacianKind, LaplacianMethod};
pub use memory::keep_freed_memory;
pub use metric::Metric;
pub use model::{Batch, Derived, InputInfo, Model, Request};
pub use quantities::{Outputs, Parts, Quantities, Wants};
pub use run::Compiled;
pub use session::Session;
pub use target::{TARGETS, Target, TargetKind};
pub use value::Value;
pub use view::View;
