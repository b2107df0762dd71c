//! Every experiment: one file, one line.

mod cifar;
mod colours;
mod digits;
mod numbers;
mod pictures;
mod plane;
mod published;
mod scored;
mod signal;

use crate::Experiment;

taste_choice::table! {
    /// Every experiment.
    pub EXPERIMENTS: [Experiment] = {
        directional::EXPERIMENT,
        first_order::EXPERIMENT,
        maps::EXPERIMENT,
        mvtec::EXPERIMENT,
        timestep::EXPERIMENT,
        theory::EXPERIMENT,
        mnist::EXPERIMENT,
        mixed::EXPERIMENT,
        cifar10::EXPERIMENT,
        harm::EXPERIMENT,
        ablation::EXPERIMENT,
    }
}
