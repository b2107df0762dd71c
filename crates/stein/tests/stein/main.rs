//! The method from end to end.

mod before;
mod common;
mod cuts;
mod detector;
mod evidence;
mod evidence_map;
mod field_check;
#[path = "../../../detector/tests/detector/parts.rs"]
mod parts;
mod shift;
mod theory;
mod units;
