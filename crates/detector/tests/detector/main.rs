//! What every method shares, with methods that are small enough to follow.

mod common;
mod cuts;
mod decision;
mod file;
mod hostile;
mod parts;
mod passes;
mod run;
mod shift;
