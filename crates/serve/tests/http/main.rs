//! The service from request to answer, without a network.

mod common;
mod connections;
mod hostile;
mod metrics;
mod monitors;
mod pages;
mod protocol;
mod score;
