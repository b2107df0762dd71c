//! Why a model can't be imported.

use std::fmt;

use taste_graph::OpError;

/// A node that can't be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The name of the node, or of its first result.
    pub node: String,
    /// The operator.
    pub op: String,
    /// What is wrong.
    pub reason: String,
}

/// Why a model can't be imported.
#[derive(Debug)]
#[non_exhaustive]
pub enum ImportError {
    /// Something is wrong with the model as a whole.
    Model(String),
    /// An input leaves sizes open beside its first axis, and nobody gave them.
    OpenShape {
        /// The input.
        input: String,
        /// The axis of open size; absent if not even the number of axes is known.
        axis: Option<usize>,
    },
    /// Some nodes are not supported; all of them are listed.
    Nodes(Vec<Problem>),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(message) => f.write_str(message),
            Self::OpenShape { input, axis: Some(axis) } => {
                write!(f, "input {input:?} leaves the size of axis {axis} open: give its shape")
            }
            Self::OpenShape { input, axis: None } => {
                write!(f, "input {input:?} declares no shape: give one")
            }
            Self::Nodes(problems) => {
                let width = |column: fn(&Problem) -> &str, head: &str| {
                    let longest = problems.iter().map(|p| column(p).chars().count()).max();
                    longest.unwrap_or(0).max(head.len())
                };
                let (a, b) = (width(|p| &p.node, "node"), width(|p| &p.op, "operator"));
                let count = problems.len();
                writeln!(
                    f,
                    "{count} node{} not supported:",
                    if count == 1 { " is" } else { "s are" }
                )?;
                write!(f, "  {:a$}  {:b$}  reason", "node", "operator")?;
                for p in problems {
                    write!(f, "\n  {:a$}  {:b$}  {}", p.node, p.op, p.reason)?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for ImportError {}

impl From<OpError> for ImportError {
    fn from(cause: OpError) -> Self {
        Self::Model(cause.to_string())
    }
}

/// How much of a name or a reason a message shows.
const SHOWN: usize = 120;

/// Text of a file, short enough for a message and on one line.
pub(crate) fn shown(text: &str) -> String {
    let mut line: String =
        text.chars().take(SHOWN).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        line.push('…');
    }
    line
}

/// A reason on one line; the end of a long one says least.
pub(super) fn shown_reason(reason: &str) -> String {
    let line: String = reason.chars().take(3 * SHOWN).collect();
    line.replace(['\n', '\r'], " ")
}

/// A name that is defined twice.
pub(super) fn twice(name: &str) -> ImportError {
    ImportError::Model(format!("value {:?} is computed twice", shown(name)))
}
