//! The laws of the paper, each against closed forms or against its other side by Monte Carlo.
//!
//! Densities, their scores and the networks are written here; residuals are those of the library. Tolerances are
//! standard errors, and wherever a mean should vanish another one, which should not, has to stand out.

mod adjusted;
mod conformal;
mod density;
mod directional;
mod estimate;
mod experiment;
mod first_order;
mod fisher_bound;
mod kinks;
mod metric;
mod models;
mod projection;
mod softmax;
mod stein_identity;
mod tilt;
mod validity;
