//! Every experiment: one file, one line.

mod numbers;
mod plane;
mod signal;

use crate::Experiment;

taste_choice::table! {
    /// Every experiment.
    pub EXPERIMENTS: [Experiment] = {
        directional::EXPERIMENT,
        first_order::EXPERIMENT,
        theory::EXPERIMENT,
    }
}
