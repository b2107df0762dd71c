//! Arrays, images and tables in files, gone through a part at a time, so that memory does not grow with the
//! number of samples.

mod error;
pub mod npy;
mod samples;

pub use error::Error;
pub use samples::{Chunk, Chunks, InMemory, Part, Samples, draw};
