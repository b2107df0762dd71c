//! Detectors as an HTTP service.
//!
//! - The Open Inference Protocol v2 over REST with binary tensors, so that clients of Triton and `KServe` work as they are,
//!   and `POST /v1/score` for people with curl.
//! - What waits is scored together, by one thread for each detector. The queue is bounded in samples; what finds no room, or
//!   would come too late, is refused at once.
//! - A monitor for each detector: a request is answered when its samples are durable, and counts once however often it is
//!   sent.
//! - Metrics in the format of Prometheus, and pages for people.
//!
//! ```no_run
//! use taste_serve::{App, Server, Settings, Source, Stop, Watching};
//!
//! # async fn serve() -> Result<(), taste_serve::Error> {
//! let source = Source { name: None, path: "detector.onnx".into() };
//! let app = App::start(&[source], &Default::default(), None, &Watching::default(), Settings::default())?;
//! let server = Server::bind(app, ([127, 0, 0, 1], 8080).into()).await?;
//! server.run(Stop::new()).await;
//! # Ok(())
//! # }
//! ```

mod app;
mod auth;
mod body;
mod dashboard;
mod digest;
mod error;
mod handlers;
mod held;
mod kept;
mod metrics;
mod model;
mod protocol;
mod queue;
mod recent;
mod record;
mod refusal;
mod reply;
mod routes;
mod server;
mod settings;
mod time;

pub use app::{App, Source, Watching};
pub use auth::{Role, Tokens};
pub use error::{Error, ErrorKind};
pub use routes::{paths, router};
pub use server::{Server, Stop};
pub use settings::{Limits, Settings};
