//! The Open Inference Protocol, version 2, over REST, with its extension for binary tensors. It knows neither detectors
//! nor HTTP: bytes become tensors, and tensors bytes.

mod data;
mod datatype;
mod depth;
mod request;
mod response;

pub(crate) use data::{Contents, Data};
pub(crate) use datatype::Datatype;
pub(crate) use depth::check as check_depth;
pub(crate) use request::{Asked, InferRequest, Parameters, Tensor};
pub(crate) use response::{Answer, Encoded, Output, Values, number};
