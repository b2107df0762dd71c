//! The method from end to end.

mod common;
mod detector;
mod shift;
mod theory;
