//! The binary from end to end.

mod common;
mod derive;
mod inspect;
