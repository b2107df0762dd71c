//! What a corruption is.

use std::fmt;

use taste_choice::{Choice, Entry};
use taste_stats::random::Random;

use super::{Columns, Picture, RowChange};

/// A way in which data go wrong.
#[derive(Clone, Copy, Debug)]
pub struct Corruption {
    /// What users read of it.
    pub choice: Choice,
    /// Which others it is known with.
    pub suite: Suite,
    /// What it does.
    pub act: Act,
}

/// Corruptions that are known together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// The nineteen of CIFAR-10-C, at five severities.
    Cifar10C,
    /// The eleven of CIFAR-10-P that the TASTE paper uses, as their last frames.
    Cifar10P,
    /// Those of the paper's experiment on MNIST.
    Geometry,
    /// Those of tables.
    Tables,
}

impl Suite {
    /// Every suite.
    pub const ALL: [Self; 4] = [Self::Cifar10C, Self::Cifar10P, Self::Geometry, Self::Tables];

    /// What it is chosen by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cifar10C => "cifar10-c",
            Self::Cifar10P => "cifar10-p",
            Self::Geometry => "geometric",
            Self::Tables => "tables",
        }
    }

    /// The letter that sets of it carry in front of their names.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Cifar10C => "C",
            Self::Cifar10P => "P",
            Self::Geometry => "G",
            Self::Tables => "T",
        }
    }
}

/// What a corruption does.
#[derive(Clone, Copy)]
pub enum Act {
    /// Changes a picture, at severities that are numbered from 0 here.
    Graded(fn(&Picture, usize, &mut Random) -> Picture),
    /// Changes a picture, at one strength.
    Once(fn(&Picture, &mut Random) -> Picture),
    /// Changes a picture by an amount that has a unit.
    Measured(Measured),
    /// Changes the rows of a table.
    Table(TableAct),
}

/// A change by an amount.
#[derive(Clone, Copy)]
pub struct Measured {
    /// The unit, which the amount is written with.
    pub key: &'static str,
    /// Which amounts there are, in words.
    pub wanted: &'static str,
    /// Whether an amount is one of them.
    pub fits: fn(f64) -> bool,
    /// The amounts of the severities.
    pub at: [f64; 5],
    /// The change.
    pub apply: fn(&Picture, f64, &mut Random) -> Picture,
}

/// A change of rows.
#[derive(Clone, Copy)]
pub struct TableAct {
    /// The change of a row at a severity, numbered from 0, once the columns are known; or why there is none.
    pub start: fn(&Columns, usize) -> Result<RowChange, String>,
}

impl fmt::Debug for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Graded(_) => "Graded",
            Self::Once(_) => "Once",
            Self::Measured(_) => "Measured",
            Self::Table(_) => "Table",
        })
    }
}

impl Entry for Corruption {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}
