//! `taste train`.

mod by_class;
mod classifier;
mod curve;
mod outcome;
mod page;
mod regressor;
mod run;
mod score;
mod verdict;

use anyhow::Result;

use crate::args::TrainCommand;

pub(crate) fn run(what: &TrainCommand) -> Result<()> {
    match what {
        TrainCommand::Score(args) => score::run(args),
        TrainCommand::Classifier(args) => classifier::run(args),
        TrainCommand::Regressor(args) => regressor::run(args),
    }
}
