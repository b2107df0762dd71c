//! The components, and which of them make a score.

use serde::Serialize;

use super::curve::Direction;

/// A number that a sample has, one direction of which speaks of harm or novelty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Component {
    /// Its name in tables and files.
    pub name: &'static str,
    /// What it measures, in words.
    pub about: &'static str,
    /// Whether both large and small values speak.
    #[serde(skip)]
    pub two_sided: bool,
}

impl Component {
    pub(super) fn direction(&self) -> Direction {
        if self.two_sided { Direction::TwoSided } else { Direction::Upper }
    }
}

macro_rules! components {
    ($($id:ident = $name:literal, $about:literal $(, $two_sided:literal)?;)*) => {
        $(pub(super) const $id: Component = Component {
            name: $name,
            about: $about,
            two_sided: false $(|| $two_sided)?,
        };)*
        /// Every component.
        pub const COMPONENTS: &[Component] = &[$($id),*];
    };
}

components! {
    R = "r", "the probabilities of the classes are in doubt";
    E = "E", "the features support no class";
    QT = "qt", "the features are unusual in the directions that the answer is read from";
    Q1 = "q1", "the features of an early layer are unusual";
    Q2 = "q2", "the features of a middle layer are unusual";
    Q3 = "q3", "the features of the last layer are unusual";
    FZ = "fz", "the answer moves when the sample is moved toward the training data";
    FKL = "fkl", "the probabilities move when the sample is moved toward the training data";
    SX = "sx", "the sample itself is unusual, or unusually smooth", true;
    Q = "q", "the values of the columns do not go together";
    QCOP = "qcop", "the ranks of the columns do not go together";
    RANGE = "range", "a column is outside of the range of the training data";
}

/// Which components make the score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Set {
    /// What matters to the model.
    #[default]
    Task,
    /// Any novelty that the network or the data show.
    Full,
    /// `task` without the second forward pass.
    Task0,
    /// `full` without the second forward pass.
    Full0,
}

impl Set {
    /// Every set, by name.
    pub(super) const ALL: [(&'static str, Self); 4] = [
        ("task", Self::Task),
        ("full", Self::Full),
        ("task0", Self::Task0),
        ("full0", Self::Full0),
    ];

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        Self::ALL.iter().find(|s| s.1 == self).map_or("task", |s| s.0)
    }

    /// Whether it looks at a second sample, nearer to the training data.
    pub(super) fn steps(self) -> bool {
        matches!(self, Self::Task | Self::Full)
    }

    /// Its components in order; what a model or its data do not have is left out later.
    pub(super) fn components(self, has_hidden_layer: bool) -> &'static [Component] {
        match (self, has_hidden_layer) {
            (Self::Task, true) => &[R, E, Q3, FZ, FKL],
            (Self::Task, false) => &[R, E, QT, FZ, FKL],
            (Self::Full, _) => &[E, QT, FZ, Q2, SX],
            (Self::Task0, true) => &[R, E, Q3],
            (Self::Task0, false) => &[R, E, QT],
            (Self::Full0, _) => &[E, QT, Q1, Q2],
        }
    }
}

/// What tells novelty: on tables, and on images.
pub(super) fn novelty(is_table: bool) -> &'static [Component] {
    if is_table { &[QCOP, Q, RANGE] } else { &[SX, Q1, Q2] }
}
