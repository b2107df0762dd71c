//! Images, charts and self-contained pages for people.
//!
//! A [`Figure`] is drawn once, as marks on a sheet, and written as SVG for pages or as PNG for files.
//! Whatever the data (none, constant, not finite, huge), a figure comes out; what can't be shown is said on
//! it.
//!
//! ```
//! use ndarray::Array2;
//! use taste_report::{Figure, Heatmap, Page, Panel, Image, Scale, Section, Tone};
//!
//! let (digit, residuals) = (Array2::<f32>::zeros((28, 28)), Array2::<f32>::ones((28, 28)));
//! // The scale belongs to the data set: its limit is a quantile over all maps, not over this one.
//! let scale = Scale::diverging_for(residuals.iter().map(|v| f64::from(*v)), 0.995);
//! let panel = Panel::map(residuals).over(Image::grey(&digit.view(), 0.0, 1.0)).outline(0.5);
//! let map = Heatmap::new(panel, scale).title("digits.npy, sample 3").label("residual");
//! let page = Page::new("Where digits.npy differs")
//!     .verdict(Tone::Alarm, "3 of 100 samples are flagged", "1 is expected at α = 0.01")
//!     .section(Section::new("Maps").figure(&map, "Outlined: |residual| ≥ 0.5"));
//! let (file, image) = (page.to_html(), map.to_png()?);
//! assert!(file.starts_with("<!DOCTYPE html>") && image.starts_with(b"\x89PNG"));
//! # Ok::<(), taste_report::Error>(())
//! ```

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

pub use chart::{Bars, Histogram, Intervals, Lines, Matrix, Scatter, Series, Sparkline};
pub use colour::Scale;
pub use drawing::{Drawing, Figure};
pub use error::Error;
pub use heatmap::{Heatmap, Image, Panel};
pub use number::number;
pub use page::{Page, Section, Table, Tone};
pub use text::escape;
