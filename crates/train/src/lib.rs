//! Training on derivatives that are graphs.
//!
//! A [`Network`] is declared layer by layer. Its loss and the gradient of the loss in every weight become one
//! graph, which an engine runs step by step; what is trained is a model in ONNX at once.
//!
//! ```
//! use ndarray::ArrayD;
//! use taste_data::InMemory;
//! use taste_train::{Network, Training};
//!
//! let points = ArrayD::from_shape_fn(vec![256, 2], |at| (at[0] as f32 * 0.7 + at[1] as f32).sin());
//! let labels = points.outer_iter().map(|p| i64::from(p[0] > p[1])).collect();
//! let samples = InMemory::new("points", points).with_labels(labels);
//!
//! let network = Network::new(&[2]).dense(16).relu().dense(2);
//! let trained = Training::classifier(&network).steps(50).batch(64).rate(1e-2).seed(1).run(&samples)?;
//! let model: taste_engine::Model = trained.model()?;
//! assert!(trained.curve().last().is_some_and(|p| p.loss < 0.5));
//! # Ok::<(), taste_train::Error>(())
//! ```

mod adam;
mod architecture;
mod augment;
mod batches;
mod checkpoint;
mod error;
mod evaluate;
pub mod fields;
mod fitted;
pub mod import;
mod levels;
mod loss;
mod network;
pub mod networks;
mod noise;
mod parameters;
mod predictor;
mod pretrained;
mod progress;
mod sample;
mod schedule;
mod sliced;
mod standard;
mod state;
mod step;
mod table;
mod tally;
mod trained;
mod training;

pub use architecture::{ScoreNetwork, TaskNetwork};
pub use augment::Augment;
pub use error::{Error, ErrorKind};
pub use fields::FAMILIES;
pub use fitted::Fitted;
pub use levels::Level;
pub use network::{Layer, Network, Scope, Start};
pub use noise::Diffusion;
pub use parameters::Parameters;
pub use pretrained::Pretrained;
pub use progress::{Point, Progress, Watch};
pub use schedule::Decay;
pub use sliced::Sliced;
pub use tally::ClassAccuracy;
pub use trained::{HeldOut, Pace, Stein, Trained};
pub use training::Training;
