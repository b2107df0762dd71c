//! Derivatives of small networks that are written down here.

mod binary;
mod common;
mod convolutions;
mod deep;
mod features;
mod many_classes;
mod metric;
mod names;
mod saturated;
mod threads;
mod wide_input;
