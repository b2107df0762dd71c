//! Derivatives of small networks that are written down here.

mod common;
mod saturated;
mod threads;
mod wide_input;
