//! The method from end to end.

mod common;
mod detector;
mod hostile;
mod score_check;
mod shift;
mod theory;
