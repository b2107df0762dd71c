//! Arrays, images and tables in files, gone through a part at a time, so that memory does not grow with the
//! number of samples.

mod columns;
mod dataset;
mod error;
mod formats;
pub mod npy;
mod options;
mod origin;
mod prepare;
mod samples;
mod skips;
mod source;
mod table;

pub use dataset::Dataset;
pub use error::Error;
pub use options::{Layout, Options};
pub use samples::{Chunk, Chunks, InMemory, Part, Samples, Seen, draw};
pub use table::{Column, Kind, TableWriter, TextFormat, Value};
