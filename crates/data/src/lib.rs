//! Arrays, images and tables in files, gone through a part at a time, so that memory does not grow with the
//! number of samples.

mod columns;
mod dataset;
mod error;
mod formats;
mod kept;
mod labels;
pub mod npy;
mod options;
mod origin;
mod prepare;
mod received;
mod samples;
mod sequences;
mod skips;
mod source;
mod standard;
mod survey;
mod table;

pub use dataset::Dataset;
pub use error::{Error, ErrorKind, Problem};
pub use formats::{FORMATS, Format, sets_in};
pub use kept::kinds;
pub use labels::Labels;
pub use options::{Dictionary, Filter, Input, Layout, Options, Resize, Takes};
pub use received::{from_array, from_bytes, from_images};
pub use samples::{
    Borrowed, Chunk, Chunks, First, InMemory, Keep, Lent, Mapped, Part, Samples, Values, draw,
};
pub use sequences::{Fed, Padding, Sequences, Wanted, sequences};
pub use survey::{Holds, Surveyed, survey};
pub use table::{Column, Kind, TableWriter, TextFormat, Value};
