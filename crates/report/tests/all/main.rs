//! What figures and pages look like from outside.

mod charts;
mod common;
mod heatmaps;
mod pages;
