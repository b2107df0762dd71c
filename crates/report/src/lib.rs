//! Pictures, charts and self-contained pages for people.
//!
//! A [`Figure`] is drawn once, as marks on a sheet, and written as SVG for pages or as PNG for files.
//! Whatever the data (none, constant, not finite, huge), a figure comes out; what can't be shown is said on
//! it.

pub mod chart;
pub mod colour;
mod colour_bar;
mod drawing;
mod error;
pub mod heatmap;
mod number;
pub mod page;
mod text;
mod theme;

pub use chart::{Bars, Histogram, Lines, Scatter, Series};
pub use colour::Scale;
pub use drawing::{Drawing, Figure};
pub use error::Error;
pub use heatmap::{Heatmap, Panel, Picture};
pub use number::number;
pub use page::{Page, Section, Table, Tone};
